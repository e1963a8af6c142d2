"""Keys that a table takes from another table equal those that it would have encoded itself."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import given

from risingpy.storage.codec.known_keys import KnownKeys
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema
from risingpy.types import SqlType
from tests.storage.codec.columns import schema_of, tables


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
