"""What a lock is made of: its holders, and the queue of those who wait for it. `table_locks` gives and takes them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum

from risingpy.errors import DeadlockDetected
from risingpy.meta.writing.advisory_locks import AdvisoryKey

LOG = logging.getLogger(__name__)

DATABASE_OID = 1  # the oid of the only database in pg_database


class LockMode(Enum):
    """The mode of a lock; the value is PostgreSQL's name for a lock of that strength."""

    FORM = "AccessShareLock"
    KEYS = "RowExclusiveLock"
    SHARED = "ShareLock"
    ALONE = "ExclusiveLock"

    __hash__ = object.__hash__  # Enum's own is a function in Python, and each lock is looked up by its mode

    def conflicts(self, other: LockMode) -> bool:
        """Whether two owners cannot have these modes at once."""
        return other in _CONFLICTS[self]


_CONFLICTS = {
    LockMode.FORM: frozenset({LockMode.ALONE}),
    LockMode.KEYS: frozenset({LockMode.SHARED, LockMode.ALONE}),
    LockMode.SHARED: frozenset({LockMode.KEYS, LockMode.ALONE}),
    LockMode.ALONE: frozenset(LockMode),
}


Key = Hashable
"""A row's key, as `row_keys.keys_of` makes it; keys of one table can be sorted. None: the table itself."""


@dataclass(slots=True)
class Hold:
    """How often an owner has a lock, by mode. The owner of an exclusive lock may take it again in any mode.

    It `commits` if the owner's transaction has begun to become durable: who follows it need not wait for the disk.
    """

    process_id: int
    times: dict[LockMode, int] = field(default_factory=dict)
    commits: bool = False
    since: float = field(default_factory=time.time)

    def covers(self, mode: LockMode) -> bool:
        return mode in self.times or LockMode.ALONE in self.times

    def conflicts(self, mode: LockMode) -> bool:
        return not _CONFLICTS[mode].isdisjoint(self.times)

    def add(self, mode: LockMode, count: int) -> None:
        left = self.times.get(mode, 0) + count
        if left:
            self.times[mode] = left
        else:
            del self.times[mode]


@dataclass(slots=True)
class Lock:
    """The holders of a table or of a row's key, and the queue of those who wait for it."""

    table_id: int
    key: Key
    holds: dict[int, Hold] = field(default_factory=dict)
    queue: list[LockRequest] = field(default_factory=list)

    def is_free_for(self, owner: int, mode: LockMode, *, follows: bool) -> bool:
        """Whether the owner may have it now."""
        held = self.holds.get(owner)
        if held is not None and held.covers(mode):
            return True
        if self.queue:
            return False
        conflicts = _CONFLICTS[mode]  # of a table that all write to, there are as many holders as sessions
        for each, hold in self.holds.items():
            if not conflicts.isdisjoint(hold.times) and each != owner and not (follows and hold.commits):
                return False
        return True

    def holders(self, owner: int, mode: LockMode, *, follows: bool) -> list[int]:
        """Who else has it in a mode that conflicts with this one."""
        holds = self.holds.items()
        return [each for each, hold in holds if each != owner and self._conflicts(hold, mode, follows)]

    @staticmethod
    def _conflicts(hold: Hold, mode: LockMode, follows: bool) -> bool:
        return hold.conflicts(mode) and not (follows and hold.commits)


@dataclass(slots=True, eq=False)
class LockRequest:
    """The request of an `owner` for a lock. One that `follows` may have what somebody has whose transaction commits.

    `then` is called when the lock is given, under the guard of all locks: it must not block, or ask for locks.
    """

    owner: int
    process_id: int
    lock: Lock
    mode: LockMode
    follows: bool = False
    then: Callable[[], None] | None = None
    granted: threading.Event = field(default_factory=threading.Event)
    since: float = field(default_factory=time.time)

    def holders(self) -> list[int]:
        """The holders whose mode conflicts with this request."""
        return self.lock.holders(self.owner, self.mode, follows=self.follows)

    def blocking_processes(self) -> set[int]:
        """The sessions of `blockers`."""
        owners = set(self.blockers())
        held = {hold.process_id for owner, hold in self.lock.holds.items() if owner in owners}
        return held | {each.process_id for each in self.lock.queue if each.owner in owners}

    def blockers(self) -> list[int]:
        """All for whom this request waits: conflicting holders, and conflicting requests before it in the queue."""
        found = self.holders()
        for earlier in self.lock.queue:
            if earlier is self:
                break
            if self.mode.conflicts(earlier.mode):
                found.append(earlier.owner)
        return found


def circle_of(first: LockRequest, waiting: dict[int, LockRequest]) -> list[LockRequest]:
    """The waits that lead from `first` back to its owner, in order; empty if they lead nowhere.

    `waiting` has the request of each owner that waits.
    """
    led_to: dict[int, LockRequest] = {}  # by owner: the request that waits for that owner
    to_visit = [first]
    # All before it in the queue of a lock that it wants alone wait for no one but its holders, and for each other.
    leads_by_holders = first.mode is LockMode.ALONE and first.owner not in first.lock.holds
    while to_visit:
        request = to_visit.pop()
        for owner in request.holders() if request is first and leads_by_holders else request.blockers():
            if owner == first.owner:
                return _way(led_to, request)
            if owner in waiting and owner not in led_to:
                led_to[owner] = request
                to_visit.append(waiting[owner])
    return []


def deadlock(circle: list[LockRequest]) -> DeadlockDetected:
    """The error of a circle of waits, which the server's log has, too."""
    lines = []
    for request, blocker in zip(circle, [*circle[1:], circle[0]], strict=True):
        waits = f"Process {request.process_id} waits for {request.mode.value} on {_shown(request.lock)}"
        lines.append(f"{waits}; blocked by process {blocker.process_id}.")
    LOG.info("deadlock detected: %s", " ".join(lines))
    return DeadlockDetected("deadlock detected", detail="\n".join(lines), hint="See server log for query details.")


def _shown(lock: Lock) -> str:
    """What is locked, in PostgreSQL's words."""
    if isinstance(lock.key, AdvisoryKey):
        return f"advisory lock [{','.join(map(str, lock.key.fields))}]"
    row = "" if lock.key is None else "a row of "
    return f"{row}relation {lock.table_id} of database {DATABASE_OID}"


def _way(led_to: dict[int, LockRequest], last: LockRequest) -> list[LockRequest]:
    """The requests that led to `last`, and it."""
    way = [last]
    while way[0].owner in led_to:
        way.insert(0, led_to[way[0].owner])
    return way
