"""Matches stored rows with an epoch's changes by their keys, in the order of the keys. TopN and OverWindow share it.

For each key it tells the row before the epoch, the row after it, and the key's position in its group in either state.
One sorted list holds both states, so a result before and one after are two passes of array operations over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT, distinct_rows
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import canonical, encode_keys
from risingpy.storage.codec.table_schema import TableSchema

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Every key once, group by group, in the order of the keys.

    `columns` hold all rows: first the `stored` ones, then the changes. `old` and `new` are positions in
    them: a key's row before the epoch, and its row after it; −1 is none. `begins` marks each group's first key.
    """

    schema: TableSchema
    columns: list[pa.Array]
    stored: int
    old: Integers
    new: Integers
    begins: Mask

    def take(self, rows: Integers) -> list[pa.Array]:
        """All columns of these rows."""
        chosen = pa.array(rows)
        return [column.take(chosen) for column in self.columns]

    def positions(self, present: Mask) -> Integers:
        """Each key's position among the `present` keys of its group; an absent key has that of the next present one."""
        before: Integers = np.cumsum(present) - present
        starts = np.flatnonzero(self.begins)
        return before - np.repeat(before[starts], np.diff(np.append(starts, len(before))))

    @property
    def touched(self) -> Mask:
        """The keys whose row came, went or was written again."""
        touched: Mask = self.old != self.new
        return touched

    def near_touched(self, before: int, behind: int | None) -> Mask:
        """The keys of each group from its first touched one to its last, and so many on either side (None: all)."""
        touched = np.flatnonzero(self.touched)
        group: Integers = np.cumsum(self.begins) - 1
        index = np.arange(len(group))
        first, last = np.full((2, int(self.begins.sum())), -1, np.int64)
        first[group[touched[::-1]]] = touched[::-1]  # in descending order: the last write per group is its first key
        last[group[touched]] = touched
        near: Mask = index >= first[group] - before
        return near if behind is None else near & (index <= last[group] + behind)

    def with_ties(self, present: Mask, last: Mask, within: Mask, ordered: Sequence[int]) -> Mask:
        """`within`, and the present keys that have the same `ordered` columns as a key in `last`."""
        runs = self._runs(ordered)
        tied = np.zeros(len(runs), np.bool_)
        tied[runs[last]] = True
        return within | (present & tied[runs])

    def marks(self, present: Mask, ordered: Sequence[int]) -> tuple[Mask, Mask]:
        """For the `present` keys: which begin a group, and which begin a run of equal `ordered` columns (peers)."""
        group: Integers = np.cumsum(self.begins)
        return _steps(group[present]), _steps(self._runs(ordered)[present])

    def _runs(self, ordered: Sequence[int]) -> Integers:
        """A number for each key, the same for neighbouring keys with the same `ordered` columns."""
        rows = pa.array(np.where(self.old >= 0, self.old, self.new))
        columns = [canonical(self.columns[k].take(rows)) for k in ordered]
        return np.cumsum(_differs_from_last(encode_keys(self.schema, columns, np.zeros(len(rows), np.uint16)))) - 1


def match_rows(
    schema: TableSchema,
    stored: pa.Table,
    changes: Sequence[pa.Array],
    ops: npt.NDArray[np.int8],
    codes: Integers,
) -> KeyedRows:
    """Matches `stored` rows, with the number of their group in the column `_prefix`, and changes of these groups.

    `codes` are the changes' groups; −1 changes come first. A row may be in `stored` several times. A −1 proves that its
    row was there, so `stored` need not have it.
    """
    before = stored.num_rows
    columns = [
        pa.concat_arrays([whole(stored.column(k)), column]) if before else column for k, column in enumerate(changes)
    ]
    kinds = np.concatenate([np.zeros(before, np.int8), ops])
    group = np.concatenate([whole(stored.column("_prefix")).to_numpy(), codes])
    keys = encode_keys(schema, [columns[key.index] for key in schema.key], np.zeros(len(kinds), np.uint16))
    # The sort is stable and the rows come as stored, −1, +1. So in a run of one key the first entry is the old row,
    # unless it is a +1, and the last entry is the new row, unless it is a −1.
    order = sort_indices(keys)
    starts = np.flatnonzero(_differs_from_last(keys.take(pa.array(order))))
    ends = np.append(starts[1:], len(order)) - 1
    first, last = order[starts], order[ends] if len(order) else order
    group = group[first]
    return KeyedRows(
        schema,
        columns,
        before,
        old=np.where(kinds[first] != INSERT, first, -1),
        new=np.where(kinds[last] != DELETE, last, -1),
        begins=_steps(group),
    )


def same_as_before(rows: KeyedRows, keys: Integers) -> Mask:
    """Which of `keys`, all present before and after the epoch, have an equal row in both."""
    old, new = rows.old[keys], rows.new[keys]
    same = new < rows.stored  # no change has written over the stored row
    written = np.flatnonzero(~same)
    if len(written):
        left, right = rows.take(old[written]), rows.take(new[written])
        same[written] = ~distinct_rows(left, right, len(written))
    return same


def _steps(numbers: Integers) -> Mask:
    """Which numbers differ from the one before; the first one counts as different."""
    return np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]


def _differs_from_last(keys: pa.BinaryArray) -> Mask:
    """Which keys differ from the one before; the first one counts as different."""
    differs = np.ones(len(keys), np.bool_)
    if len(keys):
        differs[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return differs
