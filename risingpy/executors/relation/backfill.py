"""TableScan: the backfill. It gives a new view the upstream's stored rows, chunk by chunk, and then its changes.

In each epoch, a shard reads the next chunk of its part of the upstream, in key order. The upstream has been written
before: the chunk already includes this epoch's changes. So of the changes themselves only those of keys that were read
in earlier epochs pass. The other changes are in this chunk or will be in a later one, and would be counted twice.
After the epoch of the last chunk all changes pass. The view so agrees with the part read so far in every epoch, and
the upstream never waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import INSERT, consolidated, make_chunk
from risingpy.storage.codec.key_encoding import compute_vnodes, encode_keys
from risingpy.storage.codec.table_schema import TableSchema, vnodes_of_shard
from risingpy.storage.engine.state_table import StateTable

# At most, per shard, epoch and job. It takes about 50 ms to read and aggregate them (`meta/epochs/backfill_budget.py`).
ROWS_PER_EPOCH = 100_000


@dataclass(frozen=True, slots=True)
class _Progress:
    position: bytes | None = None
    finished: bool = False
    row_count: int = 0


class TableScanExecutor:
    """See the module's docstring. `progress` has one row in each shard: shard, position, finished, row count.

    `is_backfilling`: some shard may still have rows to read. Only then does the executor read its progress, and
    `most_rows` of the snapshot: with 0 it pauses, and passes on only changes of the rows that it has read.
    """

    def __init__(
        self,
        *,
        upstream: StateTable,
        schema: TableSchema,
        columns: Sequence[int],
        progress: StateTable,
        shard: int,
        shards: int,
        is_backfilling: bool,
        most_rows: int = ROWS_PER_EPOCH,
    ) -> None:
        self._upstream = upstream
        self._schema = schema
        self._columns = columns
        self._progress = progress
        self._shard = shard
        self._is_backfilling = is_backfilling
        self._most_rows = most_rows
        self._vnodes = vnodes_of_shard(shard, shards)
        self.backfill: tuple[int, bool] = (0, True)  # rows read in this epoch; whether all are read

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        progress = self._read_progress() if self._is_backfilling else _Progress(finished=True)
        if progress.finished:
            return self._select(changes)
        if not self._most_rows:
            self.backfill = (0, False)
            return self._select(self._at_or_before(changes, progress.position))
        rows, last_key = self._upstream.scan(self._vnodes, progress.position, self._most_rows)
        finished = last_key is None
        self.backfill = (rows.num_rows, finished)
        self._write_progress(_Progress(last_key or progress.position, finished, progress.row_count + rows.num_rows))
        snapshot = make_chunk(np.full(rows.num_rows, INSERT, np.int8), rows.columns)
        known = self._at_or_before(changes, progress.position)
        return pa.concat_tables([self._select(known), self._select(snapshot)])

    def _select(self, chunk: pa.Table) -> pa.Table:
        if list(self._columns) == list(range(chunk.num_columns - 1)):
            return chunk
        selected = make_chunk(chunk.column(0), [chunk.column(1 + index) for index in self._columns])
        # An update of columns that are not selected changes nothing here.
        return consolidated(selected, [self._schema.columns[index].type for index in self._columns])

    def _at_or_before(self, changes: pa.Table, position: bytes | None) -> pa.Table:
        """The changes of keys that are not after `position` in the order of the table's keys."""
        if position is None or not changes.num_rows:
            return changes.slice(0, 0)
        distribution = [changes.column(f"c{index}").combine_chunks() for index in self._schema.distribution]
        types = [self._schema.columns[index].type for index in self._schema.distribution]
        keys = [changes.column(f"c{key.index}").combine_chunks() for key in self._schema.key]
        encoded = encode_keys(self._schema, keys, compute_vnodes(distribution, changes.num_rows, types))
        return changes.filter(pc.less_equal(encoded, pa.scalar(position, pa.binary())))

    def _read_progress(self) -> _Progress:
        row = self._progress.get_row((self._shard,))
        if row is None:
            return _Progress()
        _, position, finished, row_count = row
        return _Progress(cast("bytes | None", position), cast(bool, finished), cast(int, row_count))

    def _write_progress(self, progress: _Progress) -> None:
        self._progress.apply(
            np.array([INSERT], np.int8),
            [
                pa.array([self._shard], pa.int32()),
                pa.array([progress.position], pa.binary()),
                pa.array([progress.finished]),
                pa.array([progress.row_count], pa.int64()),
            ],
        )
