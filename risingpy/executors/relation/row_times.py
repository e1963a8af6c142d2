"""Keeps when the rows of a table were written: what `_rw_timestamp` shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import columns_of, deletes_first, ops_of
from risingpy.executors.epoch.operator_tree import Executor, FragmentEpoch
from risingpy.executors.epoch.time import milliseconds
from risingpy.storage.engine.state_table import StateTable


class RowTimesExecutor:
    """Wraps `stored`, the executor that stores a table's changes, whose key is at `key` of its columns.

    `times` has the time of the epoch that wrote a row by the row's key. The epoch's number contains it, so a repeated
    epoch writes the same. A write that changes nothing is not among the changes, and leaves the time as it was.
    """

    def __init__(self, stored: Executor, *, times: StateTable, key: Sequence[int], epoch: FragmentEpoch) -> None:
        self._stored = stored
        self._times = times
        self._key = key
        self._now = milliseconds(epoch.epoch_input.epoch)

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = self._stored.execute(inputs)
        if changes.num_rows:
            ordered = deletes_first(changes)  # the +1 of an update must be written last
            ops, columns = ops_of(ordered), columns_of(ordered)
            written = pa.array(np.full(len(ops), self._now, np.int64))
            self._times.apply_changes(ops, [*(columns[i] for i in self._key), written])
        return changes
