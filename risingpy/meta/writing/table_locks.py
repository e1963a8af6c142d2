"""Locks of tables, and of single rows by their keys.

    mode     who                                                        conflicts with
    FORM     who only needs the table to stay as it was planned on      ALONE
    KEYS     who writes few rows, and locks the key of each of them     SHARED, ALONE
    SHARED   COPY and large INSERTs, which only append to the log       KEYS, ALONE
    ALONE    who reads a table before writing to it; ALTER, DROP        all

A key is locked ALONE, by a thread that has its table in mode KEYS: so each conflict with a whole table is found at the
table. Waiting threads are in a queue and get the lock in their order, so that none waits for ever.

A thread waits for the holders of a table or key, and for those before it in the queue, if their modes conflict with its
own.
A thread that would close a circle of such waits gets DeadlockDetected at once. Only a thread that begins to wait can
close a circle: when a thread is given a lock, those after it in the queue were already waiting for it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from risingpy.errors import DeadlockDetected, LockNotAvailable, QueryCanceled
from risingpy.meta.cancellation import CancelFlag, WaitEvent, waiting

LOG = logging.getLogger(__name__)

WAIT_SLICE_SECONDS = 0.1  # how often a waiting thread checks whether it is cancelled
DATABASE_OID = 1  # the oid of the only database in pg_database


class LockMode(Enum):
    """The mode of a lock; the value is PostgreSQL's name for a lock of that strength."""

    FORM = "AccessShareLock"
    KEYS = "RowExclusiveLock"
    SHARED = "ShareLock"
    ALONE = "ExclusiveLock"

    def conflicts(self, other: LockMode) -> bool:
        """Whether two owners cannot have these modes at once."""
        both = (self, other)
        return LockMode.ALONE in both or (LockMode.KEYS in both and LockMode.SHARED in both)


Key = Hashable
"""A row's key, as `row_keys.keys_of` makes it; keys of one table can be sorted. None: the table itself."""


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock that a session has, or waits for since a time (seconds since 1970). Of a row, if `is_row`."""

    table_id: int
    process_id: int
    mode: LockMode
    waits_since: float | None = None
    is_row: bool = False


@dataclass(slots=True)
class _Hold:
    """How often an owner has a lock, by mode. The owner of an exclusive lock may take it again in any mode."""

    process_id: int
    times: dict[LockMode, int] = field(default_factory=dict)

    def covers(self, mode: LockMode) -> bool:
        return mode in self.times or LockMode.ALONE in self.times

    def conflicts(self, mode: LockMode) -> bool:
        return any(held.conflicts(mode) for held in self.times)

    def add(self, mode: LockMode, count: int) -> None:
        left = self.times.get(mode, 0) + count
        if left:
            self.times[mode] = left
        else:
            del self.times[mode]


@dataclass(slots=True)
class _Lock:
    """The holders of a table or of a row's key, and the queue of those who wait for it."""

    table_id: int
    key: Key
    holds: dict[int, _Hold] = field(default_factory=dict)
    queue: list[_Request] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Request:
    """The request of a thread (`owner`) for a lock."""

    owner: int
    process_id: int
    lock: _Lock
    mode: LockMode
    granted: threading.Event = field(default_factory=threading.Event)
    since: float = field(default_factory=time.time)

    def holders(self) -> list[int]:
        """The holders whose mode conflicts with this request."""
        holds = self.lock.holds.items()
        return [owner for owner, hold in holds if owner != self.owner and hold.conflicts(self.mode)]

    def blockers(self) -> list[int]:
        """All for whom this request waits: conflicting holders, and conflicting requests before it in the queue."""
        found = self.holders()
        for earlier in self.lock.queue:
            if earlier is self:
                break
            if self.mode.conflicts(earlier.mode):
                found.append(earlier.owner)
        return found


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that a thread holds; any thread may release it, once."""

    locks: TableLocks
    owner: int
    table_id: int
    mode: LockMode
    key: Key = None

    def release(self) -> None:
        self.locks.release(self)


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The locks of rows that a thread holds; any thread may release them, once."""

    locks: TableLocks
    owner: int
    table_id: int
    keys: Sequence[Key]

    def release(self) -> None:
        self.locks.release_rows(self)


class TableLocks:
    """The locks of all tables of a database, and of their rows."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[tuple[int, Key], _Lock] = {}  # those that somebody holds or waits for
        self._waiting: dict[int, _Request] = {}  # by owner: a thread waits for one thing at a time

    def acquire(
        self,
        table_id: int,
        mode: LockMode,
        cancelled: threading.Event | None = None,
        *,
        key: Key = None,
        process_id: int = 0,
        wait: bool = True,
    ) -> HeldLock:
        """Waits for its turn.

        Raises QueryCanceled if `cancelled`, DeadlockDetected if it would close a circle, LockNotAvailable if it would
        wait longer than the flag's `lock_timeout`, or at all without `wait`.

        With a `key`, locks that row alone, of a table that the thread has in mode KEYS. `process_id` is the session's
        process id as the client knows it; messages name it.
        """
        me = threading.get_ident()
        with self._guard:
            lock = self._locks.get((table_id, key))
            if lock is None:
                lock = self._locks[table_id, key] = _Lock(table_id, key)
            request = _Request(me, process_id, lock, mode)
            held = lock.holds.get(me)
            if (held is not None and held.covers(mode)) or not (lock.queue or request.holders()):
                self._give(request)
            else:
                self._enqueue(request, held)
                if not (wait or request.granted.is_set()):
                    self._forget(request)
                    raise LockNotAvailable("could not obtain the lock")
        if not request.granted.is_set():
            with waiting(cancelled, WaitEvent.TABLE_LOCK):
                self._wait(request, cancelled)
        return HeldLock(self, me, table_id, mode, key)

    def acquire_rows(
        self,
        table_id: int,
        keys: Sequence[Key],
        cancelled: threading.Event | None = None,
        *,
        process_id: int = 0,
    ) -> HeldRows:
        """Locks the rows of these sorted keys, one after another. Raises as `acquire`, and then holds none of them."""
        me, taken = threading.get_ident(), 0
        try:
            while taken < len(keys):
                with self._guard:
                    while taken < len(keys) and (table_id, keys[taken]) not in self._locks:  # as most are: free
                        hold = _Hold(process_id, {LockMode.ALONE: 1})
                        self._locks[table_id, keys[taken]] = _Lock(table_id, keys[taken], {me: hold})
                        taken += 1
                if taken < len(keys):
                    self.acquire(table_id, LockMode.ALONE, cancelled, key=keys[taken], process_id=process_id)
                    taken += 1
        except BaseException:
            HeldRows(self, me, table_id, keys[:taken]).release()
            raise
        return HeldRows(self, me, table_id, keys)

    def take_free_rows(self, table_id: int, keys: Iterable[Key]) -> HeldRows:
        """Locks those of the keys that nobody has, and that nobody waits for: `HeldRows.keys`. Never waits."""
        me = threading.get_ident()
        with self._guard:
            free = [key for key in keys if (table_id, key) not in self._locks]
            for key in free:
                self._locks[table_id, key] = _Lock(table_id, key, {me: _Hold(0, {LockMode.ALONE: 1})})
        return HeldRows(self, me, table_id, free)

    def release_rows(self, held: HeldRows) -> None:
        with self._guard:
            for key in held.keys:
                self._release(self._locks[held.table_id, key], held.owner, LockMode.ALONE)

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

    def covers(self, table_id: int, mode: LockMode, key: Key = None) -> bool:
        """Whether this thread has a lock that is as strong."""
        lock = self._locks.get((table_id, key))  # without the guard: only this thread gives up what it has
        hold = None if lock is None else lock.holds.get(threading.get_ident())
        return hold is not None and hold.covers(mode)

    def release(self, held: HeldLock) -> None:
        with self._guard:
            self._release(self._locks[held.table_id, held.key], held.owner, held.mode)

    def seen(self) -> list[SeenLock]:
        """All locks at this moment: those of tables that sessions have, and those of tables and rows they wait for.

        A row's lock is seen, as in PostgreSQL, only while somebody waits for it.
        """
        found = []
        with self._guard:
            for lock in self._locks.values():
                is_row = lock.key is not None
                if not is_row or lock.queue:
                    for hold in lock.holds.values():
                        found += [SeenLock(lock.table_id, hold.process_id, mode, None, is_row) for mode in hold.times]
                found += [SeenLock(lock.table_id, r.process_id, r.mode, r.since, is_row) for r in lock.queue]
        return found

    # With the guard held

    def _release(self, lock: _Lock, owner: int, mode: LockMode) -> None:
        hold = lock.holds[owner]
        hold.add(mode, -1)
        if not hold.times:
            del lock.holds[owner]
        if lock.queue:
            self._give_in_turn(lock)
        elif not lock.holds:
            del self._locks[lock.table_id, lock.key]

    def _enqueue(self, request: _Request, held: _Hold | None) -> None:
        """Grants the request, or puts it in the queue. Raises DeadlockDetected if it must not wait."""
        queue = request.lock.queue
        # A holder that asks again goes before those who wait for it to release the lock: else none could continue.
        place = next((k for k, other in enumerate(queue) if held and held.conflicts(other.mode)), len(queue))
        queue.insert(place, request)
        self._waiting[request.owner] = request
        self._give_in_turn(request.lock)
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
        request.lock.holds.setdefault(request.owner, _Hold(request.process_id)).add(request.mode, 1)
        if request in request.lock.queue:
            request.lock.queue.remove(request)
            del self._waiting[request.owner]
        request.granted.set()

    def _give_in_turn(self, lock: _Lock) -> None:
        """Grants all requests that nothing blocks any more."""
        for request in list(lock.queue):
            if not request.blockers():
                self._give(request)
            elif request.mode is LockMode.ALONE:
                break  # all later requests wait for it
        if not (lock.holds or lock.queue):
            self._locks.pop((lock.table_id, lock.key), None)

    def _forget(self, request: _Request) -> None:
        request.lock.queue.remove(request)
        del self._waiting[request.owner]
        self._give_in_turn(request.lock)

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
            row = "" if request.lock.key is None else "a row of "
            lines.append(
                f"Process {request.process_id} waits for {request.mode.value} on {row}relation {request.lock.table_id} "
                f"of database {DATABASE_OID}; blocked by process {blocker.process_id}."
            )
        LOG.info("deadlock detected: %s", " ".join(lines))
        return DeadlockDetected("deadlock detected", detail="\n".join(lines), hint="See server log for query details.")

    # Without it

    def _wait(self, request: _Request, cancelled: threading.Event | None) -> None:
        milliseconds = cancelled.lock_timeout() if isinstance(cancelled, CancelFlag) else 0
        until = time.monotonic() + milliseconds / 1000 if milliseconds else math.inf
        while not request.granted.wait(min(WAIT_SLICE_SECONDS, max(until - time.monotonic(), 0))):
            is_cancelled = cancelled is not None and cancelled.is_set()
            if is_cancelled or time.monotonic() >= until:
                with self._guard:
                    if request.granted.is_set():  # granted just now; the statement itself notices that it is cancelled
                        return
                    self._forget(request)
                if is_cancelled:
                    raise QueryCanceled("canceling statement due to user request")
                raise LockNotAvailable("canceling statement due to lock timeout")


def _way(led_to: dict[int, _Request], last: _Request) -> list[_Request]:
    """The requests that led to `last`, and it."""
    way = [last]
    while way[0].owner in led_to:
        way.insert(0, led_to[way[0].owner])
    return way
