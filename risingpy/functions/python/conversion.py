"""Converts SQL values to the Python values of a user's function, and its results to SQL values.

boolean, integers, floats, text, bytea     bool, int, float, str, bytes
numeric                                    Decimal; a result may be int or float too, and is rounded to its decimals
rw_int256                                  int
date, time, timestamp, timestamptz         date, time, datetime (timestamptz: aware)
interval                                   pyarrow.MonthDayNano
jsonb, uuid                                what json.loads gives; uuid.UUID, a result may be its text
macaddr, inet, cidr, bit, ranges           its text
vector                                     list of float; a result may be any sequence of numbers, a NumPy array too
arrays, structs, maps                      list; dict, a result may be a tuple too; list of pairs
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from risingpy.errors import NumericValueOutOfRange
from risingpy.types import SqlType, TypeKind, int256
from risingpy.types.exact_numeric import fit
from risingpy.types.far_moments import near_values
from risingpy.types.forms import format_text, parse_text
from risingpy.types.jsonb import canonical
from risingpy.types.packed import float_vector
from risingpy.types.ranges.elements import RANGE_KINDS
from risingpy.types.ranges.multiranges import MULTIRANGE_KINDS
from risingpy.types.wide_numeric import to_bytes

Convert = Callable[[Any], Any]

_AS_TEXT = RANGE_KINDS | MULTIRANGE_KINDS | {TypeKind.MACADDR, TypeKind.INET, TypeKind.CIDR, TypeKind.TIMESTAMP_NS}
_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


def python_values(column: pa.Array, type_: SqlType) -> list[Any]:
    """The values of a column, None for NULL. Raises 22008 for a date or timestamp that Python cannot hold."""
    values = near_values(column)
    convert = _to_python(type_)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def sql_column(values: Sequence[Any], type_: SqlType) -> pa.Array:
    """The column of a function's results. Raises Arrow's errors, ValueError or TypeError."""
    convert = _to_sql(type_)
    if convert is not None:
        values = [None if value is None else convert(value) for value in values]
    array = pa.array(values, type_.arrow)
    assert isinstance(array, pa.Array)
    return array


def _to_python(type_: SqlType) -> Convert | None:
    match type_.kind:
        case TypeKind.NUMERIC if type_.is_wide:
            return lambda value: Decimal(format_text(type_, value))
        case TypeKind.JSONB:
            return json.loads
        case TypeKind.INT256:
            return int256.to_int
        case TypeKind.UUID:
            return lambda value: UUID(bytes=value)
        case kind if kind in _AS_TEXT:
            return lambda value: format_text(type_, value)
        case TypeKind.VECTOR:
            return lambda value: float_vector.to_reals(value).tolist()
        case TypeKind.ARRAY:
            element = _to_python(type_.element)
            return None if element is None else lambda items: [None if i is None else element(i) for i in items]
        case TypeKind.STRUCT:
            fields = {name: _to_python(item) for name, item in zip(type_.names, type_.items, strict=True)}
            if not any(fields.values()):
                return None
            return lambda row: {name: _converted(fields[name], value) for name, value in row.items()}
    return None


def _converted(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _to_sql(type_: SqlType) -> Convert | None:
    match type_.kind:
        case TypeKind.NUMERIC if type_.is_wide:
            return lambda value: to_bytes(_fitting(type_, value))
        case TypeKind.NUMERIC:
            unit = Decimal(1).scaleb(-(type_.scale or 0))
            return lambda value: _rounded(value, unit)
        case TypeKind.JSONB:
            return lambda value: canonical(json.dumps(value, ensure_ascii=False, allow_nan=False))
        case TypeKind.INT256:
            return _large
        case TypeKind.UUID:
            return lambda value: (value if isinstance(value, UUID) else UUID(value)).bytes
        case kind if kind in _AS_TEXT or type_.is_bits:
            return lambda value: parse_text(type_, value)
        case TypeKind.VECTOR:
            return lambda value: float_vector.of_reals(type_, np.asarray(value, np.float32))
        case TypeKind.CHARACTER:
            return lambda value: value.rstrip(" ")
        case TypeKind.ARRAY:
            element = _to_sql(type_.element)
            return lambda items: [_converted(element, item) for item in items]
        case TypeKind.STRUCT:
            fields = [(name, _to_sql(item)) for name, item in zip(type_.names, type_.items, strict=True)]
            return lambda row: _struct(row, fields)
    return None


def _rounded(value: Any, unit: Decimal) -> Decimal:
    return _exact(value).quantize(unit, context=_EXACT)


def _large(value: Any) -> bytes:
    try:
        return int256.to_bytes(int(value))
    except NumericValueOutOfRange as error:
        raise ValueError(error.message) from None


def _fitting(type_: SqlType, value: Any) -> Decimal:
    try:
        return fit(type_, _exact(value))
    except NumericValueOutOfRange as error:
        raise ValueError(error.message) from None


def _exact(value: Any) -> Decimal:
    # A float's shortest text is what its author means by it.
    exact = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise ValueError(f"{exact} is no finite number")
    return exact


def _struct(row: Any, fields: Sequence[tuple[str, Convert | None]]) -> dict[str, Any]:
    if isinstance(row, dict):
        unknown = [name for name in row if name not in {field for field, _ in fields}]
        if unknown:
            raise ValueError(f"there is no column {unknown[0]!r}")
        return {name: _converted(convert, row.get(name)) for name, convert in fields}
    if not isinstance(row, tuple | list):
        raise TypeError(f"a row is a tuple or a dict, not {type(row).__name__}")
    if len(row) != len(fields):
        raise ValueError(f"a row has {len(fields)} columns, not {len(row)}")
    return {name: _converted(convert, value) for (name, convert), value in zip(fields, row, strict=True)}
