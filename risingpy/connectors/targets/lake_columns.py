"""Columns for files and lakes: Parquet, Iceberg, Delta. Types that these do not have become others that lose nothing.

numeric(p, s)                        decimal(p, s)
numeric, and others over 38 digits   decimal(38, 10), rounded; a value that does not fit is an error
vector                               a list of reals
rw_int256, uuid, macaddr, inet, cidr, bit, ranges, interval, jsonb, char(n)   text
time                                 time, and in Delta, which has none, text
timestamp_ns                         a timestamp of nanoseconds, and in Delta and Iceberg's version 2 text
all others, arrays, structs, maps    the same
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.encoders.changes import (
    array_of_chunks,
    column,
    ops_of,
    pair_updates,
    rows_of_op,
    whole,
)
from risingpy.connectors.targets.encoders.leaves import Leaf, as_text, refuse_infinity, replace_leaves
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import SqlError
from risingpy.types import SqlType, TypeKind, numeric
from risingpy.types.forms import parse_column
from risingpy.types.packed.float_vector import lists_of

OP = "op"
_LARGEST = numeric(38, 10)
_SAME = frozenset(
    {
        TypeKind.BOOLEAN,
        TypeKind.SMALLINT,
        TypeKind.INTEGER,
        TypeKind.BIGINT,
        TypeKind.REAL,
        TypeKind.DOUBLE,
        TypeKind.VARCHAR,
        TypeKind.BYTEA,
        TypeKind.TIME,
        TypeKind.TIMESTAMP_NS,
    }
)
_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)


def lake_leaf(type_: SqlType, array: pa.Array) -> pa.Array:
    """A `Leaf`: the values in a type that Parquet and Iceberg have. Raises NumericValueOutOfRange."""
    if type_.kind in _MOMENTS:
        return refuse_infinity(array, "Arrow")
    if type_.kind in _SAME or (type_.kind is TypeKind.NUMERIC and not type_.is_wide):
        return array
    if type_.kind is TypeKind.VECTOR:
        return lists_of(array)
    texts = as_text(type_, array)
    return parse_column(_LARGEST, texts) if type_.kind is TypeKind.NUMERIC else texts


def without_time(type_: SqlType, array: pa.Array) -> pa.Array:
    """A `Leaf` for Delta: as `lake_leaf`, but times are texts, and so are moments of nanoseconds."""
    has_none = type_.kind in (TypeKind.TIME, TypeKind.TIMESTAMP_NS)
    return as_text(type_, array) if has_none else lake_leaf(type_, array)


def without_smallint(type_: SqlType, array: pa.Array) -> pa.Array:
    """A `Leaf` for Iceberg: as `lake_leaf`, but its smallest integer has 32 bits, its times microseconds at most."""
    if type_.kind is TypeKind.TIMESTAMP_NS:
        return as_text(type_, array)
    return array.cast(pa.int32()) if type_.kind is TypeKind.SMALLINT else lake_leaf(type_, array)


def check_table_columns(schema: SinkSchema, there: pa.Schema, leaf: Leaf, where: str) -> None:
    """Raises SqlError if a table's columns `there` cannot take the sink's: by name, of the same type."""
    for field in lake_schema(schema, leaf):
        if field.name not in there.names:
            raise SqlError(f'column "{field.name}" does not exist in {where}', sqlstate="42703")
        found = _plain(there.field(field.name).type)
        if found != _plain(field.type):
            message = f'column "{field.name}" is of type {field.type}, but of type {found} in {where}'
            raise SqlError(message, sqlstate="42804")
    names = [name for name, _ in schema.columns]
    for field in there:
        if not field.nullable and field.name not in names:
            raise SqlError(
                f'column "{field.name}" of {where} is required, and the sink does not have it', sqlstate="42703"
            )


def _plain(type_: pa.DataType) -> pa.DataType:
    """The type without what only says how Arrow holds it: large offsets, names of items, nullability."""
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _plain(field.type)) for field in type_])
    return type_


def lake_type(type_: SqlType, leaf: Leaf = lake_leaf) -> pa.DataType:
    """What a column of this type is there."""
    return replace_leaves(type_, pa.array([], type_.arrow), leaf, leaf).type


def lake_schema(schema: SinkSchema, leaf: Leaf = lake_leaf) -> pa.Schema:
    """The columns by name. Columns of the primary key are not nullable."""
    return pa.schema(
        [
            pa.field(name, lake_type(type_, leaf), nullable=index not in schema.primary_key)
            for index, (name, type_) in enumerate(schema.columns)
        ]
    )


def lake_rows(schema: SinkSchema, changes: pa.Table, columns: Sequence[int], leaf: Leaf = lake_leaf) -> pa.Table:
    """The chosen columns of the changes' rows, by name, in their order."""
    arrays = [replace_leaves(schema.columns[n][1], column(changes, n), leaf, leaf) for n in columns]
    described = lake_schema(schema, leaf)
    return pa.table(arrays, schema=pa.schema([described.field(n) for n in columns]))


def inserted_rows(schema: SinkSchema, changes: Sequence[pa.Table], leaf: Leaf = lake_leaf) -> pa.Table:
    """The inserted rows of an epoch."""
    inserted = rows_of_op(whole(changes), 1).combine_chunks()
    return lake_rows(schema, inserted, range(len(schema.columns)), leaf)


def rows_with_op(schema: SinkSchema, changes: Sequence[pa.Table], leaf: Leaf = lake_leaf) -> pa.Table:
    """All rows of an epoch, with `op` (int8, 1 or −1) before the columns."""
    table = whole(changes)
    rows = lake_rows(schema, table, range(len(schema.columns)), leaf)
    return rows.add_column(0, pa.field(OP, pa.int8(), nullable=False), pa.array(ops_of(table)))


def last_rows(schema: SinkSchema, changes: Sequence[pa.Table], leaf: Leaf = lake_leaf) -> pa.Table:
    """The last row of each key of an epoch, with `op` before the columns: 1, or −1 if the key is gone."""
    table = whole(changes)
    keys = lake_rows(schema, table, schema.primary_key, leaf)
    texts = [array_of_chunks(keys.column(n).cast(pa.string())) for n in range(keys.num_columns)]
    lengths = [pc.binary_length(text).cast(pa.string()) for text in texts]
    pieces = [piece for pair in zip(lengths, texts, strict=True) for piece in pair]
    updates = pair_updates(ops_of(table), pc.binary_join_element_wise(*pieces, ":"))
    rows = lake_rows(schema, table.take(pa.array(updates.rows)), range(len(schema.columns)), leaf)
    ops = np.where(updates.after >= 0, 1, -1).astype(np.int8)
    return rows.add_column(0, pa.field(OP, pa.int8(), nullable=False), pa.array(ops))
