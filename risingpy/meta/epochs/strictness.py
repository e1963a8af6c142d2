"""How little time a job gets in a shared epoch, as jobs have spoilt epochs of late.

A job that takes too long for an epoch has kept everybody waiting in vain: the epoch runs again without it. One such job
is an accident, and an allowance of a second finds most jobs innocent. Where one comes after the other, each of them
would cost that second. So each try that a job spoils halves the time of all jobs, and calm gives it back bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

CALM_SECONDS = 10.0  # after which one halving is taken back
MOST_HALVINGS = 5.0
WARY_HALVINGS = 2.0  # from which on a new job is not tried in an epoch that all share


class Strictness:
    """For the barrier loop's thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` tells the time in seconds."""
        self._now = now
        self._halvings = 0.0
        self._since = now()

    def spoilt(self) -> None:
        """A job has spoilt a try of an epoch."""
        self._halvings = min(self.halvings + 1.0, MOST_HALVINGS)
        self._since = self._now()

    @property
    def halvings(self) -> float:
        """How often the time of a job is halved now."""
        return max(self._halvings - (self._now() - self._since) / CALM_SECONDS, 0.0)
