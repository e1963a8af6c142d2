"""Deletes the rows of a table with retention_seconds that are older than that.

The age of a row is that of the epoch in which it came, so that a repeated epoch deletes the same rows. What reads the
table is not told, as with WITH TTL (docs/decisions/117): the rows' keys are generated, and none ever comes again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import columns_of, ops_of
from risingpy.executors.epoch.operator_tree import Executor, FragmentEpoch
from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.watermark.expiring_rows import ENDED_ROWS_PER_EPOCH
from risingpy.executors.watermark.oldest_rows import OldestRows
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable


class RetainedRows:
    """Wraps `stored`, the executor that stores the table's changes in `table`.

    `times` has, for each row of `table`, the time of its epoch and its key. `oldest` says which end.
    """

    def __init__(
        self, stored: Executor, *, table: StateTable, times: StateTable, oldest: OldestRows, epoch: FragmentEpoch
    ) -> None:
        self._stored = stored
        self._table = table
        self._times = times
        self._oldest = oldest
        self._epoch = epoch

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        if self._oldest.wakes(self._epoch) and not self._oldest.look(self._epoch):
            self._oldest.note_empty(self._epoch)
        changes = self._stored.execute(inputs)
        key = [each.index for each in self._table.schema.key]
        if changes.num_rows:
            columns = columns_of(changes)
            written = pa.array(np.full(changes.num_rows, milliseconds(self._epoch.epoch_input.epoch), np.int64))
            self._times.apply(ops_of(changes), [written, *(columns[i] for i in key)])
        if not self._oldest.wakes(self._epoch):
            return changes
        end = pa.array([self._oldest.end(self._epoch)], pa.int64())
        ended = self._times.take_below(end, ENDED_ROWS_PER_EPOCH)
        if ended.num_rows:
            values = dict(zip(key, (whole(column) for column in ended.columns[1:]), strict=True))
            types = [column.type.arrow for column in self._table.schema.columns]
            # A deletion asks for the key alone: the other columns need no values.
            rows = [values[i] if i in values else pa.nulls(ended.num_rows, type_) for i, type_ in enumerate(types)]
            self._table.apply(np.full(ended.num_rows, -1, np.int8), rows)
        return changes
