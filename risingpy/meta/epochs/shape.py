"""Decides whether an epoch runs in one task or is shuffled, by the cost of recent epochs of about its size.

One task starts at once, but runs its shards in threads, of which only one at a time can run Python code. A shuffle has
a process for every shard, but costs a fixed time per exchange. So an epoch is one task until the CPU seconds that the
other processes would take over outweigh the exchanges. With two cores that is about 0.6 s of work, with eight 0.2 s. A
million rows of a plain aggregation (0.06 s) belong in one task on any machine. The exchanges of a recursion's step
count as often as epochs of about the size have repeated it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from risingpy.executors.spark.loop_time import EXCHANGE_SECONDS
from risingpy.plan.recursion.loops import Stages

THREADS_WORTH = 1.4  # cores that the shards' threads of one task use, measured at 50,000 and 1,000,000 rows
LEAST_WIDE_ROWS = 4096  # where fewer take long, a single job does, and will be set aside: on its own, not with others
WIDE_SECONDS = 0.05  # how much more an epoch costs on the wide query than on the narrow one, without any exchange

# Before any measurement: a GROUP BY with its storing costs 1 µs a row, plus the cost of an empty epoch.
_GUESSED_EPOCH_SECONDS = 0.015
_GUESSED_ROW_SECONDS = 1e-6
_MEMORY = 0.5  # the weight of earlier measurements against a new one


class EpochShape:
    """Remembers the CPU seconds of epochs by the power of two that their rows are in, and predicts the next.

    After a change of the graph or the data, the first predictions are bad, and the measurements correct them.
    `always_shuffles` is for tests of the shuffle. `may_shuffle` says whether there is, or will soon be, who shuffles.
    """

    def __init__(
        self,
        *,
        cores: int | None = None,
        always_shuffles: bool = False,
        may_shuffle: Callable[[], bool] = lambda: True,
    ) -> None:
        self._cores = cores or os.cpu_count() or 1
        self._always_shuffles = always_shuffles
        self._may_shuffle = may_shuffle
        self._seconds: dict[int, float] = {}
        self._repetitions: dict[int, float] = {}

    def is_one_task(self, rows: int, *, shards: int, stages: Stages) -> bool:
        """True if an epoch with `rows` input rows, of a graph with these stages, takes less time in one task."""
        if self._always_shuffles:
            return math.isinf(self._repetitions.get(rows.bit_length(), 0.0))  # it was given up: not again and again
        if rows < LEAST_WIDE_ROWS or not self._may_shuffle():
            return True
        processes = min(shards, self._cores)
        threads = min(THREADS_WORTH, processes)
        work = self.predicted_seconds(rows)
        exchanges = float(stages.depth - 1)
        if stages.loops:
            exchanges += stages.exchanges_of_repetition * self.predicted_repetitions(rows)
        return work / threads <= work / processes + WIDE_SECONDS + EXCHANGE_SECONDS * exchanges

    def predicted_seconds(self, rows: int) -> float:
        """The predicted CPU seconds of an epoch with this many rows of input.

        They are those of an epoch of that size. If there was none, they are those of the next smaller one, with the
        cost of the further rows, but no more than a larger one took.
        """
        size = rows.bit_length()
        if size in self._seconds:
            return self._seconds[size]
        larger = min((self._seconds[known] for known in self._seconds if known > size), default=float("inf"))
        below = max((known for known in self._seconds if known < size), default=None)
        if below is None:
            return min(larger, _GUESSED_EPOCH_SECONDS + _GUESSED_ROW_SECONDS * rows)
        # The cost of a small epoch says little about the cost of a row: further rows cost at least the default.
        growth = max(0, rows - (1 << below)) * max(_GUESSED_ROW_SECONDS, self._row_seconds(below))
        return min(larger, self._seconds[below] + growth)

    def predicted_repetitions(self, rows: int) -> float:
        """How often an epoch with this many rows repeats loops: as one of that size did, or of the next larger.

        Without one it is infinite. What few rows cost says little of many, and nothing of the levels that these have.
        """
        size = min((known for known in self._repetitions if known >= rows.bit_length()), default=None)
        return math.inf if size is None else self._repetitions[size]

    def measured(self, rows: int, cpu_seconds: float, repetitions: int = 0) -> None:
        """Records the cost of an epoch that has ended, and how often it has repeated loops."""
        size = rows.bit_length()
        for kept, found in ((self._seconds, cpu_seconds), (self._repetitions, float(repetitions))):
            known = kept.get(size, math.inf)
            kept[size] = found if math.isinf(known) else _MEMORY * known + (1 - _MEMORY) * found

    def repeated_too_often(self, rows: int) -> None:
        """Records that an epoch was given up for its repetitions. The next one is one task, and will be measured."""
        self._repetitions[rows.bit_length()] = math.inf

    def _row_seconds(self, size: int) -> float:
        return max(0.0, self._seconds[size] - _GUESSED_EPOCH_SECONDS) / (1 << size)


class ClusterShape(EpochShape):
    """On a cluster, an epoch runs on all its machines; until they are there, in one task on the server's."""

    def __init__(self, is_there: Callable[[], bool]) -> None:
        super().__init__()
        self._is_there = is_there

    def is_one_task(self, rows: int, *, shards: int, stages: Stages) -> bool:
        return not self._is_there()
