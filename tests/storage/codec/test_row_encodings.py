"""Column-aware and plain rows: kernels equal the reference, and what is written is read back."""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy import types
from risingpy.storage.codec import reference_codec
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.codec.row_encoding import decode_rows, encode_rows
from risingpy.storage.codec.value_encoding import FEW_ROWS, decode_values, encode_values
from risingpy.types import SqlType
from tests.storage.codec.columns import ALL_TYPES, STORED_TYPES, as_values, column, same, tables

Table = tuple[list[SqlType], list[pa.Array]]
column_ids = st.integers(0, 300) | st.integers(0, 2**32 - 1) | st.integers(65_530, 65_540)


@given(tables(max_columns=6, of=STORED_TYPES), st.data())
def test_rows_equal_the_reference(table: Table, data: st.DataObject) -> None:
    column_types, arrays = table
    ids = data.draw(st.lists(column_ids, min_size=len(arrays), max_size=len(arrays), unique=True))
    encoded = encode_rows(arrays, ids)
    encoded.validate(full=True)
    columns = list(zip(ids, column_types, map(as_values, arrays), strict=True))
    expected = [
        reference_codec.encode_row({id_: (items[i], type_) for id_, type_, items in columns})
        for i in range(len(arrays[0]))
    ]
    assert encoded.to_pylist() == expected


@given(tables(max_columns=6, of=STORED_TYPES), st.data())
def test_rows_round_trip(table: Table, data: st.DataObject) -> None:
    """Any of the columns, in any order; one that was dropped or never there is NULL."""
    column_types, arrays = table
    ids = data.draw(st.lists(column_ids, min_size=len(arrays), max_size=len(arrays), unique=True))
    start = data.draw(st.integers(0, len(arrays[0])))
    wanted = data.draw(st.permutations(range(len(arrays))))[: data.draw(st.integers(0, len(arrays)))]
    values = encode_rows(arrays, ids).slice(start)
    decoded = decode_rows(values, [(ids[i], column_types[i]) for i in wanted])
    for i, result in zip(wanted, decoded, strict=True):
        result.validate(full=True)
        assert same(arrays[i].slice(start), result)
    unknown = data.draw(column_ids.filter(lambda column_id: column_id not in ids))
    type_ = data.draw(st.sampled_from(ALL_TYPES))
    assert decode_rows(values, [(unknown, type_)])[0].equals(pa.nulls(len(values), type_.arrow))


def test_many_columns_and_large_strings() -> None:
    ids = list(range(0, 900, 3))
    texts = [str(i) * (i % 500) for i in ids]
    arrays = [pa.array([text, None if i % 2 else text[:1], ""]) for i, text in enumerate(texts)]
    decoded = decode_rows(encode_rows(arrays, ids), [(i, types.VARCHAR) for i in ids])
    assert all(one.equals(other) for one, other in zip(arrays, decoded, strict=True))


def test_missing_rows_are_null() -> None:
    for type_ in ALL_TYPES:
        array = column(type_, [None, None])
        row = encode_rows([array], [1])[0].as_py()
        assert decode_rows(pa.array([None, row, None]), [(1, type_)])[0].null_count == 3
        value = encode_values([array])[0].as_py()
        assert decode_values(pa.array([None, value, None]), [type_.arrow])[0].null_count == 3
    stored = encode_values([pa.array([5, 6]), pa.array(["a", "b"])]).to_pylist()
    values = pa.array([stored[0], None, stored[1], None])
    numbers, texts = decode_values(values, [pa.int64(), pa.string()])
    assert (numbers.to_pylist(), texts.to_pylist()) == ([5, None, 6, None], ["a", None, "b", None])
    sliced = decode_values(values.slice(1, 2), [pa.int64(), pa.string()])
    assert [array.to_pylist() for array in sliced] == [[None, 6], [None, "b"]]


def test_no_rows_and_no_columns() -> None:
    empty = [column(type_, []) for type_ in ALL_TYPES]
    all_arrow = [type_.arrow for type_ in ALL_TYPES]
    assert len(encode_rows(empty, range(len(empty)))) == 0
    assert [array.type for array in decode_values(encode_values(empty), all_arrow)] == all_arrow
    assert len(encode_rows([], [], rows=3)) == 3
    assert len(encode_values([], rows=3)) == 3
    assert decode_rows(encode_rows([], [], rows=3), []) == []
    assert decode_values(pa.array([], pa.binary()), [pa.int64()])[0].to_pylist() == []


def test_misuse_is_refused() -> None:
    one, two = pa.array([1]), pa.array([1, 2])
    with pytest.raises(ValueError, match="different lengths"):
        encode_rows([one, two], [1, 2])
    with pytest.raises(ValueError, match="no row count"):
        encode_values([])
    for ids in ([1, 1], [-1, 2], [2**32, 1]):
        with pytest.raises(ValueError, match="column ids"):
            encode_rows([one, one], ids)


@given(tables())
def test_values_equal_the_reference(table: Table) -> None:
    column_types, arrays = table
    encoded = encode_values(arrays)
    encoded.validate(full=True)
    columns = list(zip(column_types, map(as_values, arrays), strict=True))
    expected = [
        reference_codec.encode_value([(items[i], type_) for type_, items in columns]) for i in range(len(arrays[0]))
    ]
    assert encoded.to_pylist() == expected


@given(tables(), st.data())
def test_values_round_trip(table: Table, data: st.DataObject) -> None:
    column_types, arrays = table
    start = data.draw(st.integers(0, len(arrays[0])))
    arrow = [type_.arrow for type_ in column_types]
    for array, decoded in zip(arrays, decode_values(encode_values(arrays).slice(start), arrow), strict=True):
        decoded.validate(full=True)
        assert same(array.slice(start), decoded)


@given(tables())
def test_many_values_are_read_as_few_are(table: Table) -> None:
    column_types, arrays = table
    encoded = encode_values(arrays)
    arrow = [type_.arrow for type_ in column_types]
    times = FEW_ROWS // max(len(encoded), 1) + 2
    few = decode_values(encoded, arrow)
    many = decode_values(pa.concat_arrays([encoded] * times), arrow)
    for one, all_ in zip(few, many, strict=True):
        all_.validate(full=True)
        assert same(pa.concat_arrays([one] * times), all_)


@given(tables(max_rows=1), st.data())
def test_damaged_values_are_refused(table: Table, data: st.DataObject) -> None:
    column_types, arrays = table
    arrow = [type_.arrow for type_ in column_types]
    for value in encode_values(arrays).to_pylist():
        with pytest.raises(CorruptData):
            decode_values(pa.array([value[: data.draw(st.integers(0, len(value) - 1))]]), arrow)
        with pytest.raises(CorruptData):
            decode_values(pa.array([value + b"\0"]), arrow)
        with pytest.raises(CorruptData):
            decode_values(pa.array([b"\1" + value[1:]] * data.draw(st.sampled_from([1, FEW_ROWS + 1]))), arrow)


@given(st.binary(max_size=40), st.sampled_from(ALL_TYPES))
def test_noise_does_no_harm(noise: bytes, type_: SqlType) -> None:
    for prefix in (b"", b"\2", b"\2\1", b"\x85", b"\x85\1\1", b"\x85\2\1", b"\x8f"):
        values = pa.array([prefix + noise])
        with contextlib.suppress(CorruptData):
            decode_values(values, [type_.arrow])
        with contextlib.suppress(CorruptData):
            decode_rows(values, [(1, type_)])
