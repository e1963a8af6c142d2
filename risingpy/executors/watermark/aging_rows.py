"""Deletes the rows of a table with ttl that nobody has written for so long, and tells its readers.

So a view of the table forgets them too, with all that it keeps for them: state of joins and aggregates is bounded as
the table is, and a view equals its query at each epoch. The age of a row is that of the epoch in which it came or was
changed last, so that a repeated epoch deletes the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, deletes_first, make_chunk, ops_of
from risingpy.executors.epoch.operator_tree import Executor, FragmentEpoch
from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.watermark.expiring_rows import ENDED_ROWS_PER_EPOCH
from risingpy.executors.watermark.oldest_rows import OldestRows
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable

_NOTED_AT_ONCE = 65_536


class AgingRows:
    """Wraps `stored`, the executor that stores the table's changes in `table`.

    For each row of `table`, `times` has the time of its epoch and its key, and `ages` that time by its key. If no row
    has a time, the table has just got its ttl, and all its rows count as written in this epoch. `oldest` says which
    rows end.
    """

    def __init__(
        self,
        stored: Executor,
        *,
        table: StateTable,
        times: StateTable,
        ages: StateTable,
        oldest: OldestRows,
        epoch: FragmentEpoch,
    ) -> None:
        self._stored = stored
        self._table = table
        self._times = times
        self._ages = ages
        self._oldest = oldest
        self._epoch = epoch
        self._now = milliseconds(epoch.epoch_input.epoch)
        self._key = [each.index for each in table.schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        if self._oldest.wakes(self._epoch) and not self._oldest.look(self._epoch) and not self._note_all():
            self._oldest.note_empty(self._epoch)
        changes = deletes_first(self._stored.execute(inputs))  # the row of an update has one age, the new one
        if changes.num_rows:
            self._note(changes)
        if not self._oldest.wakes(self._epoch):
            return changes
        end = pa.array([self._oldest.end(self._epoch)], pa.int64())
        ended = self._times.take_below(end, ENDED_ROWS_PER_EPOCH)
        if not ended.num_rows:
            return changes
        return pa.concat_tables([changes, self._end_rows(*(whole(column) for column in ended.columns))])

    def _note_all(self) -> int:
        """The rows that the table has count as written now: how many. A table without rows costs one look."""
        rows = 0
        for count, columns in self._table.scan_pages(_NOTED_AT_ONCE):
            self._note_written([columns[i] for i in self._key], count)
            rows += count
        return rows

    def _note(self, changes: pa.Table) -> None:
        ops, columns = ops_of(changes), columns_of(changes)
        gone, came = (pa.array(ops == op) for op in (DELETE, INSERT))
        keys = [columns[i].filter(gone) for i in self._key]
        if len(keys[0]):
            _, (written,) = self._ages.get_rows(keys)
            deleted = np.full(len(written), DELETE, np.int8)
            self._times.apply(deleted, [written, *keys])
            self._ages.apply(deleted, [*keys, written])
        keys = [columns[i].filter(came) for i in self._key]
        self._note_written(keys, len(keys[0]))

    def _note_written(self, keys: Sequence[pa.Array], count: int) -> None:
        written = pa.array(np.full(count, self._now, np.int64))
        inserted = np.full(count, INSERT, np.int8)
        self._times.apply(inserted, [written, *keys])
        self._ages.apply(inserted, [*keys, written])

    def _end_rows(self, written: pa.Array, *keys: pa.Array) -> pa.Table:
        """Deletes the rows of these keys, and gives the changes."""
        _, values = self._table.get_rows(keys)
        columns = dict(zip(self._key, keys, strict=True))
        columns.update(zip(self._table.schema.value_columns, values, strict=True))
        rows = [columns[i] for i in range(len(columns))]
        deleted = np.full(len(written), DELETE, np.int8)
        self._table.apply(deleted, rows)
        self._ages.apply(deleted, [*keys, written])
        return make_chunk(deleted, rows)
