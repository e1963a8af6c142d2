"""Stored rows and an epoch's changes of them, brought together by their keys and put in order.

What TopN and OverWindow have in common: which row stood under each key before the epoch, which one stands there
after it, and where in its group, counting only one of the two states.
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
    """Every key once, group by group and in the order of the keys.

    `columns` are those of all rows: first the `stored` ones, then the changes. `old` and `new` are the row that a key
    had before the epoch and has after it, −1 for none. `begins` marks each group's first key.
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
        """Each key's position in its group, counting those that are `present`: of an absent key, the next one's."""
        before: Integers = np.cumsum(present) - present
        starts = np.flatnonzero(self.begins)
        return before - np.repeat(before[starts], np.diff(np.append(starts, len(before))))

    @property
    def touched(self) -> Mask:
        """The keys whose row came, went or was written anew."""
        touched: Mask = self.old != self.new
        return touched

    def near_touched(self, before: int, behind: int | None) -> Mask:
        """The touched keys, those between them in their group, and so many on either side (None: all)."""
        touched = np.flatnonzero(self.touched)
        group: Integers = np.cumsum(self.begins) - 1
        index = np.arange(len(group))
        first, last = np.full((2, int(self.begins.sum())), -1, np.int64)
        first[group[touched[::-1]]] = touched[::-1]  # the last write stays: the first one
        last[group[touched]] = touched
        near: Mask = index >= first[group] - before
        return near if behind is None else near & (index <= last[group] + behind)

    def with_ties(self, present: Mask, last: Mask, within: Mask, ordered: Sequence[int]) -> Mask:
        """`within`, and what is present and agrees on the `ordered` columns with a key that is `last`."""
        runs = self._runs(ordered)
        tied = np.zeros(len(runs), np.bool_)
        tied[runs[last]] = True
        return within | (present & tied[runs])

    def marks(self, present: Mask, ordered: Sequence[int]) -> tuple[Mask, Mask]:
        """Of the keys that are `present`: which are the first of their group, and of those that agree on `ordered`."""
        group: Integers = np.cumsum(self.begins)
        return _steps(group[present]), _steps(self._runs(ordered)[present])

    def _runs(self, ordered: Sequence[int]) -> Integers:
        """Numbers that are equal for neighbouring keys that agree on the first columns of the table's key."""
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
    """Rows `stored` before the epoch, with the number of their group in `_prefix`, and the changes of these groups.

    `codes` are the changes' groups; −1 changes come first. A stored row may come several times. A −1 tells that its
    row was there, also where `stored` does not have it.
    """
    before = stored.num_rows
    columns = [
        pa.concat_arrays([whole(stored.column(k)), column]) if before else column for k, column in enumerate(changes)
    ]
    kinds = np.concatenate([np.zeros(before, np.int8), ops])
    group = np.concatenate([whole(stored.column("_prefix")).to_numpy(), codes])
    keys = encode_keys(schema, [columns[key.index] for key in schema.key], np.zeros(len(kinds), np.uint16))
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
    """Which of these keys, that are there before and after, kept their row."""
    old, new = rows.old[keys], rows.new[keys]
    same = new < rows.stored  # nothing was written over it
    written = np.flatnonzero(~same)
    if len(written):
        left, right = rows.take(old[written]), rows.take(new[written])
        same[written] = ~distinct_rows(left, right, len(written))
    return same


def _steps(numbers: Integers) -> Mask:
    """Which numbers differ from the one before; the first does."""
    return np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]


def _differs_from_last(keys: pa.BinaryArray) -> Mask:
    """Which keys differ from the one before; the first does."""
    differs = np.ones(len(keys), np.bool_)
    if len(keys):
        differs[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return differs
