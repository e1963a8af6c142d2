"""How long statements took since the server started, by kind."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from risingpy.meta.durations import DurationCounter, Durations


class StatementTimes:
    """Sessions add to it; any thread reads it. A kind is the name of a statement's class: there are some fifty."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._times: dict[str, DurationCounter] = {}
        self._failed: dict[str, int] = {}

    def add(self, kind: str, seconds: float, *, failed: bool, times: int = 1) -> None:
        """A statement has ended; one that failed counts in both. Or it has ended so many `times`, in these seconds."""
        with self._guard:
            counter = self._times.get(kind)
            if counter is None:
                counter = self._times[kind] = DurationCounter()
            counter.add(seconds, times)
            if failed:
                self._failed[kind] = self._failed.get(kind, 0) + 1

    def durations(self) -> Mapping[str, Durations]:
        with self._guard:
            return {kind: counter.durations() for kind, counter in self._times.items()}

    def failed(self) -> Mapping[str, int]:
        """How many have failed, cancelled ones included."""
        with self._guard:
            return dict(self._failed)
