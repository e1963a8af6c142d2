"""How often each row of a recursion is derived, by level: the state that UNION and UNION ALL have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.executors.change_chunk import columns_of, ops_of
from risingpy.functions.aggregate.grouping import group_by
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RecursiveRowLayout:
    """Where a row's columns are kept: its `identity` in keys, the `carried` ones in values. `types` are of them all."""

    types: tuple[SqlType, ...]
    identity: tuple[int, ...]
    carried: tuple[int, ...]

    def in_order(self, identity: Sequence[pa.Array], carried: Sequence[pa.Array]) -> list[pa.Array]:
        """A row's columns, of the parts that are kept apart."""
        columns = dict(zip((*self.identity, *self.carried), (*identity, *carried), strict=True))
        return [columns[i] for i in range(len(self.types))]


@dataclass(frozen=True, slots=True)
class Levelled:
    """Rows that the step gets or gives: what happened to each, its level, its columns."""

    ops: npt.NDArray[np.int8]
    levels: Integers
    columns: list[pa.Array]


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of one level whose counts have changed, or are to be looked at: a row for each."""

    identity: list[pa.Array]
    carried: list[pa.Array]
    before: Integers
    after: Integers


class LevelRows(Protocol):
    """The rows of a recursion, as UNION or UNION ALL has them."""

    def update(self, level: int, changes: pa.Table) -> tuple[Levelled, Levelled | None]:
        """What the step reads more or less, after `changes` of what it and the start derive at `level`.

        All levels below are final. The second is what is to be looked at again, at later levels: rows with the op 0.
        """
        ...


class Derivations:
    """The table `identity | level → carried, count` in one epoch; the counts may be sums of weights."""

    def __init__(self, table: StateTable, layout: RecursiveRowLayout) -> None:
        self._table = table
        self.layout = layout

    def count(self, level: int, changes: pa.Table) -> Counted:
        """Adds the changes of one level, a row's op being +1, -1 or 0. Equal rows keep the form of the first."""
        counted = self._added(level, changes, ops_of(changes).astype(np.int64))
        if len(counted.after) and counted.after.min() < 0:
            raise InternalError("more rows of a recursion were deleted than inserted")
        return counted

    def add(self, level: int, changes: pa.Table) -> Counted:
        """As `count`; each change counts as often as its weight says, its last column."""
        weights = np.asarray(columns_of(changes)[len(self.layout.types)].to_numpy(), np.int64)
        return self._added(level, changes, ops_of(changes).astype(np.int64) * weights)

    def _added(self, level: int, changes: pa.Table, numbers: Integers) -> Counted:
        columns, layout = columns_of(changes), self.layout
        identity_types = [layout.types[i] for i in layout.identity]
        groups = group_by([columns[i] for i in layout.identity], identity_types, changes.num_rows)
        net = np.zeros(groups.number, np.int64)
        np.add.at(net, groups.codes, numbers)
        _, firsts = np.unique(groups.codes, return_index=True)
        levels = pa.array(np.full(groups.number, level, np.int64))
        found, (*stored, counts) = self._table.get_rows([*groups.keys, levels])
        came = [columns[i].take(pa.array(firsts)) for i in layout.carried]
        known = pa.array(found)
        carried = [pa.compute.if_else(known, old, new) for old, new in zip(stored, came, strict=True)]
        before = np.asarray(counts.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        after = before + net
        changed = pa.array(net != 0)
        written = [*groups.keys, levels, *carried, pa.array(after)]
        ops = np.where(after != 0, 1, -1).astype(np.int8)[net != 0]
        self._table.apply(ops, [column.filter(changed) for column in written])
        return Counted(groups.keys, carried, before, after)

    def least_levels(self, identity: Sequence[pa.Array]) -> tuple[Mask, Integers]:
        """Which of the rows are derived at some level, and the least one of each."""
        found, first = self._table.first_rows(identity)
        levels = first.column(len(self.layout.identity)).fill_null(0)
        return found, np.asarray(levels.to_numpy(), np.int64)
