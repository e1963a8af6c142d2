"""Which shard a row belongs to, of a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from risingpy.executors.few_rows.chunk import FewRows, OpRow
from risingpy.storage.codec.python_rows import key_part, vnode_of
from risingpy.storage.codec.python_values import PythonRow, python_type
from risingpy.storage.codec.table_schema import VNODE_COUNT, KeyColumn


class RowShards:
    """The shard of a row by its distribution columns; of none, all rows are on the shard of vnode 0."""

    def __init__(self, types: Sequence[pa.DataType], columns: Sequence[int], shards: int) -> None:
        """The types of the columns are such that `can_tell` is true."""
        self._columns = []
        for column in columns:
            type_ = python_type(types[column])
            assert type_ is not None
            self._columns.append((column, key_part(type_, KeyColumn(0))))
        self._shards = shards

    def __call__(self, row: PythonRow) -> int:
        if self._shards == 1:
            return 0
        return vnode_of([part(row[column]) for column, part in self._columns]) * self._shards // VNODE_COUNT


def can_tell(types: Sequence[pa.DataType], columns: Sequence[int]) -> bool:
    """Whether Python tells the shard by these columns."""
    found = [python_type(types[column]) for column in columns]
    return all(each is not None and each.key is not None for each in found)


def split_few(delta: FewRows, owner_of: RowShards) -> Iterator[tuple[int, FewRows]]:
    """(shard, its rows), as `exchange.split_by_shard` splits."""
    if len(delta.rows) == 1:
        yield owner_of(delta.rows[0][1]), delta
        return
    parts: dict[int, list[OpRow]] = {}
    for each in delta.rows:
        parts.setdefault(owner_of(each[1]), []).append(each)
    for shard, rows in sorted(parts.items()):
        yield shard, delta if len(rows) == len(delta.rows) else FewRows(delta.types, rows)
