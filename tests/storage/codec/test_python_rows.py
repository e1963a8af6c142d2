"""Rows of Python values are stored as those of columns are, and read back bit by bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy import types
from risingpy.storage.codec.python_rows import LongRow, PythonRows
from risingpy.storage.codec.python_values import PythonRow, python_type, python_types
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import ColumnHistory, KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types import SqlType
from tests.storage.codec.columns import ALL_TYPES, column, same, values

_KNOWN = [type_ for type_ in ALL_TYPES if python_type(type_.arrow) is not None]
_KEYS = [
    types.BOOLEAN,
    types.SMALLINT,
    types.INTEGER,
    types.BIGINT,
    types.VARCHAR,
    types.DATE,
    types.TIMESTAMPTZ,
    types.numeric(38, 16),
]
_IDS = st.sampled_from([1, 2, 3, 255, 256, 70_000])


@given(st.data())
def test_values_come_back(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(_KNOWN))
    array = column(type_, data.draw(st.lists(values(type_), max_size=5)))
    known = python_type(type_.arrow)
    assert known is not None
    for part in (array, array[1:]):
        assert same(known.write(known.read(part)), part)


def test_what_stays_in_columns() -> None:
    stay = {type_ for type_ in ALL_TYPES if type_ not in _KNOWN}
    assert stay == {type_ for type_ in ALL_TYPES if type_.is_nested or type_ == types.INTERVAL}


@given(st.data())
def test_rows(data: st.DataObject) -> None:
    key = [(type_, data.draw(st.booleans()), data.draw(st.booleans())) for type_ in data.draw(_several(_KEYS))]
    value = data.draw(st.lists(st.sampled_from(_KNOWN), max_size=6))
    every = [*(type_ for type_, _, _ in key), *value]
    ids = data.draw(st.lists(_IDS, min_size=len(value), max_size=len(value), unique=True))
    all_ids = [*range(80_000, 80_000 + len(key)), *ids]
    schema = TableSchema(
        table_id=data.draw(st.sampled_from([1, 2**32 - 1])),
        name="t",
        columns=tuple(TableColumn(k, f"c{k}", type_) for k, type_ in zip(all_ids, every, strict=True)),
        key=tuple(KeyColumn(k, descending, first) for k, (_, descending, first) in enumerate(key)),
        distribution=tuple(k for k in range(len(key)) if data.draw(st.booleans())),
        value_columns=tuple(range(len(key), len(every))),
        value_format=ValueFormat.ROW,
    )
    columns = [column(type_, [data.draw(values(type_))]) for type_ in every]
    codec = PythonRows.of(schema)
    assert codec is not None
    known = python_types([type_.arrow for type_ in every])
    assert known is not None
    row = tuple(each.read(array)[0] for each, array in zip(known, columns, strict=True))
    keys, stored = TableCodec(schema).encode(columns, 1)
    assert (codec.keys([row])[0], codec.value(row)) == (keys[0].as_py(), stored[0].as_py())
    like = tuple(each if k < len(key) else None for k, each in enumerate(row))
    assert codec.row(like, stored[0].as_py()) == row


def _several(kinds: list[SqlType]) -> st.SearchStrategy[list[SqlType]]:
    return st.lists(st.sampled_from(kinds), min_size=1, max_size=3)


def test_many_and_long_columns() -> None:
    """Ids, counts and offsets of more than a byte."""
    for number, text in ((3, "x" * 300), (300, "x"), (300, "x" * 200)):
        value = tuple(range(1, number))
        schema = _schema([types.INTEGER] + [types.VARCHAR] * (number - 1), value)
        columns = [pa.array([1], pa.int32()), *[pa.array([text])] * (number - 1)]
        codec = PythonRows.of(schema)
        assert codec is not None
        row: PythonRow = (1, *[text] * (number - 1))
        assert codec.value(row) == TableCodec(schema).encode(columns, 1)[1][0].as_py()
        assert codec.row((1, *[None] * (number - 1)), codec.value(row)) == row


def _schema(every: list[SqlType], value: tuple[int, ...], history: ColumnHistory | None = None) -> TableSchema:
    columns = tuple(TableColumn(k, f"c{k}", type_, history if k else None) for k, type_ in enumerate(every))
    return TableSchema(7, "t", columns, (KeyColumn(0),), (0,), value, ValueFormat.ROW)


def test_what_is_no_matter_of_rows() -> None:
    assert PythonRows.of(_schema([types.DOUBLE, types.INTEGER], (1,))) is None
    assert PythonRows.of(_schema([types.INTEGER, types.INTERVAL], (1,))) is None
    assert PythonRows.of(_schema([types.INTEGER, types.INTEGER], (1,), ColumnHistory(9, 5))) is None
    codec = PythonRows.of(_schema([types.VARCHAR, types.VARCHAR], (1,)))
    assert codec is not None
    for row in (("k" * 600, None), ("k", "v" * 100_000)):
        with pytest.raises(LongRow):
            codec.keys([row])[0] + codec.value(row)
    assert np.frombuffer(codec.keys([("a", None)])[0][:4], ">u4")[0] == 7
