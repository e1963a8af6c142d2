"""HashAgg that gives a group out once, when the watermark has passed it (EMIT ON WINDOW CLOSE)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.calls import InputByGroup, StatefulCall
from risingpy.executors.aggregate.hash_agg import HashAggExecutor, update_calls
from risingpy.executors.change_chunk import columns_of, make_chunk, ops_of
from risingpy.functions.aggregate.grouping import Groups
from risingpy.storage.engine.state_table import StateTable


class EowcHashAggExecutor:
    """Keeps the groups in `open_groups`, whose output it drops.

    A group whose first column is below `bound` (one value; None: no window is closed) comes out with its results after
    the epoch's input, and its state is deleted. No later row can belong to it, since the watermark filter drops late
    rows, so the output only grows. `tables` are all tables of the calls; `counts`, one of them, has a row for every
    group. `make_calls` makes new calls, because a call takes only one chunk of rows.
    """

    def __init__(
        self,
        *,
        open_groups: HashAggExecutor,
        make_calls: Callable[[], Sequence[StatefulCall]],
        counts: StateTable,
        tables: Sequence[StateTable],
        group_columns: int,
        bound: pa.Array | None,
        empty: pa.Table,
    ) -> None:
        self._open_groups = open_groups
        self._make_calls = make_calls
        self._counts = counts
        self._tables = tables
        self._group_columns = group_columns
        self._bound = bound
        self._empty = empty
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        if changes.num_rows:
            self._open_groups.execute(inputs)
        if self._bound is None:
            return self._empty
        closed = self._counts.scan_below(self._bound)
        if not closed.num_rows:
            return self._empty
        output = self._results(closed, changes.slice(0, 0))
        for table in self._tables:
            table.delete_below(self._bound)
        return output

    def _results(self, closed: pa.Table, no_changes: pa.Table) -> pa.Table:
        """A +1 for each closed group."""
        keys = [column.combine_chunks() for column in closed.columns[: self._group_columns]]
        groups = Groups(np.zeros(0, np.int64), keys, closed.num_rows)
        results = update_calls(self._make_calls(), InputByGroup(groups, ops_of(no_changes), columns_of(no_changes)))
        self.errors = sum(result.errors for result in results)
        return make_chunk(np.ones(closed.num_rows, np.int8), [*keys, *(result.new for result in results)])
