"""The shape of one stored table: a state table, a user's table or a materialized view.

Key: `table_id (u32) | vnode (u16) | memcomparable(key columns)`, see `key_encoding`.
Value: the `value_columns`, column-aware for relations (`row_encoding`), plain for internal state
(`value_encoding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from risingpy.formats import VNODES
from risingpy.types import SqlType

VNODE_COUNT = VNODES.written


class ValueFormat(Enum):
    """How a stored value is laid out."""

    ROW = "row"  # column-aware, for tables and views: survives ADD and DROP COLUMN
    PLAIN = "plain"  # internal state


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column. `column_id` is immutable and never reused within its table.

    `history` says how rows are read that were written before the column was as it is; None: it was always so, or
    was added without a DEFAULT.
    """

    column_id: int
    name: str
    type: SqlType
    history: ColumnHistory | None = None


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """What a row without the column has in it (seed 002): no stored row is rewritten when a table is altered.

    `missing` is the value that such a row has, as Arrow takes it: the DEFAULT of ADD COLUMN, evaluated once. A column
    of that kind cannot leave its NULLs out of the row, so a NULL is written as a `true` in column `null_id`.
    `earlier` is the column before ALTER COLUMN TYPE: a row that has it is read through `cast`, an expression of the
    executors' over that one column, which storage does not look into (`column_history.Cast`).
    """

    null_id: int
    missing: object = None
    earlier: TableColumn | None = None
    cast: object = None


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of the storage key: its position in `columns` and its order."""

    index: int
    descending: bool = False
    nulls_first: bool = False


ROW_ID = "_row_id"
"""The hidden key of a table without a primary key. Each INSERT gives its rows numbers that no row has had before."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A stored table.

    `distribution` are positions (in `columns`) of the columns whose hash gives the vnode; empty for a
    singleton, whose rows all have vnode 0. They must be key columns, so that a key tells its vnode.
    `read_prefix` is the number of leading key columns by which rows are usually looked up.
    """

    table_id: int
    name: str
    columns: tuple[TableColumn, ...]
    key: tuple[KeyColumn, ...]
    distribution: tuple[int, ...]
    value_columns: tuple[int, ...]
    value_format: ValueFormat
    read_prefix: int = 0

    @property
    def is_numbered(self) -> bool:
        """Whether the key is the rows' hidden number."""
        return [self.columns[each.index].name for each in self.key] == [ROW_ID]

    def tells_vnode(self, key_columns: int) -> bool:
        """Whether the first `key_columns` columns of a key tell its vnode; else its rows may be in any of them."""
        return {part.index for part in self.key[:key_columns]}.issuperset(self.distribution)


def shards_of_vnodes(vnodes: npt.NDArray[np.uint16], shards: int) -> npt.NDArray[np.int64]:
    """The shard that owns each vnode: contiguous ranges of vnodes."""
    owners: npt.NDArray[np.int64] = vnodes.astype(np.int64) * shards // VNODE_COUNT
    return owners


def vnodes_of_shard(shard: int, shards: int) -> range:
    """The vnodes that `shard` owns."""
    first = -(-shard * VNODE_COUNT // shards)
    last = -(-(shard + 1) * VNODE_COUNT // shards)
    return range(first, last)


def runs_of(vnodes: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending runs of neighbouring vnodes, as (first, last)."""
    runs: list[tuple[int, int]] = []
    for vnode in vnodes if isinstance(vnodes, range) else sorted(set(vnodes)):
        if runs and vnode == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], vnode
        else:
            runs.append((vnode, vnode))
    return runs
