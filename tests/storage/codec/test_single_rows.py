"""Single rows in plain Python are those of the kernels."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy import types
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.codec.key_encoding import compute_vnodes, encode_keys
from risingpy.storage.codec.reference_json import json_key
from risingpy.storage.codec.row_encoding import encode_rows
from risingpy.storage.codec.single_rows import SingleKeys, can_make_keys, datums, key_datum
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types import SqlType
from tests.storage.codec.columns import not_null

_VALUES: dict[SqlType, st.SearchStrategy[object]] = {
    types.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    types.INTEGER: st.integers(-(2**31), 2**31 - 1),
    types.BIGINT: st.integers(-(2**63), 2**63 - 1),
    types.BOOLEAN: st.booleans(),
    types.VARCHAR: st.text(max_size=50).map(lambda text: text.replace("\0", "")),
    types.UUID: st.binary(min_size=16, max_size=16),
    types.JSONB: not_null(types.JSONB).filter(lambda text: len(json_key(str(text))) < 42),
}


def _schema(key: list[SqlType], distribution: tuple[int, ...], *, descending: bool = False) -> TableSchema:
    columns = tuple(TableColumn(i, f"c{i}", type_) for i, type_ in enumerate(key))
    parts = tuple(KeyColumn(i, descending) for i in range(len(key)))
    return TableSchema(77, "t", columns, parts, distribution, (), ValueFormat.ROW)


@given(st.data())
def test_keys(data: st.DataObject) -> None:
    key = data.draw(st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=3))
    distribution = tuple(i for i in range(len(key)) if data.draw(st.booleans()))
    row = [data.draw(_VALUES[type_]) for type_ in key]
    schema = _schema(key, distribution)
    assert can_make_keys(schema)
    columns = [pa.array([value], type_.arrow) for value, type_ in zip(row, key, strict=True)]
    vnodes = compute_vnodes([columns[i] for i in distribution], 1, [key[i] for i in distribution])
    expected = encode_keys(schema, columns, vnodes)[0].as_py()
    assert SingleKeys(schema).encode(row) == (int(vnodes[0]), expected)
    for value, column, type_ in zip(row, columns, key, strict=True):
        assert datums(encode_rows([column], [1])[0].as_py(), [1]) == [key_datum(value, type_)]


@given(st.data())
def test_keys_of_several_rows(data: st.DataObject) -> None:
    key = data.draw(st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=3))
    distribution = tuple(data.draw(st.permutations(range(len(key))))[: data.draw(st.integers(0, len(key)))])
    rows = data.draw(st.lists(st.tuples(*(_VALUES[type_] for type_ in key)), min_size=1, max_size=20))
    made = SingleKeys(_schema(key, distribution))
    vnodes, stored = made.encode_each(rows)
    assert [*zip(vnodes, stored, strict=True)] == [made.encode(row) for row in rows]


def test_some_keys_are_made_by_kernels() -> None:
    with pytest.raises(OverflowError, match="does not count"):  # of 42 bytes, one is not hashed
        SingleKeys(_schema([types.JSONB], (0,))).encode([f'"{"x" * 40}"'])
    assert not can_make_keys(replace(_schema([types.JSONB], (0,)), value_format=ValueFormat.PLAIN))
    assert not can_make_keys(_schema([types.DOUBLE], (0,)))
    assert not can_make_keys(_schema([types.INTEGER], (0,), descending=True))
    for schema, value in ((_schema([types.INTEGER], (0,)), 2**31), (_schema([types.VARCHAR], (0,)), "x" * 600)):
        with pytest.raises(OverflowError):
            SingleKeys(schema).encode([value])
        with pytest.raises(OverflowError):
            SingleKeys(schema).encode_each([[value]])


_IDS = st.lists(st.sampled_from([0, 1, 2, 255, 256, 300, 65_535, 65_536, 2**32 - 1]), unique=True, max_size=6)


@given(_IDS, st.data())
def test_datums(ids: list[int], data: st.DataObject) -> None:
    row = [data.draw(st.none() | st.binary(max_size=400)) for _ in ids]
    encoded = encode_rows([pa.array([value], pa.binary()) for value in row], ids, rows=1)[0].as_py()
    assert datums(encoded, ids) == row
    assert datums(encoded, [7, *reversed(ids)]) == [None, *reversed(row)]


def test_other_bytes_are_refused() -> None:
    with pytest.raises(CorruptData):
        datums(b"\2\0", [1])
