"""Locks that belong to sessions: asked for without a thread, withdrawn, and passed on by transactions that commit."""

from __future__ import annotations

import threading

import pytest

from risingpy.errors import DeadlockDetected
from risingpy.meta.writing.table_locks import HeldLock, LockMode, TableLocks

KEYS, ALONE = LockMode.KEYS, LockMode.ALONE
TABLE, KEY = 16384, (1,)
ONE, TWO, THREE = 101, 102, 103


@pytest.fixture
def locks() -> TableLocks:
    return TableLocks()


def _take(locks: TableLocks, process_id: int, key: tuple[int, ...] = KEY) -> HeldLock | None:
    return locks.take(TABLE, ALONE, key, process_id=process_id, follows=True)


def _taken(locks: TableLocks, process_id: int, key: tuple[int, ...] = KEY) -> HeldLock:
    held = _take(locks, process_id, key)
    assert held is not None
    return held


def test_a_session_has_its_locks_in_every_thread(locks: TableLocks) -> None:
    held = [_taken(locks, ONE)]

    def again() -> None:
        held.append(locks.acquire(TABLE, ALONE, key=KEY, process_id=ONE))

    thread = threading.Thread(target=again)
    thread.start()
    thread.join(10)
    assert len(held) == 2
    assert locks.covers(TABLE, ALONE, KEY, process_id=ONE) and not locks.covers(TABLE, ALONE, KEY, process_id=TWO)
    assert _take(locks, TWO) is None  # though this thread is the one that took it
    locks.release_all(held)
    assert _take(locks, TWO) is not None


def test_who_asks_is_called_in_turn(locks: TableLocks) -> None:
    held, called = _taken(locks, ONE), list[int]()
    requests = [
        locks.ask(TABLE, ALONE, KEY, lambda each=each: called.append(each), process_id=each, follows=True)  # type: ignore[misc]
        for each in (TWO, THREE)
    ]
    assert not called and _take(locks, 104) is None
    assert locks.blocking(TWO) == [ONE] and locks.blocking(THREE) == [ONE, TWO]
    held.release()
    assert called == [TWO]
    locks.held_by(requests[0]).release()
    assert called == [TWO, THREE]
    locks.held_by(requests[1]).release()
    assert not locks.seen() and _take(locks, 104) is not None


def test_a_free_lock_is_given_at_once(locks: TableLocks) -> None:
    called: list[int] = []
    request = locks.ask(TABLE, ALONE, KEY, lambda: called.append(1), process_id=ONE, follows=True)
    assert called == [1] and not locks.withdraw(request)
    locks.held_by(request).release()
    assert not locks.seen()


def test_a_request_is_withdrawn_once(locks: TableLocks) -> None:
    held, called = _taken(locks, ONE), list[int]()
    request = locks.ask(TABLE, ALONE, KEY, lambda: called.append(1), process_id=TWO, follows=True)
    assert locks.withdraw(request) and not locks.withdraw(request)
    held.release()
    assert not called and _take(locks, THREE) is not None


def test_a_circle_is_refused(locks: TableLocks) -> None:
    _taken(locks, ONE, (1,)), _taken(locks, TWO, (2,))
    locks.ask(TABLE, ALONE, (2,), lambda: None, process_id=ONE, follows=True)
    with pytest.raises(DeadlockDetected):
        locks.ask(TABLE, ALONE, (1,), lambda: None, process_id=TWO, follows=True)


def test_who_follows_has_what_a_commit_passes_on(locks: TableLocks) -> None:
    first, called = _taken(locks, ONE), list[int]()
    second = locks.ask(TABLE, ALONE, KEY, lambda: called.append(TWO), process_id=TWO, follows=True)
    locks.pass_on([first])
    assert called == [TWO]
    assert _take(locks, THREE) is None  # the second does not commit yet
    third = locks.ask(TABLE, ALONE, KEY, lambda: called.append(THREE), process_id=THREE, follows=False)
    locks.pass_on([locks.held_by(second)])
    assert called == [TWO]  # the third does not follow: it waits for the disk
    first.release()
    assert called == [TWO]
    locks.held_by(second).release()
    assert called == [TWO, THREE]
    locks.held_by(third).release()
    assert not locks.seen()


def test_a_table_is_not_passed_on(locks: TableLocks) -> None:
    table = locks.take(TABLE, KEYS, process_id=ONE, follows=True)
    row = _taken(locks, ONE)
    assert table is not None
    locks.pass_on([row])
    assert locks.take(TABLE, ALONE, process_id=TWO, follows=True) is None
    assert locks.take(TABLE, KEYS, process_id=TWO, follows=True) is not None
