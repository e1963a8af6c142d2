"""Whether an epoch runs in one task or is shuffled: by what epochs of about its size have lately cost.

One task starts at once, and runs its shards in threads that get in each other's way: Python's part of the work is done
by one of them at a time. A shuffle has a process for every shard, and costs a fixed time per exchange. So one task it
is, until the CPU seconds that the other processes would take over outweigh the exchanges. With two cores that is some
0.6 s of work, with eight 0.2 s: a million rows of a plain aggregation (0.06 s) belong in one task on any machine.
"""

from __future__ import annotations

import os

THREADS_WORTH = 1.4  # cores that the shards' threads of one task use, measured at 50,000 and 1,000,000 rows
WIDE_SECONDS = 0.05  # more that an epoch of the wide query costs than one of the narrow, without any exchange
EXCHANGE_SECONDS = 0.12  # per exchange: two Python tasks more, and Spark's planning of them

# Before anything was measured: a group by and its storing, 1 µs a row, with what an empty epoch costs.
_GUESSED_EPOCH_SECONDS = 0.015
_GUESSED_ROW_SECONDS = 1e-6
_MEMORY = 0.5  # of the measurements before, when a new one comes


class EpochShape:
    """Remembers the CPU seconds of epochs by the power of two that their rows are in, and predicts the next.

    The graph may change, or the data: then the first epochs are predicted badly, and correct it.
    `always_shuffles` is for tests of the shuffle.
    """

    def __init__(self, *, cores: int | None = None, always_shuffles: bool = False) -> None:
        self._cores = cores or os.cpu_count() or 1
        self._always_shuffles = always_shuffles
        self._seconds: dict[int, float] = {}

    def is_one_task(self, rows: int, *, shards: int, exchanges: int) -> bool:
        """True if `rows` rows of input are through sooner in one task."""
        if self._always_shuffles:
            return False
        processes = min(shards, self._cores)
        threads = min(THREADS_WORTH, processes)
        work = self.predicted_seconds(rows)
        return work / threads <= work / processes + WIDE_SECONDS + EXCHANGE_SECONDS * exchanges

    def predicted_seconds(self, rows: int) -> float:
        """CPU seconds of an epoch with this many rows of input.

        Of an epoch of that size; else of the next smaller one, with as much more as there are more rows; but not more
        than a larger one took.
        """
        size = rows.bit_length()
        if size in self._seconds:
            return self._seconds[size]
        larger = min((self._seconds[known] for known in self._seconds if known > size), default=float("inf"))
        below = max((known for known in self._seconds if known < size), default=None)
        if below is None:
            return min(larger, _GUESSED_EPOCH_SECONDS + _GUESSED_ROW_SECONDS * rows)
        # What a small epoch costs is hardly its rows: they are charged at least what is known to be dear.
        growth = max(0, rows - (1 << below)) * max(_GUESSED_ROW_SECONDS, self._row_seconds(below))
        return min(larger, self._seconds[below] + growth)

    def measured(self, rows: int, cpu_seconds: float) -> None:
        """An epoch is through."""
        size = rows.bit_length()
        known = self._seconds.get(size)
        self._seconds[size] = cpu_seconds if known is None else _MEMORY * known + (1 - _MEMORY) * cpu_seconds

    def _row_seconds(self, size: int) -> float:
        return max(0.0, self._seconds[size] - _GUESSED_EPOCH_SECONDS) / (1 << size)
