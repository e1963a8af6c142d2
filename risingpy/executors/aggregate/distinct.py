"""Distinct aggregates: a dedup table counts how often each argument occurs, so that a call sees each one once.

The table is `group key | arguments → count per filter`. Calls with the same arguments share a table, and calls with the
same FILTER share a count in it, that of the rows which pass the filter. A call sees an insertion when the count rises
from 0, and a retraction when it falls to 0. All changes between are invisible to it, so the call under DISTINCT is an
ordinary one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.calls import InputByGroup, Mask, Results, StatefulCall
from risingpy.functions.aggregate.grouping import GroupedRows, Groups, group_by
from risingpy.functions.aggregate.value_state import integers_of, signed_counts
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import BIGINT, SqlType


class SeenValues:
    """One dedup table in one epoch. `group_key` and `arguments` are positions of the input's columns."""

    def __init__(
        self,
        table: StateTable,
        group_key: Sequence[int],
        arguments: Sequence[int],
        argument_types: Sequence[SqlType],
        filters: Sequence[int | None],
    ) -> None:
        self._table = table
        self._group_key = group_key
        self._arguments = arguments
        self._types = argument_types
        self._filters = filters
        self._changes: list[InputByGroup] | None = None

    def rows_for(self, rows: InputByGroup, filter: int | None) -> InputByGroup:
        """The distinct arguments that come and go, for the calls with this filter.

        The first call updates the table; all later ones must pass the same `rows`. Of the result's columns only the
        group key and the arguments have values.
        """
        if self._changes is None:
            self._changes = self._update(rows)
        return self._changes[self._filters.index(filter)]

    def _update(self, rows: InputByGroup) -> list[InputByGroup]:
        passed = [_passed(rows, filter) for filter in self._filters]
        counted = np.logical_or.reduce(passed)
        codes, ops = rows.groups.codes[counted], rows.ops[counted]
        arguments = [rows.columns[k].filter(pa.array(counted)) for k in self._arguments]
        found = group_by([pa.array(codes), *arguments], [BIGINT, *self._types], len(codes))
        owners, *values = found.keys
        keys = [*(key.take(owners) for key in rows.groups.keys), *values]
        _, stored = self._table.get_rows(keys)
        before = [integers_of(column) for column in stored]
        grouped = GroupedRows(found.codes, ops, found.number)
        changes = [signed_counts(grouped.select(mask[counted])) for mask in passed]
        after = [count + change for count, change in zip(before, changes, strict=True)]
        self._write(keys, changes, after)
        columns = dict(zip((*self._group_key, *self._arguments), keys, strict=True))
        group_of = owners.to_numpy(zero_copy_only=False)
        return [
            _crossing(rows, Groups(group_of, rows.groups.keys, rows.groups.number), columns, old > 0, new > 0)
            for old, new in zip(before, after, strict=True)
        ]

    def _write(self, keys: list[pa.Array], changes: list[np.ndarray], after: list[np.ndarray]) -> None:
        changed = np.logical_or.reduce([change != 0 for change in changes])
        stays = np.logical_or.reduce([count != 0 for count in after])
        ops = np.where(stays, 1, -1).astype(np.int8)[changed]
        self._table.apply(ops, [column.filter(pa.array(changed)) for column in (*keys, *map(pa.array, after))])


class DistinctCall:
    """Passes to `call` each distinct argument of a group once."""

    def __init__(self, call: StatefulCall, dedup: SeenValues, filter: int | None) -> None:
        self._call = call
        self._dedup = dedup
        self._filter = filter

    def update(self, rows: InputByGroup) -> Results:
        return self._call.update(self._dedup.rows_for(rows, self._filter))

    def store(self, keys: Sequence[pa.Array], keep: Mask) -> None:
        self._call.store(keys, keep)


def _passed(rows: InputByGroup, filter: int | None) -> Mask:
    if filter is None:
        return np.ones(len(rows.ops), np.bool_)
    mask: Mask = rows.columns[filter].fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _crossing(
    rows: InputByGroup, groups: Groups, columns: dict[int, pa.Array], before: Mask, after: Mask
) -> InputByGroup:
    """The arguments that are there now and were not, as inserts, and those that were and are not, as deletes."""
    changed = before != after
    crossed = pa.array(changed)
    ops = np.where(after, 1, -1).astype(np.int8)[changed]
    nothing = pa.nulls(len(ops))
    given = [columns[k].filter(crossed) if k in columns else nothing for k in range(len(rows.columns))]
    return InputByGroup(Groups(groups.codes[changed], groups.keys, groups.number), ops, given)
