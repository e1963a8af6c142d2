"""Calls that store their input in order: `group key | order | stream key → the other arguments`.

min and max need this where the input can retract: once the least row is gone, the next one must be found, and no state
value has it. The table is sorted so that the result of min, max, first_value or last_value is a group's first row, and
only that row is read, before and after the epoch's changes. Other calls (array_agg, string_agg) read the whole group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.calls import InputByGroup, Mask, Ops, Results
from risingpy.functions.aggregate.ordered import GroupFunction
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable


class Reading(Protocol):
    """A way to read a result from the table."""

    def results(self, table: StateTable, keys: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        """Each group's result, and how many of them failed; a failed result is NULL."""
        ...


@dataclass(frozen=True, slots=True)
class FirstRow(Reading):
    """The result is the column at `argument` of a group's first row."""

    argument: int

    def results(self, table: StateTable, keys: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        return whole(table.first_rows(keys)[1].column(self.argument)), 0


@dataclass(frozen=True, slots=True)
class WholeGroup(Reading):
    """`function` computes the result of the columns at `arguments` of all rows of a group."""

    arguments: tuple[int, ...]
    function: GroupFunction

    def results(self, table: StateTable, keys: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        rows = table.scan_prefix(keys)
        owners = whole(rows.column("_prefix")).to_numpy(zero_copy_only=False)
        groups = len(keys[0]) if keys else 1
        return self.function(owners, groups, [whole(rows.column(k)) for k in self.arguments])


class MaterializedInputCall:
    """`columns` are the input's columns that the table holds, in its order.

    A row counts only if those of them at the positions `counted` are not NULL, and it passes `filter`.
    """

    def __init__(
        self,
        table: StateTable,
        columns: tuple[int, ...],
        counted: tuple[int, ...],
        filter: int | None,
        reading: Reading,
    ) -> None:
        self._table = table
        self._columns = columns
        self._counted = counted
        self._filter = filter
        self._reading = reading

    def update(self, rows: InputByGroup) -> Results:
        old, _ = self._reading.results(self._table, rows.groups.keys)
        kept, ops = self._kept(rows)
        # An update that leaves the table's key as it was is a -1 and a +1 of one entry: the +1 must be written last.
        order = np.argsort(ops, kind="stable")
        self._table.apply_changes(ops[order], [column.take(pa.array(order)) for column in kept])
        new, errors = self._reading.results(self._table, rows.groups.keys)
        return Results(old, new, errors)

    def store(self, keys: Sequence[pa.Array], keep: Mask) -> None:
        """Does nothing: `update` has already written the rows."""

    def _kept(self, rows: InputByGroup) -> tuple[list[pa.Array], Ops]:
        """The columns and ops of the rows that count."""
        columns = [rows.columns[k] for k in self._columns]
        mask = np.ones(len(rows.ops), np.bool_)
        for position in self._counted:
            mask &= columns[position].is_valid().to_numpy(zero_copy_only=False)
        if self._filter is not None:
            mask &= rows.columns[self._filter].fill_null(False).to_numpy(zero_copy_only=False)
        if mask.all():
            return columns, rows.ops
        return [column.filter(pa.array(mask)) for column in columns], rows.ops[mask]
