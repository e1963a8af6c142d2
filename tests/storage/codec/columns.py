"""Columns of every type for the codec tests: strategies, and the way between reference values and Arrow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Context, Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from risingpy import types
from risingpy.storage.codec.reference_codec import Interval, Value
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types import SqlType, TypeKind, int256
from risingpy.types.jsonb import canonical
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS, to_bytes

ALL_TYPES = (
    types.BOOLEAN,
    types.SMALLINT,
    types.INTEGER,
    types.BIGINT,
    types.REAL,
    types.DOUBLE,
    types.NUMERIC,
    types.numeric(38, 16),
    types.numeric(5, 2, declared=True),
    types.VARCHAR,
    types.BYTEA,
    types.DATE,
    types.TIME,
    types.TIMESTAMP,
    types.TIMESTAMPTZ,
    types.TIMESTAMP_NS,
    types.INTERVAL,
    types.CHARACTER,
    types.UUID,
    types.INT256,
    types.array_of(types.INTEGER),
    types.array_of(types.array_of(types.VARCHAR)),
    types.array_of(types.DOUBLE),
    types.array_of(types.INTERVAL),
    types.struct_of(["a", "b"], [types.BIGINT, types.array_of(types.BOOLEAN)]),
    types.array_of(types.struct_of(["x"], [types.NUMERIC])),
)
KEY_TYPES = (
    *ALL_TYPES,
    types.JSONB,
    types.array_of(types.JSONB),
    types.struct_of(["n", "j", "m"], [types.NUMERIC, types.array_of(types.JSONB), types.array_of(types.NUMERIC)]),
)
"""Those, and such as order by other bytes than those of the values that Arrow has."""
STORED_TYPES = (
    *KEY_TYPES,
    types.map_of(types.VARCHAR, types.INTEGER),
    types.map_of(types.BIGINT, types.array_of(types.map_of(types.VARCHAR, types.JSONB))),
)
"""Those that cannot stand in keys, too."""
DAY_MICROS = 86_400_000_000
HOURS_292_YEARS = 2**63 - 1

_EXACT = Context(prec=60)


def _integers(bits: int) -> st.SearchStrategy[int]:
    edge = 2 ** (bits - 1)
    return st.integers(-edge, edge - 1) | st.sampled_from([-edge, -1, 0, 1, 255, 256, edge - 1])


def _intervals() -> st.SearchStrategy[Interval]:
    small = st.builds(Interval, st.integers(-3, 3), st.integers(-70, 70), st.sampled_from([-1, 0, 1, 86_400 * 10**9]))
    return small | st.builds(Interval, _integers(32), _integers(32), _integers(64))


def _wide_bytes(unscaled: int) -> bytes:
    return to_bytes(Decimal(unscaled).scaleb(-DECIMALS, Context(prec=WHOLE_DIGITS + DECIMALS)))


def _jsons() -> st.SearchStrategy[str]:
    texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5).map(json.dumps)
    numbers = st.decimals(allow_nan=False, allow_infinity=False).map(lambda number: f"{number:f}"[:400])
    leaves = st.sampled_from(["null", "true", "false", "1", "1.0", "-0.00", "100", "0.010", "-20.50"]) | texts
    nested = st.recursive(
        leaves | numbers,
        lambda items: (
            st.lists(items, max_size=3).map(lambda each: f"[{','.join(each)}]")
            | st.lists(st.tuples(texts, items), max_size=3).map(lambda each: f"{{{','.join(map(':'.join, each))}}}")
        ),
        max_leaves=8,
    )
    return nested.map(canonical)


def not_null(type_: SqlType) -> st.SearchStrategy[Value]:
    """Values of a type, its edges among them."""
    match type_.kind:
        case TypeKind.BOOLEAN:
            return st.booleans()
        case TypeKind.SMALLINT:
            return _integers(16)
        case TypeKind.INTEGER | TypeKind.DATE:
            return _integers(32)
        case TypeKind.BIGINT | TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ | TypeKind.TIMESTAMP_NS:
            return _integers(64)
        case TypeKind.TIME:
            return st.integers(0, DAY_MICROS - 1)
        case TypeKind.REAL:
            return st.floats(width=32) | st.sampled_from([0.0, -0.0])
        case TypeKind.DOUBLE:
            return st.floats() | st.sampled_from([0.0, -0.0])
        case TypeKind.NUMERIC:
            limit = 10 ** (type_.precision or 0) - 1
            unscaled = st.integers(-limit, limit) | st.sampled_from([-limit, -1, 0, 1, limit])
            return unscaled.map(_wide_bytes) if type_.is_wide else unscaled
        case TypeKind.JSONB:
            return _jsons()
        case TypeKind.VARCHAR | TypeKind.CHARACTER:
            text = st.characters(exclude_categories=["Cs"])
            return st.text(text, max_size=30) | st.text("\0a\U0010ffff", max_size=20)
        case TypeKind.UUID:
            return st.binary(min_size=16, max_size=16)
        case TypeKind.INT256:
            return _integers(256).map(int256.to_bytes)
        case TypeKind.ARRAY:
            return st.lists(values(type_.element), max_size=4).map(tuple)
        case TypeKind.STRUCT:
            return st.tuples(*map(values, type_.items))
        case TypeKind.MAP:
            pairs = st.lists(st.tuples(not_null(type_.items[0]), values(type_.items[1])), max_size=3)
            return pairs.map(lambda found: tuple(part for pair in found for part in pair))
        case TypeKind.BYTEA:
            return st.binary(max_size=30) | st.lists(st.sampled_from([0, 1, 255]), max_size=20).map(bytes)
        case TypeKind.INTERVAL:
            return _intervals()
        case _:
            raise AssertionError(type_)


def values(type_: SqlType) -> st.SearchStrategy[Value]:
    """Values of a type, and NULL."""
    return st.none() | not_null(type_)


def column(type_: SqlType, items: Sequence[Value]) -> pa.Array:
    """The Arrow column of reference values."""
    nulls = np.array([item is None for item in items], np.bool_)
    match type_.kind:
        case TypeKind.NUMERIC if not type_.is_wide:
            scale = type_.scale or 0
            decimals = [None if v is None else Decimal(int(v)).scaleb(-scale, _EXACT) for v in items]  # type: ignore[arg-type]
            return pa.array(decimals, type_.arrow)
        case TypeKind.DATE:
            return pa.array(items, pa.int32()).view(type_.arrow)
        case TypeKind.TIME | TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ | TypeKind.TIMESTAMP_NS:
            return pa.array(items, pa.int64()).view(type_.arrow)
        case TypeKind.REAL | TypeKind.DOUBLE:
            # By way of NumPy, so that NaN is not taken for NULL.
            floats = np.array(
                [0.0 if v is None else v for v in items], np.float32 if type_.kind is TypeKind.REAL else np.float64
            )
            return pa.array(floats, type_.arrow, mask=nulls)
        case TypeKind.INTERVAL:
            return pa.array([None if v is None else pa.MonthDayNano(v) for v in items], type_.arrow)
        case TypeKind.ARRAY | TypeKind.STRUCT | TypeKind.MAP:
            return _nested_column(type_, items, pa.array(nulls))
        case _:
            return pa.array(items, type_.arrow)


def _nested_column(type_: SqlType, items: Sequence[Value], nulls: pa.Array) -> pa.Array:
    given = [value if isinstance(value, tuple) else () for value in items]
    if type_.kind is TypeKind.STRUCT:
        fields = [column(t, [v[k] if v else None for v in given]) for k, t in enumerate(type_.items)]
        return pa.StructArray.from_arrays(fields, fields=list(type_.arrow), mask=nulls)
    step = len(type_.items)
    parts = [column(t, [item for v in given for item in v[k::step]]) for k, t in enumerate(type_.items)]
    offsets = pa.array(np.cumsum([0, *(len(v) // step for v in given)]), pa.int32())
    kind = pa.MapArray if type_.kind is TypeKind.MAP else pa.ListArray
    return kind.from_arrays(offsets, *parts, type=type_.arrow, mask=nulls)


def as_values(array: pa.Array) -> list[Value]:
    """The reference values of an Arrow column."""
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [as_values(array.field(k)) for k in range(kind.num_fields)]
        whole = zip(*fields, strict=True)
        return [row if there else None for row, there in zip(whole, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_nested(kind):
        parts = [array.keys, array.items] if pa.types.is_map(kind) else [array.values]
        flat = list(zip(*map(as_values, parts), strict=True))
        offsets = array.offsets.to_pylist()
        rows = (flat[a:b] for a, b in pairwise(offsets))
        nested = [tuple(part for item in row for part in item) for row in rows]
        return [row if there else None for row, there in zip(nested, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_decimal(kind):
        return [None if v is None else int(v.scaleb(kind.scale, _EXACT)) for v in array.to_pylist()]
    if pa.types.is_date(kind):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return list(array.view(pa.int64()).to_pylist())
    if pa.types.is_interval(kind):
        return [None if v is None else Interval(*v) for v in array.to_pylist()]
    return list(array.to_pylist())


def same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two columns hold the same bits, NaNs and signs of zero included."""
    if pa.types.is_nested(one.type):
        return one.type == other.type and as_bits(one) == as_bits(other)
    if pa.types.is_floating(one.type):
        bits = pa.int32() if one.type == pa.float32() else pa.int64()
        return one.type == other.type and bool(one.view(bits).equals(other.view(bits)))
    return bool(one.equals(other))


def as_bits(array: pa.Array) -> object:
    """Something that is equal for columns of the same bits."""
    return repr(as_values(array))


def schema_of(key: Sequence[tuple[SqlType, bool, bool]], table_id: int = 1) -> TableSchema:
    """A table of key columns, each with its type, descending, NULLS FIRST."""
    return TableSchema(
        table_id=table_id,
        name="t",
        columns=tuple(TableColumn(i, f"c{i}", type_) for i, (type_, _, _) in enumerate(key)),
        key=tuple(KeyColumn(i, descending, nulls_first) for i, (_, descending, nulls_first) in enumerate(key)),
        distribution=(),
        value_columns=(),
        value_format=ValueFormat.PLAIN,
    )


@st.composite
def tables(
    draw: st.DrawFn, *, max_columns: int = 4, max_rows: int = 12, of: Sequence[SqlType] = ALL_TYPES
) -> tuple[list[SqlType], list[pa.Array]]:
    """Some columns of some types, as slices of larger arrays."""
    column_types = draw(st.lists(st.sampled_from(of), min_size=1, max_size=max_columns))
    rows = draw(st.integers(0, max_rows))
    before, after = draw(st.integers(0, 9)), draw(st.integers(0, 3))
    arrays = []
    for type_ in column_types:
        source = values(type_) if draw(st.booleans()) else not_null(type_)
        size = before + rows + after
        items = draw(st.lists(source, min_size=size, max_size=size))
        arrays.append(column(type_, items).slice(before, rows))
    return column_types, arrays
