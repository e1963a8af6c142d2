"""Decides which epochs of changelogs are deleted: those that no follower needs any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Set

PAUSE_SECONDS = 1.0  # between two epochs that delete: each costs a commit of every shard more
IDLE_SECONDS = 5.0  # after that, a database with nothing else to do runs an epoch only to delete


class Trimming:
    """Up to which epoch each changelog may lose its blocks. Any thread may call it.

    Once a second an epoch that runs anyway deletes what has become old until then. An idle database runs one epoch for
    it, some seconds after the last delivery.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to delete where there was nothing."""
        self._wake = wake
        self._guard = threading.Lock()
        self._wanted: dict[int, int] = {}
        self._since = 0.0

    def up_to(self, table_id: int, epoch: int) -> None:
        """No follower of this changelog asks for what it has of `epoch` and of earlier ones."""
        with self._guard:
            first = not self._wanted
            self._wanted[table_id] = max(epoch, self._wanted.get(table_id, 0))
            if first:
                self._since = time.monotonic()
        if first:
            self._wake()

    def due(self, tables: Callable[[], Set[int]]) -> tuple[tuple[int, int], ...]:
        """(table, epoch) of each changelog that loses blocks in this epoch. `tables` gives those that there are."""
        with self._guard:
            if not self._wanted:
                return ()
            for table_id in self._wanted.keys() - tables():
                del self._wanted[table_id]
            if time.monotonic() < self._since + PAUSE_SECONDS:
                return ()
            return tuple(sorted(self._wanted.items()))

    def done(self, trimmed: Collection[tuple[int, int]]) -> None:
        """An epoch that has deleted these is committed."""
        with self._guard:
            for table_id, epoch in trimmed:
                if self._wanted.get(table_id) == epoch:
                    del self._wanted[table_id]
            if trimmed:
                self._since = time.monotonic()

    def seconds_left(self) -> float | None:
        """How long an idle database waits before it runs an epoch for this; None: there is nothing to delete."""
        with self._guard:
            if not self._wanted:
                return None
            return max(self._since + IDLE_SECONDS - time.monotonic(), 0.0)
