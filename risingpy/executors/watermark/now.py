"""Now: gives the time of the epoch as a relation of one row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.executors.epoch.time import milliseconds


class NowExecutor:
    """Retracts the time of epoch `before` (None: there was none) and inserts that of `epoch`, unless they are equal."""

    def __init__(self, *, before: int | None, epoch: int, empty: pa.Table) -> None:
        self._before = before
        self._epoch = epoch
        self._empty = empty

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        time = milliseconds(self._epoch)
        if self._before is None:
            return _chunk([INSERT], [time])
        before = milliseconds(self._before)
        return self._empty if before == time else _chunk([DELETE, INSERT], [before, time])


def _chunk(ops: list[int], milliseconds_: list[int]) -> pa.Table:
    times = pa.array([1000 * each for each in milliseconds_], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return make_chunk(pa.array(ops, pa.int8()), [times])
