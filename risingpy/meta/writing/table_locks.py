"""Locks of tables: many writers of new rows, or one statement that reads before it writes.

INSERT and COPY only append to the log, so they share a table. UPDATE, DELETE, ALTER, DROP and transactions that
write hold it alone. Waiting threads are in a queue and get the lock in their order, so that none waits for ever.

A thread waits for the holders of the table, and for those before it in the queue, if their modes conflict with its own.
A thread that would close a circle of such waits gets DeadlockDetected at once. Only a thread that begins to wait can
close a circle: when a thread is given a lock, those after it in the queue were already waiting for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from risingpy.errors import DeadlockDetected, QueryCanceled
from risingpy.meta.cancellation import WaitEvent, waiting

LOG = logging.getLogger(__name__)

WAIT_SLICE_SECONDS = 0.1  # how often a waiting thread checks whether it is cancelled
DATABASE_OID = 1  # the oid of the only database in pg_database


class LockMode(Enum):
    """The mode of a lock; the value is PostgreSQL's name for a lock of that strength."""

    SHARED = "RowExclusiveLock"
    ALONE = "ExclusiveLock"


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock that a session has, or waits for since a time (seconds since 1970)."""

    table_id: int
    process_id: int
    mode: LockMode
    waits_since: float | None = None


@dataclass(slots=True)
class _Hold:
    """How often an owner has taken a table, by mode. The owner of an exclusive lock may take it again in any mode."""

    process_id: int
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
    """A table's holders, and the queue of those who wait for it."""

    table_id: int
    holds: dict[int, _Hold] = field(default_factory=dict)
    queue: list[_Request] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Request:
    """The request of a thread (`owner`) that waits for a table."""

    owner: int
    process_id: int
    table: _Table
    mode: LockMode
    granted: threading.Event = field(default_factory=threading.Event)
    since: float = field(default_factory=time.time)

    def holders(self) -> list[int]:
        """The holders of the table whose mode conflicts with this request."""
        wants_alone = self.mode is LockMode.ALONE
        return [
            owner for owner, hold in self.table.holds.items() if owner != self.owner and (wants_alone or hold.alone)
        ]

    def blockers(self) -> list[int]:
        """All for whom this request waits: conflicting holders, and conflicting requests before it in the queue."""
        found = self.holders()
        for earlier in self.table.queue:
            if earlier is self:
                break
            if LockMode.ALONE in (self.mode, earlier.mode):
                found.append(earlier.owner)
        return found


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A lock that a thread holds; any thread may release it, once."""

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
        """Waits for its turn. Raises QueryCanceled if `cancelled`, DeadlockDetected if it would close a circle.

        `process_id` is the session's process id as the client knows it; messages name it.
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
            with waiting(cancelled, WaitEvent.TABLE_LOCK):
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
        """Holds tables for the length of a block. Acquires those with lower ids first."""
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

    def seen(self) -> list[SeenLock]:
        """All locks at this moment: of each table those that sessions have, then those they wait for."""
        found = []
        with self._guard:
            for table in self._tables.values():
                for hold in table.holds.values():
                    modes = ((hold.shared, LockMode.SHARED), (hold.alone, LockMode.ALONE))
                    found += [SeenLock(table.table_id, hold.process_id, mode) for count, mode in modes if count]
                found += [SeenLock(table.table_id, r.process_id, r.mode, r.since) for r in table.queue]
        return found

    # With the guard held

    def _enqueue(self, request: _Request, held: _Hold | None) -> None:
        """Grants the request, or puts it in the queue. Raises DeadlockDetected if it must not wait."""
        queue = request.table.queue
        # A holder that asks again goes before those who wait for it to release the table: else none could continue.
        place = next((k for k, other in enumerate(queue) if held and other.mode is LockMode.ALONE), len(queue))
        queue.insert(place, request)
        self._waiting[request.owner] = request
        self._give_in_turn(request.table)
        if request.granted.is_set():
            return
        circle = self._circle(request)
        if not circle:
            return
        if not request.holders():  # only the order of the queue closes the circle, so the request may overtake it
            self._give(request)
            return
        self._forget(request)
        raise self._deadlock(circle)

    def _give(self, request: _Request) -> None:
        request.table.holds.setdefault(request.owner, _Hold(request.process_id)).add(request.mode, 1)
        if request in request.table.queue:
            request.table.queue.remove(request)
            del self._waiting[request.owner]
        request.granted.set()

    def _give_in_turn(self, table: _Table) -> None:
        """Grants all requests that nothing blocks any more."""
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
        """The waits that lead from `first` back to its owner, in order; empty if they lead nowhere."""
        led_to: dict[int, _Request] = {}  # by owner: the request that waits for that owner
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
                    if request.granted.is_set():  # granted just now; the statement itself notices that it is cancelled
                        return
                    self._forget(request)
                raise QueryCanceled("canceling statement due to user request")


def _way(led_to: dict[int, _Request], last: _Request) -> list[_Request]:
    """The requests that led to `last`, and it."""
    way = [last]
    while way[0].owner in led_to:
        way.insert(0, led_to[way[0].owner])
    return way
