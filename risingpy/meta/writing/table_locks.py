"""Locks of tables: many writers of new rows, or one statement that reads before it writes.

INSERT and COPY only append to the log, so they share a table. UPDATE, DELETE, ALTER, DROP and transactions that
write hold it alone. Who waits stands in a queue and comes in its turn, so that nobody waits for ever while others come
and go.

A thread waits for whoever holds what it wants, and for whoever stands before it in the queue and wants what does not go
together with it. When a thread would close a circle of such waits, it gets DeadlockDetected at once. Only one that
begins to wait can close a circle: whoever is given a lock was waited for by those after it already.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from risingpy.errors import DeadlockDetected, QueryCanceled

LOG = logging.getLogger(__name__)

WAIT_SLICE_SECONDS = 0.1  # how often a waiter looks whether it was cancelled
DATABASE_OID = 1  # the only one; as pg_database has it


class LockMode(Enum):
    """The value is what PostgreSQL calls a lock of that strength."""

    SHARED = "RowExclusiveLock"
    ALONE = "ExclusiveLock"


@dataclass(slots=True)
class _Hold:
    """How often an owner has taken a table, by mode: whoever has it alone may share it, and take it again."""

    shared: int = 0
    alone: int = 0

    def covers(self, mode: LockMode) -> bool:
        return self.alone > 0 or (self.shared > 0 and mode is LockMode.SHARED)

    def add(self, mode: LockMode, count: int) -> None:
        if mode is LockMode.ALONE:
            self.alone += count
        else:
            self.shared += count


@dataclass(slots=True)
class _Table:
    """Who holds a table, and who waits for it, the first to come first."""

    table_id: int
    holds: dict[int, _Hold] = field(default_factory=dict)
    queue: list[_Request] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Request:
    """A thread (`owner`) that waits."""

    owner: int
    process_id: int
    table: _Table
    mode: LockMode
    granted: threading.Event = field(default_factory=threading.Event)

    def holders(self) -> list[int]:
        """Who has the table in a way that does not go together with this."""
        wants_alone = self.mode is LockMode.ALONE
        return [
            owner for owner, hold in self.table.holds.items() if owner != self.owner and (wants_alone or hold.alone)
        ]

    def blockers(self) -> list[int]:
        """All that this waits for: holders, and whoever is before it in the queue."""
        found = self.holders()
        for earlier in self.table.queue:
            if earlier is self:
                break
            if LockMode.ALONE in (self.mode, earlier.mode):
                found.append(earlier.owner)
        return found


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A lock that a thread was given; any thread may give it back, once."""

    locks: TableLocks
    owner: int
    table_id: int
    mode: LockMode

    def release(self) -> None:
        self.locks.release(self)


class TableLocks:
    """The locks of all tables of a database."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tables: dict[int, _Table] = {}
        self._waiting: dict[int, _Request] = {}  # by owner: a thread waits for one thing at a time

    def acquire(
        self,
        table_id: int,
        mode: LockMode,
        cancelled: threading.Event | None = None,
        *,
        process_id: int = 0,
    ) -> HeldTable:
        """Waits for its turn. QueryCanceled if `cancelled`; DeadlockDetected if nobody could go on.

        `process_id` is what the client knows the session by; messages name it.
        """
        me = threading.get_ident()
        with self._guard:
            table = self._tables.setdefault(table_id, _Table(table_id))
            request = _Request(me, process_id, table, mode)
            held = table.holds.get(me)
            if (held is not None and held.covers(mode)) or not (table.queue or request.holders()):
                self._give(request)
            else:
                self._enqueue(request, held)
        if not request.granted.is_set():
            self._wait(request, cancelled)
        return HeldTable(self, me, table_id, mode)

    @contextmanager
    def held(
        self,
        table_ids: Iterable[int],
        mode: LockMode,
        cancelled: threading.Event | None = None,
        *,
        process_id: int = 0,
    ) -> Iterator[None]:
        """Acquires tables, those with lower ids first, for the length of a block."""
        with ExitStack() as stack:
            for table_id in sorted(set(table_ids)):
                stack.callback(self.acquire(table_id, mode, cancelled, process_id=process_id).release)
            yield

    def release(self, lock: HeldTable) -> None:
        with self._guard:
            table = self._tables[lock.table_id]
            hold = table.holds[lock.owner]
            hold.add(lock.mode, -1)
            if not (hold.shared or hold.alone):
                del table.holds[lock.owner]
            self._give_in_turn(table)

    # With the guard held

    def _enqueue(self, request: _Request, held: _Hold | None) -> None:
        """Puts it in the queue, or gives it what it wants; DeadlockDetected if it must not wait."""
        queue = request.table.queue
        # Whoever shares the table already goes before those who wait for it to let go: else none of them could go on.
        place = next((k for k, other in enumerate(queue) if held and other.mode is LockMode.ALONE), len(queue))
        queue.insert(place, request)
        self._waiting[request.owner] = request
        self._give_in_turn(request.table)
        if request.granted.is_set():
            return
        circle = self._circle(request)
        if not circle:
            return
        if not request.holders():  # only the order of the queue closes the circle: then it need not be kept
            self._give(request)
            return
        self._forget(request)
        raise self._deadlock(circle)

    def _give(self, request: _Request) -> None:
        request.table.holds.setdefault(request.owner, _Hold()).add(request.mode, 1)
        if request in request.table.queue:
            request.table.queue.remove(request)
            del self._waiting[request.owner]
        request.granted.set()

    def _give_in_turn(self, table: _Table) -> None:
        """Gives the table to all whose turn it is."""
        for request in list(table.queue):
            if not request.blockers():
                self._give(request)
        if not (table.holds or table.queue):
            self._tables.pop(table.table_id, None)

    def _forget(self, request: _Request) -> None:
        request.table.queue.remove(request)
        del self._waiting[request.owner]
        self._give_in_turn(request.table)

    def _circle(self, first: _Request) -> list[_Request]:
        """The waits that lead from `first` back to its owner, in order; none if no such way is there."""
        led_to: dict[int, _Request] = {}  # by owner: whose wait led there
        to_visit = [first]
        while to_visit:
            request = to_visit.pop()
            for owner in request.blockers():
                if owner == first.owner:
                    return _way(led_to, request)
                if owner in self._waiting and owner not in led_to:
                    led_to[owner] = request
                    to_visit.append(self._waiting[owner])
        return []

    @staticmethod
    def _deadlock(circle: list[_Request]) -> DeadlockDetected:
        lines = []
        for request, blocker in zip(circle, [*circle[1:], circle[0]], strict=True):
            lines.append(
                f"Process {request.process_id} waits for {request.mode.value} on relation {request.table.table_id} "
                f"of database {DATABASE_OID}; blocked by process {blocker.process_id}."
            )
        LOG.info("deadlock detected: %s", " ".join(lines))
        return DeadlockDetected("deadlock detected", detail="\n".join(lines), hint="See server log for query details.")

    # Without it

    def _wait(self, request: _Request, cancelled: threading.Event | None) -> None:
        while not request.granted.wait(WAIT_SLICE_SECONDS):
            if cancelled is not None and cancelled.is_set():
                with self._guard:
                    if request.granted.is_set():  # just now: the statement finds out by itself that it was cancelled
                        return
                    self._forget(request)
                raise QueryCanceled("canceling statement due to user request")


def _way(led_to: dict[int, _Request], last: _Request) -> list[_Request]:
    """The requests that led to `last`, and it."""
    way = [last]
    while way[0].owner in led_to:
        way.insert(0, led_to[way[0].owner])
    return way
