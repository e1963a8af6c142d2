"""Source: the epoch's new rows of an external source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from risingpy.executors.epoch.input import EpochInput
from risingpy.executors.epoch.source_reading import SAMPLES, Rejected


class SourceExecutor:
    """Returns only `columns`, those that the query uses. `reject` is told of messages that do not decode."""

    def __init__(
        self,
        *,
        job_id: int,
        source_id: int,
        columns: Sequence[int],
        empty: pa.Table,
        epoch_input: EpochInput,
        reject: Callable[[Rejected], None],
    ) -> None:
        self._job_id = job_id
        self._source_id = source_id
        self._columns = columns
        self._empty = empty
        self._input = epoch_input
        self._reject = reject

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        read = list(self._input.source_rows(self._job_id, self._source_id, self._columns))
        count = sum(rows.rejected for rows in read)
        if count:
            samples = tuple(sample for rows in read for sample in rows.samples)
            self._reject(Rejected(self._source_id, self._job_id, count, samples[:SAMPLES]))
        changes = [rows.changes for rows in read if rows.changes.num_rows]
        return pa.concat_tables(changes) if changes else self._empty
