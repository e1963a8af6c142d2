"""Source: the epoch's new rows of an external source."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.epoch.input import EpochInput


class SourceExecutor:
    """Reads only `columns`, those that the query uses."""

    def __init__(
        self, *, job_id: int, source_id: int, columns: Sequence[int], empty: pa.Table, epoch_input: EpochInput
    ) -> None:
        self._job_id = job_id
        self._source_id = source_id
        self._columns = columns
        self._empty = empty
        self._input = epoch_input

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        rows = self._input.source_rows(self._job_id, self._source_id, self._columns)
        return self._empty if rows is None else rows
