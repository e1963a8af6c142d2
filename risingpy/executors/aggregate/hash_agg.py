"""HashAgg: groups its input and keeps one result per call and group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.executors.aggregate.calls import InputByGroup, Results, StatefulCall
from risingpy.executors.change_chunk import (
    DELETE,
    INSERT,
    Mask,
    columns_of,
    distinct_rows,
    make_chunk,
    ops_of,
)
from risingpy.functions.aggregate.grouping import canonical_column, group_by
from risingpy.types import SqlType


class HashAggExecutor:
    """Output: the group key, then one column per call. A group whose row count falls to 0 is deleted.

    `calls[row_count]` counts the group's rows: only this count tells an empty group from a group of NULLs, since a sum
    is NULL in both. `errors` counts the results that are too large for their type; they are NULL.
    """

    def __init__(
        self, *, group_key: Sequence[int], group_types: Sequence[SqlType], calls: Sequence[StatefulCall], row_count: int
    ) -> None:
        self._group_key = group_key
        self._group_types = group_types
        self._calls = calls
        self._row_count = row_count
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        columns = columns_of(changes)
        for index, type_ in zip(self._group_key, self._group_types, strict=True):
            columns[index] = canonical_column(columns[index], type_)
        groups = group_by([columns[k] for k in self._group_key], self._group_types, changes.num_rows)
        results = update_calls(self._calls, InputByGroup(groups, ops_of(changes), columns))
        self.errors = sum(result.errors for result in results)
        existed, exists = counted_groups(results[self._row_count])
        store_states(self._calls, groups.keys, exists)
        return changed_rows(groups.keys, results, existed, exists)


def update_calls(calls: Sequence[StatefulCall], rows: InputByGroup) -> list[Results]:
    """Every call's results before and after."""
    return [call.update(rows) for call in calls]


def counted_groups(row_count: Results) -> tuple[Mask, Mask]:
    """Which groups had rows before the epoch, and which have rows after it. Raises InternalError at a count below 0."""
    old, new = row_count.old.to_numpy(), row_count.new.to_numpy()
    if len(new) and new.min() < 0:
        raise InternalError("more rows of a group were deleted than inserted")
    return old > 0, new > 0


def store_states(calls: Sequence[StatefulCall], keys: Sequence[pa.Array], exists: Mask) -> None:
    """Writes the calls' states, and deletes those of groups that no longer exist."""
    for call in calls:
        call.store(keys, exists)


def changed_rows(keys: Sequence[pa.Array], results: Sequence[Results], existed: Mask, exists: Mask) -> pa.Table:
    """-1 of the old and +1 of the new row, for groups that came, went, or whose results changed."""
    changed = distinct_rows([r.old for r in results], [r.new for r in results], len(existed)) | (existed != exists)
    gone, come = existed & changed, exists & changed
    old = _where(gone, [*keys, *(result.old for result in results)])
    new = _where(come, [*keys, *(result.new for result in results)])
    columns = [pa.concat_arrays([a, b]) for a, b in zip(old, new, strict=True)]
    deletes = int(gone.sum())
    ops = np.full(len(columns[0]), INSERT, np.int8)
    ops[:deletes] = DELETE
    return make_chunk(ops, columns)


def _where(mask: Mask, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
    """The columns' values where the mask is true. It mostly is: to filter would cost a small epoch 6 us a column."""
    if mask.all():
        return columns
    kept = pa.array(mask)
    return [column.filter(kept) for column in columns]
