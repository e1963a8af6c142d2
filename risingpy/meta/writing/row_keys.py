"""Keys of rows, as values that locks and the index of pending rows find them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from risingpy.plan.catalog import Table
from risingpy.types import TypeKind

MOST_KEYS = 64  # rows of a statement whose keys are locked one by one; one with more rows locks its table

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
    return bool(types) and all(
        type_.kind in _PLAIN or type_.kind in _AS_INTEGERS or type_.is_fixed_numeric for type_ in types
    )


def keys_of(table: Table, columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[RowKey]:
    """The keys of rows, from the key's columns in the order of `table.primary_key`. The table `has_row_keys`."""
    values = []
    for index, column in zip(table.primary_key, columns, strict=True):
        integers = _AS_INTEGERS.get(table.columns[index].type.kind)
        values.append((column if integers is None else column.cast(integers)).to_pylist())
    return list(zip(*values, strict=True))
