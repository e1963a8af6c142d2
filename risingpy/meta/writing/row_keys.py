"""Keys of rows, as values that locks and the index of pending rows find them by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.operators import ConflictBehavior
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import text_column

MOST_KEYS = 64  # rows of a change whose keys are locked one by one; one with more rows locks its table
MOST_ROWS_BY_KEY = 512  # rows that are written as several such changes, if a table alone would cost others more

RowKey: TypeAlias = "tuple[Any, ...]"
"""The values of the primary key's columns, in the order of the key. Equal keys are equal; `in_order` sorts them."""

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
    TypeKind.TIMESTAMP_NS: pa.int64(),
}


def has_row_keys(table: Table) -> bool:
    """Whether the table has a primary key whose types let its rows be found by `keys_of`."""
    types = [table.columns[index].type for index in table.primary_key]
    return bool(types) and all(map(has_one_form, types))


def has_one_form(type_: SqlType) -> bool:
    """Whether equal values of the type are equal as parts of keys."""
    return type_.kind in _PLAIN or type_.kind in _AS_INTEGERS or type_.is_fixed_numeric


def log_has_newest_rows(catalog: Catalog, table: Table) -> bool:
    """Whether the log's last row of a key is the table's row, so that it can be changed without reading the table.

    It is not where rows come from elsewhere, or where a rule decides which row of a key stands.
    """
    comes_elsewhere = table.webhook or table.upstream or table.source or catalog.sinks_into(table.relation_id)
    has_rule = table.on_conflict is not ConflictBehavior.OVERWRITE or bool(table.version_columns)
    return has_row_keys(table) and not (comes_elsewhere or has_rule or table.watermark or table.append_only)


def keys_of(table: Table, columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The keys of rows, from the key's columns in the order of `table.primary_key`. The table `has_row_keys`."""
    return keys_at(table, table.primary_key, columns)


def keys_at(table: Table, places: Sequence[int], columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The values of these columns, as keys; of a unique key some may be NULL."""
    return values_as_keys([table.columns[place].type for place in places], columns)


def values_as_keys(types: Sequence[SqlType], columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The same of values of these types."""
    values = []
    for type_, column in zip(types, columns, strict=True):
        integers = _AS_INTEGERS.get(type_.kind)
        values.append((column if integers is None else column.cast(integers)).to_pylist())
    return list(zip(*values, strict=True))


def in_order(keys: Iterable[RowKey]) -> list[RowKey]:
    """The keys in the order in which all statements lock them; NULL is after all values."""
    return sorted(keys, key=lambda key: [(value is None, value) for value in key])


def key_text(names: Sequence[str], types: Sequence[SqlType], key: RowKey) -> str:
    """A key of `values_as_keys` for people: `(id, at)=(1, 2024-02-29)`."""
    values = []
    for type_, value in zip(types, key, strict=True):
        integers = _AS_INTEGERS.get(type_.kind)
        array = pa.array([value], type_.arrow if integers is None else integers).cast(type_.arrow)
        text = text_column(type_, array)[0].as_py()
        values.append("null" if text is None else text)
    return f"({', '.join(names)})=({', '.join(values)})"
