"""Locks of tables, and of single rows by their keys.

    mode     who                                                        conflicts with
    FORM     who only needs the table to stay as it was planned on      ALONE
    KEYS     who writes few rows, and locks the key of each of them     SHARED, ALONE
    SHARED   COPY and large INSERTs, which only append to the log       KEYS, ALONE
    ALONE    who reads a table before writing to it; ALTER, DROP        all

A lock belongs to a session, whatever thread serves it; where there is no session, to the thread. A key is locked ALONE,
by an owner that has its table in mode KEYS: so each conflict with a whole table is found at the table. An advisory lock
has no such table, and is SHARED or ALONE. Those who wait are in a queue and get the lock in their order, so that none
waits for ever.

An owner waits for the holders of a table or key, and for those before it in the queue, if their modes conflict with its
own. Who would close a circle of such waits gets DeadlockDetected at once. Only who begins to wait can close a circle:
when one is given a lock, those after it in the queue were already waiting for it.

A transaction that has begun to become durable keeps its rows until it is, but passes them on (`pass_on`) to those who
follow it: they read what it has written where it waits for the disk, and become durable after it, or not at all.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from risingpy.errors import LockNotAvailable, QueryCanceled
from risingpy.meta.cancellation import CancelFlag, WaitEvent, waiting
from risingpy.meta.writing.advisory_locks import ADVISORY
from risingpy.meta.writing.lock_requests import Hold, Key, Lock, LockMode, LockRequest, circle_of, deadlock
from risingpy.meta.writing.seen_locks import SeenLock

__all__ = ["HeldLock", "HeldRows", "Key", "LockMode", "LockRequest", "TableLocks"]

_ALONE_ONCE = {LockMode.ALONE: 1}
WAIT_SLICE_SECONDS = 0.1  # how often a waiting thread checks whether it is cancelled


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that somebody holds; any thread may release it, once."""

    locks: TableLocks
    owner: int
    table_id: int
    mode: LockMode
    key: Key = None

    def release(self) -> None:
        self.locks.release(self)


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The locks of rows that somebody holds; any thread may release them, once."""

    locks: TableLocks
    owner: int
    table_id: int
    keys: Sequence[Key]

    def release(self) -> None:
        self.locks.release_rows(self)


class TableLocks:
    """The locks of all tables of a database, and of their rows.

    `process_id` is a session's process id as the client knows it, which messages name: it owns what it takes. 0: this
    thread does.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[tuple[int, Key], Lock] = {}  # those that somebody holds or waits for
        self._waiting: dict[int, LockRequest] = {}  # by owner: each waits for one thing at a time

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

        With a `key`, locks that row alone, of a table that the owner has in mode KEYS.
        """
        owner = _owner(process_id)
        with self._guard:
            request = LockRequest(owner, process_id, self._lock(table_id, key), mode)
            self._ask(request)
            if not (wait or request.granted.is_set()):
                self._forget(request)
                raise LockNotAvailable("could not obtain the lock")
        if not request.granted.is_set():
            with waiting(cancelled, WaitEvent.ADVISORY_LOCK if table_id == ADVISORY else WaitEvent.TABLE_LOCK):
                self._wait(request, cancelled)
        return HeldLock(self, owner, table_id, mode, key)

    def take(
        self, table_id: int, mode: LockMode, key: Key = None, *, process_id: int, follows: bool
    ) -> HeldLock | None:
        """Takes a lock, perhaps once more, if that needs no waiting; else None. See `LockRequest` for who `follows`."""
        owner = _owner(process_id)
        with self._guard:
            lock = self._locks.get((table_id, key))
            if lock is None:
                lock = self._locks[table_id, key] = Lock(table_id, key)
            elif not lock.is_free_for(owner, mode, follows=follows):
                return None
            hold = lock.holds.get(owner)
            if hold is None:
                lock.holds[owner] = Hold(process_id, {mode: 1})
            else:
                hold.add(mode, 1)
        return HeldLock(self, owner, table_id, mode, key)

    def take_free(self, table_id: int, key: Key, *, process_id: int) -> HeldLock | None:
        """Takes a row alone that nobody has or waits for, the owner neither; else None."""
        owner = _owner(process_id)
        with self._guard:
            if (table_id, key) in self._locks:
                return None
            self._locks[table_id, key] = Lock(table_id, key, {owner: Hold(process_id, {LockMode.ALONE: 1})})
        return HeldLock(self, owner, table_id, LockMode.ALONE, key)

    def ask(
        self, table_id: int, mode: LockMode, key: Key, then: Callable[[], None], *, process_id: int, follows: bool
    ) -> LockRequest:
        """Waits for a lock without a thread: `then` is called when it is there, perhaps before this returns.

        See `LockRequest` for what `then` may do. Raises DeadlockDetected.
        """
        with self._guard:
            lock = self._lock(table_id, key)
            request = LockRequest(_owner(process_id), process_id, lock, mode, follows=follows, then=then)
            self._ask(request)
        return request

    def withdraw(self, request: LockRequest) -> bool:
        """Waits no longer. False if it did not: the lock has been given (`held_by`), or this was called before."""
        with self._guard:
            if request.granted.is_set() or request not in request.lock.queue:
                return False
            self._forget(request)
            return True

    def held_by(self, request: LockRequest) -> HeldLock:
        """The lock that a request got."""
        return HeldLock(self, request.owner, request.lock.table_id, request.mode, request.lock.key)

    def pass_on(self, held: Iterable[HeldLock]) -> None:
        """The holder's transaction commits: those who follow it may have these locks, too, from now on."""
        with self._guard:
            for each in held:
                lock = self._locks[each.table_id, each.key]
                lock.holds[each.owner].commits = True
                if lock.queue:
                    self._give_in_turn(lock)

    def acquire_rows(
        self,
        table_id: int,
        keys: Sequence[Key],
        cancelled: threading.Event | None = None,
        *,
        process_id: int = 0,
    ) -> HeldRows:
        """Locks the rows of these sorted keys, one after another. Raises as `acquire`, and then holds none of them."""
        owner, taken = _owner(process_id), 0
        try:
            while taken < len(keys):
                with self._guard:
                    while taken < len(keys) and (table_id, keys[taken]) not in self._locks:  # as most are: free
                        hold = Hold(process_id, {LockMode.ALONE: 1})
                        self._locks[table_id, keys[taken]] = Lock(table_id, keys[taken], {owner: hold})
                        taken += 1
                if taken < len(keys):
                    self.acquire(table_id, LockMode.ALONE, cancelled, key=keys[taken], process_id=process_id)
                    taken += 1
        except BaseException:
            HeldRows(self, owner, table_id, keys[:taken]).release()
            raise
        return HeldRows(self, owner, table_id, keys)

    def take_free_rows(self, table_id: int, keys: Iterable[Key]) -> HeldRows:
        """Locks, for this thread, those of the keys that nobody has or waits for: `HeldRows.keys`. Never waits."""
        owner, now = _owner(0), time.time()
        with self._guard:
            locks = self._locks
            free = [key for key in keys if (table_id, key) not in locks]
            for key in free:
                hold = Hold(0, {LockMode.ALONE: 1}, since=now)
                locks[table_id, key] = Lock(table_id, key, {owner: hold}, [])
        return HeldRows(self, owner, table_id, free)

    def release_rows(self, held: HeldRows) -> None:
        with self._guard:
            self._release_rows(held)

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

    def covers(self, table_id: int, mode: LockMode, key: Key = None, *, process_id: int) -> bool:
        """Whether the owner has a lock that is as strong."""
        lock = self._locks.get((table_id, key))  # without the guard: only its owner gives up what it has
        hold = None if lock is None else lock.holds.get(_owner(process_id))
        return hold is not None and hold.covers(mode)

    def release(self, held: HeldLock) -> None:
        with self._guard:
            self._release(self._locks[held.table_id, held.key], held.owner, held.mode)

    def release_all(self, held: Iterable[HeldLock | HeldRows]) -> None:
        """Releases many at once."""
        with self._guard:
            for each in held:
                if isinstance(each, HeldRows):
                    self._release_rows(each)
                else:
                    self._release(self._locks[each.table_id, each.key], each.owner, each.mode)

    def seen(self) -> list[SeenLock]:
        """All locks at this moment: those that sessions have, and those that they wait for."""
        found = []
        with self._guard:  # which all writers take: texts are made of this later
            for lock in self._locks.values():
                awaited = bool(lock.queue)
                for hold in lock.holds.values():
                    for mode in hold.times:
                        found.append(
                            SeenLock(lock.table_id, lock.key, hold.process_id, mode.value, hold.since, True, awaited)
                        )
                for each in lock.queue:
                    blocked_by = tuple(sorted(each.blocking_processes()))
                    who = each.process_id, each.mode.value, each.since
                    found.append(SeenLock(lock.table_id, lock.key, *who, False, True, blocked_by))
        return found

    def blocking(self, process_id: int) -> list[int]:
        """The sessions for which this one waits: holders, and those before it in a queue. Each once, sorted."""
        with self._guard:
            waiting = [each for lock in self._locks.values() for each in lock.queue if each.process_id == process_id]
            return sorted({blocker for request in waiting for blocker in request.blocking_processes()})

    # With the guard held

    def _lock(self, table_id: int, key: Key) -> Lock:
        lock = self._locks.get((table_id, key))
        if lock is None:
            lock = self._locks[table_id, key] = Lock(table_id, key)
        return lock

    def _ask(self, request: LockRequest) -> None:
        """Grants the request, or puts it in the queue. Raises DeadlockDetected if it must not wait."""
        lock = request.lock
        if lock.is_free_for(request.owner, request.mode, follows=request.follows):
            self._give(request)
            return
        queue, held = lock.queue, lock.holds.get(request.owner)
        # A holder that asks again goes before those who wait for it to release the lock: else none could continue.
        place = next((k for k, other in enumerate(queue) if held and held.conflicts(other.mode)), len(queue))
        queue.insert(place, request)
        self._waiting[request.owner] = request
        if held is not None or request.mode is not LockMode.ALONE:  # else it conflicts with all who are there
            self._give_in_turn(lock)
            if request.granted.is_set():
                return
        circle = circle_of(request, self._waiting)
        if not circle:
            return
        if not request.holders():  # only the order of the queue closes the circle, so the request may overtake it
            self._give(request)
            return
        self._forget(request)
        raise deadlock(circle)

    def _release_rows(self, held: HeldRows) -> None:
        locks, table_id, owner = self._locks, held.table_id, held.owner
        for key in held.keys:
            lock = locks[table_id, key]
            if not lock.queue and lock.holds[owner].times == _ALONE_ONCE and len(lock.holds) == 1:  # as most are
                del locks[table_id, key]
            else:
                self._release(lock, owner, LockMode.ALONE)

    def _release(self, lock: Lock, owner: int, mode: LockMode) -> None:
        hold = lock.holds[owner]
        hold.add(mode, -1)
        if not hold.times:
            del lock.holds[owner]
        if lock.queue:
            self._give_in_turn(lock)
        elif not lock.holds:
            del self._locks[lock.table_id, lock.key]

    def _give(self, request: LockRequest) -> None:
        request.lock.holds.setdefault(request.owner, Hold(request.process_id)).add(request.mode, 1)
        if request in request.lock.queue:
            request.lock.queue.remove(request)
            del self._waiting[request.owner]
        request.granted.set()
        if request.then is not None:
            request.then()

    def _give_in_turn(self, lock: Lock) -> None:
        """Grants all requests that nothing blocks any more."""
        for request in list(lock.queue):
            if not request.blockers():
                self._give(request)
            elif request.mode is LockMode.ALONE:
                break  # all later requests wait for it
        if not (lock.holds or lock.queue):
            self._locks.pop((lock.table_id, lock.key), None)

    def _forget(self, request: LockRequest) -> None:
        request.lock.queue.remove(request)
        del self._waiting[request.owner]
        self._give_in_turn(request.lock)

    # Without it

    def _wait(self, request: LockRequest, cancelled: threading.Event | None) -> None:
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


def _owner(process_id: int) -> int:
    """Who owns what is taken: a session, or without one this thread."""
    return process_id or -threading.get_ident()
