"""Locks of tables: many writers of new rows, or one statement that reads before it writes.

INSERT and COPY only append to the log, so they share a table. UPDATE, DELETE, DROP and
transactions that write hold it alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from risingpy.errors import DeadlockDetected, QueryCanceled

WAIT_SLICE_SECONDS = 0.1  # how often a waiter looks whether it was cancelled


class TableLock:
    """A shared/exclusive lock, exclusive first: a waiting UPDATE is not starved by INSERTs. Exclusive is reentrant."""

    def __init__(self, waits: dict[int, TableLock] | None = None) -> None:
        """`waits`: which thread waits for which lock, shared by all locks of a database."""
        self._waits = {} if waits is None else waits
        self._changed = threading.Condition()
        self._sharers = 0
        self._owner: int | None = None
        self._depth = 0
        self._waiting = 0

    @contextmanager
    def shared(self, cancelled: threading.Event | None = None) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            owned = self._owner == me
            if not owned:
                self._wait(lambda: self._owner is None and not self._waiting, cancelled)
                self._sharers += 1
        try:
            yield
        finally:
            if not owned:
                with self._changed:
                    self._sharers -= 1
                    self._changed.notify_all()

    def acquire(self, cancelled: threading.Event | None = None) -> None:
        """Takes the lock exclusively; `release` gives it back, in the same thread."""
        me = threading.get_ident()
        with self._changed:
            if self._owner != me:
                self._waiting += 1
                try:
                    self._wait(lambda: self._owner is None and not self._sharers, cancelled)
                finally:
                    self._waiting -= 1
                    self._changed.notify_all()
                self._owner = me
            self._depth += 1

    def release(self) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()

    @contextmanager
    def exclusive(self, cancelled: threading.Event | None = None) -> Iterator[None]:
        self.acquire(cancelled)
        try:
            yield
        finally:
            self.release()

    def _wait(self, free: Callable[[], bool], cancelled: threading.Event | None) -> None:
        me = threading.get_ident()
        self._waits[me] = self
        try:
            while not free():
                self._changed.wait(WAIT_SLICE_SECONDS)
                if cancelled is not None and cancelled.is_set():
                    raise QueryCanceled("canceling statement due to user request")
                if not free() and self._owner_waits_for(me):
                    raise DeadlockDetected(
                        "deadlock detected", hint="Another transaction waits for this one: run this one again."
                    )
        finally:
            del self._waits[me]

    def _owner_waits_for(self, thread: int) -> bool:
        """Whether this lock's owner waits, perhaps through others, for a lock that `thread` holds."""
        lock: TableLock | None = self
        for _ in range(len(self._waits) + 1):
            owner = lock._owner if lock is not None else None
            if owner is None or owner == thread:
                return owner == thread
            lock = self._waits.get(owner)
        return False


class TableLocks:
    """A lock per table id, made when first asked for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[int, TableLock] = {}
        self._waits: dict[int, TableLock] = {}

    def of(self, table_id: int) -> TableLock:
        with self._guard:
            return self._locks.setdefault(table_id, TableLock(self._waits))
