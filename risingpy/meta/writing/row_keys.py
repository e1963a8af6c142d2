"""Keys of rows, as values that locks and the index of pending rows find them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from risingpy.plan.catalog import Index, Table
from risingpy.plan.expressions import InputRef
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import text_column

MOST_KEYS = 64  # rows of a change whose keys are locked one by one; one with more rows locks its table
MOST_ROWS_BY_KEY = 512  # rows that are written as several such changes, if a table alone would cost others more

RowKey: TypeAlias = "tuple[Any, ...]"
"""The values of the primary key's columns, in the order of the key. Equal keys are equal; keys can be sorted."""

# Of these types equal values have one form. Python cannot hold all dates and times, so they are compared as integers.
_PLAIN = (
    TypeKind.BOOLEAN,
    TypeKind.SMALLINT,
    TypeKind.INTEGER,
    TypeKind.BIGINT,
    TypeKind.VARCHAR,
    TypeKind.BYTEA,
    TypeKind.UUID,
    TypeKind.ENUM,
)
_AS_INTEGERS = {
    TypeKind.DATE: pa.int32(),
    TypeKind.TIME: pa.int64(),
    TypeKind.TIMESTAMP: pa.int64(),
    TypeKind.TIMESTAMPTZ: pa.int64(),
}


def has_row_keys(table: Table) -> bool:
    """Whether the table has a primary key whose types let its rows be found by `keys_of`."""
    types = [table.columns[index].type for index in table.primary_key]
    return bool(types) and all(map(_is_plain, types))


def _is_plain(type_: SqlType) -> bool:
    return type_.kind in _PLAIN or type_.kind in _AS_INTEGERS or type_.is_fixed_numeric


def unique_places(table: Table, index: Index) -> tuple[int, ...] | None:
    """The positions of the columns that are the keys of a unique index, if `keys_at` can find rows by them.

    None for a deferrable one: a key may stand in several rows for a while, and be given up by one that was not the last
    to take it, so the newest write of a key does not tell who has it. None for a partial one: a row's columns do not
    tell whether it is there.
    """
    if index.deferrable or index.index.predicate is not None:
        return None
    places = {column.column_id: place for place, column in enumerate(table.columns)}
    found = []
    for key in index.index.keys:
        if not isinstance(key.expression, InputRef) or not _is_plain(table.columns[places[key.expression.index]].type):
            return None
        found.append(places[key.expression.index])
    return tuple(found) if len(set(found)) == len(found) else None


def keys_of(table: Table, columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The keys of rows, from the key's columns in the order of `table.primary_key`. The table `has_row_keys`."""
    return keys_at(table, table.primary_key, columns)


def keys_at(table: Table, places: Sequence[int], columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The values of these columns, as keys; of a unique key some may be NULL."""
    values = []
    for index, column in zip(places, columns, strict=True):
        integers = _AS_INTEGERS.get(table.columns[index].type.kind)
        values.append((column if integers is None else column.cast(integers)).to_pylist())
    return list(zip(*values, strict=True))


def key_text(table: Table, places: Sequence[int], key: RowKey) -> str:
    """A key of `keys_at` for people: `(id, at)=(1, 2024-02-29)`."""
    names, values = [], []
    for index, value in zip(places, key, strict=True):
        column = table.columns[index]
        integers = _AS_INTEGERS.get(column.type.kind)
        array = pa.array([value], column.type.arrow if integers is None else integers).cast(column.type.arrow)
        names.append(column.name)
        values.append(text_column(column.type, array)[0].as_py() or "")
    return f"({', '.join(names)})=({', '.join(values)})"
