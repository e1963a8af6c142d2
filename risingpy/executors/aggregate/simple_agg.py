"""SimpleAgg: an aggregate without GROUP BY. Its one row exists from the first epoch on, even without input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.executors.aggregate.calls import InputByGroup, StatefulCall, ValueCall
from risingpy.executors.aggregate.hash_agg import changed_rows, counted_groups, store_states, update_calls
from risingpy.executors.change_chunk import columns_of, ops_of
from risingpy.functions.aggregate.grouping import group_by


class SimpleAggExecutor:
    """Output: one column per call. It runs on one shard only, and in the job's first epoch also without input."""

    def __init__(self, *, calls: Sequence[StatefulCall], row_count: int) -> None:
        self._calls = calls
        self._row_count = row_count
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        groups = group_by([], [], changes.num_rows)
        results = update_calls(self._calls, InputByGroup(groups, ops_of(changes), columns_of(changes)))
        self.errors = sum(result.errors for result in results)
        counted_groups(results[self._row_count])
        always = np.ones(1, np.bool_)
        store_states(self._calls, [], always)
        counter = self._calls[self._row_count]
        if not isinstance(counter, ValueCall):
            raise InternalError("the row count is no value state")
        return changed_rows([], results, counter.existed, always)
