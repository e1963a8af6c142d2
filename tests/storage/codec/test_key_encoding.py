"""Keys: kernels equal the reference, order is kept, and what is written is read back."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from functools import cmp_to_key
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy import types
from risingpy.storage.codec import reference_codec
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.codec.key_encoding import (
    LONG_KEY_PREFIX,
    MAX_KEY_BYTES,
    canonical,
    compute_vnodes,
    decode_keys,
    encode_keys,
    long_key_form,
)
from risingpy.storage.codec.plain_columns import change_leaves
from risingpy.storage.codec.reference_codec import DAY_NANOS, Interval, Value
from risingpy.storage.codec.table_schema import ValueFormat
from risingpy.types import SqlType
from tests.storage.codec.columns import (
    ALL_TYPES,
    KEY_TYPES,
    as_values,
    column,
    not_null,
    same,
    schema_of,
    tables,
    values,
)

Order = tuple[bool, bool]  # descending, NULLS FIRST
orders = st.tuples(st.booleans(), st.booleans())


def compare_values(a: Value, b: Value) -> int:
    """PostgreSQL's order of two values of one type."""
    if isinstance(a, float) and isinstance(b, float):
        return (rank(a) > rank(b)) - (rank(a) < rank(b))
    if isinstance(a, Interval) and isinstance(b, Interval):
        # Beyond PostgreSQL: equal ones that are written differently need an order too.
        x, y = (length(a), a.months, a.days), (length(b), b.months, b.days)
        return (x > y) - (x < y)
    if isinstance(a, str) and isinstance(b, str):
        return compare_values(a.encode(), b.encode())
    if isinstance(a, tuple) and isinstance(b, tuple):  # element by element, then the shorter one first
        results = (compare(x, y, (False, False)) for x, y in zip(a, b, strict=False))
        return next((result for result in results if result), (len(a) > len(b)) - (len(a) < len(b)))
    return (a > b) - (a < b)  # type: ignore[operator]


def rank(value: float) -> tuple[bool, float]:
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


def length(value: Interval) -> int:
    return (30 * value.months + value.days) * DAY_NANOS + value.nanos


def compare(a: Value, b: Value, order: Order) -> int:
    """The order of two values of a key column."""
    descending, nulls_first = order
    if a is None or b is None:
        return ((a is None) - (b is None)) * (-1 if nulls_first else 1)
    return compare_values(a, b) * (-1 if descending else 1)


def sign(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


@given(tables(of=KEY_TYPES), st.data())
def test_kernels_equal_the_reference(table: tuple[list[SqlType], list[pa.Array]], data: st.DataObject) -> None:
    column_types, arrays = table
    rows = len(arrays[0])
    key = [(type_, *data.draw(orders)) for type_ in column_types]
    vnodes = data.draw(st.lists(st.integers(0, 255), min_size=rows, max_size=rows))
    table_id = data.draw(st.integers(0, 2**32 - 1))
    schema = schema_of(key, table_id)
    encoded = encode_keys(schema, arrays, np.array(vnodes, np.uint16))
    encoded.validate(full=True)
    columns = [as_values(array) for array in arrays]
    expected = [
        reference_codec.encode_key(
            table_id, vnodes[i], [(items[i], *spec) for items, spec in zip(columns, key, strict=True)]
        )
        for i in range(rows)
    ]
    assert encoded.to_pylist() == expected
    for count in range(len(arrays)):
        prefixes = encode_keys(schema, arrays[:count], np.array(vnodes, np.uint16))
        assert all(whole.startswith(part) for whole, part in zip(expected, prefixes.to_pylist(), strict=True))


@given(st.lists(st.binary(max_size=1600), max_size=20))
def test_keys_over_lmdbs_limit_equal_the_reference(columns: list[bytes]) -> None:
    schema = schema_of([(types.BYTEA, False, False)])
    keys = encode_keys(schema, [column(types.BYTEA, columns)], np.zeros(len(columns), np.uint16))
    stored, is_long = long_key_form(keys)
    assert stored.to_pylist() == [reference_codec.long_key(key) for key in keys.to_pylist()]
    assert is_long.tolist() == [len(key) >= MAX_KEY_BYTES for key in keys.to_pylist()]
    for (a, short_a), (b, short_b) in pairwise(sorted(zip(keys.to_pylist(), stored.to_pylist(), strict=True))):
        assert a == b or a[:LONG_KEY_PREFIX] == b[:LONG_KEY_PREFIX] or short_a < short_b


@given(tables(of=KEY_TYPES), st.data())
def test_round_trip(table: tuple[list[SqlType], list[pa.Array]], data: st.DataObject) -> None:
    column_types, arrays = table
    schema = schema_of([(type_, *data.draw(orders)) for type_ in column_types])
    rows = len(arrays[0])
    keys = encode_keys(schema, arrays, np.zeros(rows, np.uint16))
    start = data.draw(st.integers(0, rows))
    for array, decoded in zip(arrays, decode_keys(schema, keys.slice(start)), strict=True):
        decoded.validate(full=True)
        assert same(normal(array.slice(start)), decoded)


def normal(array: pa.Array) -> pa.Array:
    """What a key keeps of a column: one zero and one NaN (inside of nested values, every NaN)."""
    if pa.types.is_nested(array.type):
        return change_leaves(array, lambda leaf: pc.add(leaf, 0.0) if pa.types.is_floating(leaf.type) else leaf)
    if not pa.types.is_floating(array.type):
        return array
    items = [None if v is None else math.nan if math.isnan(v) else v + 0.0 for v in array.to_pylist()]
    return column(types.REAL if array.type == pa.float32() else types.DOUBLE, items)


@pytest.mark.parametrize("type_", ALL_TYPES, ids=str)
@given(data=st.data())
def test_order(type_: SqlType, data: st.DataObject) -> None:
    order = data.draw(orders)
    items = data.draw(st.lists(values(type_), min_size=2, max_size=8))
    array = column(type_, items)
    items = as_values(array)  # reals rounded to 32 bits
    schema = schema_of([(type_, *order)])
    keys = encode_keys(schema, [array], np.zeros(len(items), np.uint16)).to_pylist()
    for a, a_key in zip(items, keys, strict=True):
        for b, b_key in zip(items, keys, strict=True):
            assert compare(a, b, order) == sign(a_key, b_key), (a, b)


@given(st.data())
def test_order_of_several_columns(data: st.DataObject) -> None:
    specs = data.draw(st.lists(st.tuples(st.sampled_from(ALL_TYPES), orders), min_size=2, max_size=3))
    few = [data.draw(st.lists(values(type_), min_size=1, max_size=2)) for type_, _ in specs]
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(choices) for choices in few]), min_size=2, max_size=8))
    arrays = [column(type_, [row[i] for row in rows]) for i, (type_, _) in enumerate(specs)]
    columns = [as_values(array) for array in arrays]
    schema = schema_of([(type_, *order) for type_, order in specs])
    keys = encode_keys(schema, arrays, np.zeros(len(rows), np.uint16)).to_pylist()

    def compare_rows(i: int, j: int) -> int:
        results = (compare(items[i], items[j], order) for items, (_, order) in zip(columns, specs, strict=True))
        return next((result for result in results if result), 0)

    expected = sorted(range(len(rows)), key=cmp_to_key(compare_rows))
    assert sorted(range(len(rows)), key=lambda i: keys[i]) == expected


@given(tables(max_columns=3, of=KEY_TYPES))
def test_vnodes_equal_the_reference(table: tuple[list[SqlType], list[pa.Array]]) -> None:
    column_types, arrays = table
    rows = len(arrays[0])
    columns = [as_values(array) for array in arrays]
    expected = [
        reference_codec.vnode([(items[i], type_) for items, type_ in zip(columns, column_types, strict=True)])
        for i in range(rows)
    ]
    vnodes = compute_vnodes(arrays, rows, column_types)
    assert vnodes.dtype == np.uint16
    assert vnodes.tolist() == expected


@pytest.mark.parametrize("numbers", [np.arange(100_000), np.arange(100_000) << 32, np.arange(100_000) * 256])
def test_vnodes_spread(numbers: np.ndarray) -> None:
    counts = np.bincount(compute_vnodes([pa.array(numbers)], len(numbers)), minlength=256)
    assert len(counts) == 256
    assert counts.min() > 290  # the mean is 390, a standard deviation 20
    assert counts.max() < 490


@given(st.lists(values(types.INTERVAL)))
def test_canonical_intervals(items: list[Value]) -> None:
    array = column(types.INTERVAL, [None, *items]).slice(1)
    result = canonical(array)
    result.validate(full=True)
    assert as_values(result) == [reference_codec.canonical(item) for item in items]
    for before, after in zip(items, as_values(result), strict=True):
        if isinstance(before, Interval) and isinstance(after, Interval):
            assert length(before) == length(after)


def test_equal_values_meet() -> None:
    zeros = pa.array([0.0, -0.0])
    assert len(set(compute_vnodes([zeros], 2).tolist())) == 1
    bits = np.array([0x7FF8000000000000, -1, 0x7FF0000000000001], np.int64)
    nans = pa.array(bits).view(pa.float64())
    schema = schema_of([(types.DOUBLE, False, False)])
    assert len(set(encode_keys(schema, [nans], np.zeros(3, np.uint16)).to_pylist())) == 1
    months = column(types.INTERVAL, [Interval(1, 0, 0), Interval(0, 30, 0), Interval(2, -31, DAY_NANOS)])
    assert len(set(compute_vnodes([months], 3).tolist())) == 1


def test_equal_jsonb_meets() -> None:
    texts = pa.array(["[1.0, 2]", "[1.00, 2.0]", None, "[1, 2.000]"])
    nested = pa.array([["1.0"], ["1.00"], None, ["1"]], pa.list_(pa.string()))
    for type_, column_ in ((types.JSONB, texts), (types.array_of(types.JSONB), nested)):
        of_state = schema_of([(type_, True, False)])
        relation = replace(of_state, value_format=ValueFormat.ROW, value_columns=(0,))
        vnodes = compute_vnodes([column_], 4, [type_])
        assert len(set(vnodes.take([0, 1, 3]).tolist())) == 1
        assert len(set(encode_keys(relation, [column_], vnodes).to_pylist())) == 2
        assert len(set(encode_keys(of_state, [column_], vnodes).to_pylist())) == 4
        assert decode_keys(of_state, encode_keys(of_state, [column_], vnodes))[0].equals(column_)


def test_no_rows_and_no_columns() -> None:
    schema = schema_of([(type_, False, False) for type_ in ALL_TYPES])
    empty = [column(type_, []) for type_ in ALL_TYPES]
    keys = encode_keys(schema, empty, np.zeros(0, np.uint16))
    assert len(keys) == 0
    assert [array.type for array in decode_keys(schema, keys)] == [type_.arrow for type_ in ALL_TYPES]
    assert encode_keys(schema, [], np.zeros(2, np.uint16)).to_pylist() == [bytes.fromhex("000000010000")] * 2
    assert decode_keys(schema_of([]), pa.array([b"......"])) == []


def test_chunked_columns() -> None:
    schema = schema_of([(types.VARCHAR, False, False)])
    chunks = pa.chunked_array([pa.array(["a"]), pa.array([], pa.string()), pa.array([None, "b"])])
    keys = encode_keys(schema, [chunks], np.zeros(3, np.uint16))
    assert decode_keys(schema, keys)[0].to_pylist() == ["a", None, "b"]
    nothing = pa.chunked_array([], pa.string())
    assert len(encode_keys(schema, [nothing], np.zeros(0, np.uint16))) == 0
    assert len(compute_vnodes([chunks], 3)) == 3


def test_wrong_types_and_lengths_are_refused() -> None:
    schema = schema_of([(types.numeric(5, 2), False, False)])
    with pytest.raises(TypeError, match=r"decimal128\(5, 2\)"):
        encode_keys(schema, [pa.array([1], pa.decimal128(5, 3))], np.zeros(1, np.uint16))
    with pytest.raises(ValueError, match="1 values for 2 rows"):
        encode_keys(schema, [pa.array([1], pa.decimal128(5, 2))], np.zeros(2, np.uint16))
    with pytest.raises(TypeError, match="large_string"):
        compute_vnodes([pa.array(["a"], pa.large_string())], 1)


@pytest.mark.parametrize("type_", KEY_TYPES, ids=str)
@given(data=st.data())
def test_damaged_keys_are_refused(type_: SqlType, data: st.DataObject) -> None:
    """Every key that is cut short is refused; other damage is refused or read as another value, safely."""
    schema = schema_of([(type_, *data.draw(orders)), (types.SMALLINT, False, False)])
    arrays = [column(type_, [data.draw(not_null(type_))]), column(types.SMALLINT, [1])]
    key = encode_keys(schema, arrays, np.zeros(1, np.uint16))[0].as_py()
    cut = key[: data.draw(st.integers(6, len(key) - 1))]
    with pytest.raises(CorruptData):
        decode_keys(schema, pa.array([cut]))
    with pytest.raises(CorruptData):
        decode_keys(schema, pa.array([key + b"\0"]))
    place = data.draw(st.integers(6, len(key) - 1))
    damaged = key[:place] + bytes([data.draw(st.integers(0, 255))]) + key[place + 1 :]
    with contextlib.suppress(CorruptData, pa.ArrowInvalid):
        decode_keys(schema, pa.array([damaged]))
