"""The columns of a primary key among the decoder's columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class KeyedColumns:
    """A decoder's columns; `key` are the positions of those of the primary key, in the order of the columns.

    `key` is empty if the primary key is an included column: the source fills that in. Those of the key's columns that
    may be NULL are `nullable`.
    """

    columns: Sequence[tuple[str, SqlType]]
    key: tuple[int, ...]
    nullable: frozenset[int] = frozenset()

    @property
    def key_columns(self) -> list[tuple[str, SqlType]]:
        """Names and types of the key's columns."""
        return [self.columns[k] for k in self.key]

    def without_key(self, positions: Positions, keys: Sequence[pa.Array], reasons: Reasons) -> None:
        """Makes messages bad that have a NULL in their key, where the table takes none."""
        for k, column in zip(self.key, keys, strict=True):
            if column.null_count and k not in self.nullable:
                name = self.columns[k][0]
                for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
                    reasons.add(int(positions[row]), f'column "{name}" of the primary key is NULL')

    def of_key(self, keys: Sequence[pa.Array], length: int) -> list[pa.Array]:
        """Rows that have their key only: what a deletion is."""
        found = dict(zip(self.key, keys, strict=True))
        return [found.get(k, pa.nulls(length, type_.arrow)) for k, (_, type_) in enumerate(self.columns)]


def keyed(
    columns: Sequence[tuple[str, SqlType]], key_columns: Sequence[str], nullable: Collection[str] = ()
) -> KeyedColumns:
    """The key among the columns, by names."""
    names = set(key_columns)
    key = tuple(k for k, (name, _) in enumerate(columns) if name in names)
    return KeyedColumns(columns, key, frozenset(k for k in key if columns[k][0] in nullable))


def first_valid(first: pa.Array, second: pa.Array) -> pa.Array:
    """The values of `first`, and those of `second` where it is NULL."""
    return pc.coalesce(first, second) if first.null_count else first
