"""How long things took, as counts by duration: what a histogram of Prometheus is made of."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

# Seconds. An epoch takes 5 ms at least, a point query some 50 µs; a backfill's epoch takes seconds.
BOUNDS = (
    0.0001,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)


@dataclass(frozen=True, slots=True)
class Durations:
    """`counts`: how many took at most each of BOUNDS but more than the one before it, and at last how many took longer.

    `seconds` is the sum.
    """

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0

    @property
    def number(self) -> int:
        return sum(self.counts)


class DurationCounter:
    """Counts durations. Not safe to use from several threads: its owner guards it."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, seconds: float, times: int = 1) -> None:
        """Something took so long, or so many `times` of it together, each as long as the others."""
        self._counts[bisect_left(BOUNDS, seconds / times)] += times
        self._seconds += seconds

    def durations(self) -> Durations:
        """What was counted so far."""
        return Durations(tuple(self._counts), self._seconds)
