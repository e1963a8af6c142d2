"""Keys that a table takes from another table equal those that it would have encoded itself."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given

from risingpy import types
from risingpy.storage.codec.known_keys import KnownKeys
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema, ValueFormat
from risingpy.types import SqlType
from tests.storage.codec.columns import column, schema_of, tables

NUMBERS = [b"\1" + bytes(40) + b"\2", b"\1" + bytes(40) + b"\5"]  # 0.00 and 0.00000


@given(tables())
def test_another_table_with_keys_of_the_same_shape(table: tuple[list[SqlType], list[pa.Array]]) -> None:
    column_types, columns = table
    key = [(type_, False, False) for type_ in column_types]
    schema, other = (replace(schema_of(key, table_id), distribution=(0,)) for table_id in (7, 1 << 31))
    known = KnownKeys()
    for each in (schema, other, other, schema):
        rows = columns, len(columns[0])
        assert TableCodec(each).encode(*rows, known) == TableCodec(each).encode(*rows)


def test_other_columns_and_other_shapes(three_integers: TableSchema) -> None:
    known = KnownKeys()
    first, second = pa.array([1, 2], pa.int32()), pa.array([3, 4], pa.int32())
    descending = replace(three_integers, key=(KeyColumn(0, descending=True),))
    for schema, key in ((three_integers, first), (three_integers, second), (descending, second), (descending, first)):
        assert TableCodec(schema).encode_keys([key], known=known) == TableCodec(schema).encode_keys([key])


@pytest.mark.parametrize(
    ("type_", "values"),
    [(types.JSONB, ["1", "1.0"]), (types.array_of(types.JSONB), [("1",), ("1.0",)]), (types.NUMERIC, NUMBERS)],
    ids=["jsonb", "jsonb[]", "numeric"],
)
@pytest.mark.parametrize("first", ValueFormat)
def test_a_relation_and_state_over_the_same_columns(type_: SqlType, values: list[object], first: ValueFormat) -> None:
    state = schema_of([(type_, False, False)], table_id=7)
    relation = replace(state, table_id=8, value_format=ValueFormat.ROW, value_columns=(0,))
    columns = [column(type_, values)]  # type: ignore[arg-type]
    known = KnownKeys()
    for schema in (state, relation) if first is ValueFormat.PLAIN else (relation, state):
        shared = TableCodec(schema).encode_keys(columns, known=known)
        assert shared.equals(TableCodec(schema).encode_keys(columns))
        assert len(set(shared.to_pylist())) == (1 if schema is relation else 2)
