"""The rows of cursors declared SCROLL, which can also be read backwards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

import numpy as np
import pyarrow as pa

from risingpy.frontend.portals import RowStream
from risingpy.frontend.suspended.spilled_rows import Spills, never_spills

KEPT_BYTES = 1 << 20  # in memory, per cursor; more than that goes to an unnamed temporary file


class ScrolledRows(RowStream):
    """Keeps the rows that have been read, as Arrow messages by the number of their first row."""

    def __init__(self, batches: Iterator[pa.RecordBatch], spills: Spills = never_spills) -> None:
        super().__init__(batches, spills)
        self._kept = SpooledTemporaryFile(max_size=KEPT_BYTES)  # noqa: SIM115 - closed by `close`
        self._schema: pa.Schema | None = None
        self._firsts: list[int] = []  # each message's first row, from 0
        self._spans: list[tuple[int, int]] = []  # each message's offset and length
        self._rows = 0
        self._place = 0

    @property
    def place(self) -> int:
        return self._place

    def take(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        wanted = None if limit is None else self._place + limit
        while wanted is None or self._place < wanted:
            if self._place >= self._rows and not self._read_more():
                self._place, self.at_end = self._rows + 1, True
                return
            rows = self._batch_from(self._place)
            if wanted is not None:
                rows = rows.slice(0, wanted - self._place)
            self._place += rows.num_rows
            yield rows
        self._suspend()

    def back(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        down_to = 1 if limit is None else self._place - limit
        while self._place > max(down_to, 1):
            rows = self._batch_up_to(self._place - 1)
            rows = rows.slice(max(rows.num_rows - (self._place - max(down_to, 1)), 0))
            self._place -= rows.num_rows
            self.at_end = False
            yield rows.take(pa.array(np.arange(rows.num_rows - 1, -1, -1)))
        if limit is None or down_to < 1:
            self._place, self.at_end = 0, False

    def close(self) -> None:
        super().close()
        self._kept.close()

    def _read_more(self) -> bool:
        """Keeps the next batch of the result; False if there is none."""
        batch = next(self._batches, None)
        while batch is not None and not batch.num_rows:
            batch = next(self._batches, None)
        if batch is None:
            return False
        message = batch.serialize()
        self._schema = batch.schema
        self._firsts.append(self._rows)
        self._spans.append((self._kept.seek(0, 2), message.size))
        self._kept.write(message)
        self._rows += batch.num_rows
        return True

    def _batch_from(self, row: int) -> pa.RecordBatch:
        """The rows of a message from `row` (from 0) on."""
        index = bisect_right(self._firsts, row) - 1
        return self._message(index).slice(row - self._firsts[index])

    def _batch_up_to(self, count: int) -> pa.RecordBatch:
        """The rows of a message among the first `count`, up to their last."""
        index = bisect_right(self._firsts, count - 1) - 1
        return self._message(index).slice(0, count - self._firsts[index])

    def _message(self, index: int) -> pa.RecordBatch:
        offset, length = self._spans[index]
        self._kept.seek(offset)
        return pa.ipc.read_record_batch(pa.py_buffer(self._kept.read(length)), self._schema)
