"""The loop's rest between small epochs, while many write and nobody waits for an epoch.

Epochs that follow each other at once take a processor, and the interpreter's lock from those who write: each has its
own price, however few rows it takes. With a rest twice as long as the epoch they take a third, and the next has more.
Whoever asks for what is written waits for an epoch, and so ends the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from risingpy.meta.epochs.next_epoch import NextEpoch
from risingpy.meta.epochs.waiters import Waiters

MANY_ROWS = 32  # in an epoch: more than one client alone writes, one by one. A record of the log has many clients' rows
FEW_ROWS = 2_000  # more of them are worth an epoch of their own
LONGEST_SECONDS = 0.05
_TIMES = 2  # as long as the epoch


class Rest:
    """For the barrier loop's thread."""

    def __init__(self, waiters: Waiters, now: Callable[[], float] = time.monotonic) -> None:
        self._waiters = waiters
        self._now = now
        self._end = 0.0

    def ran(self, epoch: NextEpoch, seconds: float) -> None:
        """An epoch is committed, and has taken so long."""
        if MANY_ROWS <= epoch.rows <= FEW_ROWS:
            self._end = self._now() + min(_TIMES * seconds, LONGEST_SECONDS)

    def seconds_left(self, pending_rows: Callable[[], int]) -> float:
        """How long it should last, if rows of the log are all that there is to do; 0 or less: not at all."""
        left = self._end - self._now()
        if left <= 0 or self._waiters.are_waiting or pending_rows() > FEW_ROWS:
            return 0.0
        return left
