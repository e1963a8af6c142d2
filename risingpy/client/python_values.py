"""Python values as parameters of statements, and rows of results as Python values.

A parameter has the type that the statement gives it; the value is taken for one of that type, or read as its text would
be. Results hold bool, int, float, Decimal, str, bytes, date, time, datetime (aware for timestamptz), timedelta for
intervals (a month counts 30 days), UUID, what json.loads makes of jsonb, lists for arrays and vectors, dicts for
structs and maps. A timestamp_ns is its text, for Python's datetime has no nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from risingpy.connectors.targets.encoders.leaves import as_text, replace_leaves
from risingpy.errors import SqlError
from risingpy.types import SqlType, TypeKind
from risingpy.types.far_moments import near_values
from risingpy.types.forms import parse_text
from risingpy.types.packed.float_vector import lists_of
from risingpy.types.ranges.elements import RANGE_KINDS
from risingpy.types.ranges.multiranges import MULTIRANGE_KINDS

_DAYS_OF_MONTH = 30
_AS_TEXT = frozenset(
    {TypeKind.INT256, TypeKind.MACADDR, TypeKind.INET, TypeKind.CIDR, TypeKind.ENUM, TypeKind.TIMESTAMP_NS}
    | RANGE_KINDS
    | MULTIRANGE_KINDS
    | {TypeKind.UUID, TypeKind.JSONB, TypeKind.CHARACTER}
)
_OWN_CLASS: dict[TypeKind, type | tuple[type, ...]] = {
    TypeKind.BOOLEAN: bool,
    TypeKind.BYTEA: bytes,
    TypeKind.DATE: date,
    TypeKind.TIME: time,
    TypeKind.TIMESTAMP: datetime,
    TypeKind.TIMESTAMPTZ: datetime,
}


def parameter_value(type_: SqlType, value: object, time_zone: str) -> object:
    """A parameter's value as statements take it (`Literal`). Raises SqlError, as the text of a wrong value does."""
    if value is None:
        return None
    if type_.kind is TypeKind.ARRAY and isinstance(value, list | tuple):
        return tuple(parameter_value(type_.element, item, time_zone) for item in value)
    if type_.kind is TypeKind.STRUCT and isinstance(value, dict):
        return tuple(
            parameter_value(item, value.get(name), time_zone)
            for name, item in zip(type_.names, type_.items, strict=True)
        )
    if _is_own(type_.kind, value):
        return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value
    return parse_text(type_, _text(type_.kind, value), time_zone=time_zone)


def _is_own(kind: TypeKind, value: object) -> bool:
    """Whether statements take the value as it is. Aware and naive times are two kinds of value."""
    if kind is TypeKind.DATE:
        return isinstance(value, date) and not isinstance(value, datetime)
    if kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        return isinstance(value, datetime) and (value.tzinfo is not None) == (kind is TypeKind.TIMESTAMPTZ)
    own = _OWN_CLASS.get(kind)
    return own is not None and isinstance(value, own)


def _text(kind: TypeKind, value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dict() | list() | tuple() if kind in (TypeKind.JSONB, TypeKind.VECTOR):
            return json.dumps(value)
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat(" ")
        case int() | float() | Decimal() | date() | time() | UUID():
            return str(value)
    raise SqlError(f"a value of the Python type {type(value).__name__} cannot be a parameter", sqlstate="42804")


def python_rows(types: Sequence[SqlType], rows: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of columns of these types."""
    columns = [python_column(type_, column) for type_, column in zip(types, rows.columns, strict=True)]
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows


def python_column(type_: SqlType, column: pa.ChunkedArray) -> list[Any]:
    """The values of a column. Raises 22008 for a date or timestamp that Python cannot hold."""
    plain = pa.chunked_array([replace_leaves(type_, chunk, _readable) for chunk in column.chunks] or [[]])
    values = near_values(plain)
    convert = _converter(type_)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _readable(type_: SqlType, array: pa.Array) -> pa.Array:
    """A `Leaf`: what Arrow has no type for is text."""
    if type_.kind is TypeKind.VECTOR:
        return lists_of(array)
    if type_.kind in _AS_TEXT or (type_.kind is TypeKind.NUMERIC and type_.is_wide):
        return as_text(type_, array)
    return array


def _converter(type_: SqlType) -> Callable[[Any], Any] | None:
    """Makes Python's value of what Arrow gives; None: it is that value."""
    match type_.kind:
        case TypeKind.NUMERIC:
            return Decimal
        case TypeKind.INT256:
            return int
        case TypeKind.UUID:
            return UUID
        case TypeKind.JSONB:
            return json.loads
        case TypeKind.INTERVAL:
            return _timedelta
        case TypeKind.ARRAY:
            return _list_converter(_converter(type_.element))
        case TypeKind.STRUCT:
            return _struct_converter([_converter(item) for item in type_.items])
        case TypeKind.MAP:
            return _map_converter(_converter(type_.items[1]))
    return None


def _timedelta(value: Any) -> timedelta:
    return timedelta(days=value.months * _DAYS_OF_MONTH + value.days, microseconds=value.nanoseconds // 1000)


def _optional(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if value is None or convert is None else convert(value)


def _list_converter(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if convert is None else lambda items: [_optional(convert, item) for item in items]


def _struct_converter(converts: Sequence[Callable[[Any], Any] | None]) -> Callable[[Any], Any]:
    return lambda fields: {
        name: _optional(convert, value) for (name, value), convert in zip(fields.items(), converts, strict=True)
    }


def _map_converter(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return lambda entries: {key: _optional(convert, value) for key, value in entries}
