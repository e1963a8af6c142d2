"""Locks of tables: which threads wait, in which order they get a lock, and that no circle of waits stays."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from risingpy.errors import DeadlockDetected, QueryCanceled, SqlError
from risingpy.meta.writing.table_locks import HeldLock, LockMode, TableLocks
from tests.meta.conftest import Client, Server

FORM, KEYS, SHARED, ALONE = LockMode.FORM, LockMode.KEYS, LockMode.SHARED, LockMode.ALONE
A, B, C = 16384, 16385, 16386
LONGEST_WAIT_SECONDS = 8.0  # of the stress: each holds a lock for some 10 ms, and the machine may be busy


class Worker:
    """A thread that takes and gives back locks when it is told to."""

    def __init__(self, locks: TableLocks, process_id: int) -> None:
        self.locks = locks
        self.process_id = process_id
        self.cancelled = threading.Event()
        self.held: dict[int, HeldLock] = {}
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._jobs: list[Callable[[], None]] = []
        self._has_job = threading.Semaphore(0)
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def take(self, table: int, mode: LockMode) -> bool:
        """Whether it got the lock, or an error, within a moment; else it waits."""

        def job() -> None:
            self.held[table] = self.locks.acquire(table, mode, self.cancelled, process_id=self.process_id)

        self._done.clear()
        self._jobs.append(job)
        self._has_job.release()
        return self.has_ended(0.05)

    def has_ended(self, seconds: float = 2.0) -> bool:
        return self._done.wait(seconds)

    def let_go(self) -> None:
        for held in self.held.values():
            held.release()
        self.held = {}

    def _run(self) -> None:
        while True:
            self._has_job.acquire()
            try:
                self._jobs.pop()()
            except SqlError as error:
                self.error = error
            self._done.set()


@pytest.fixture
def workers() -> list[Worker]:
    locks = TableLocks()
    return [Worker(locks, 101 + number) for number in range(4)]


def test_sharers_do_not_wait_for_each_other_and_others_do(workers: list[Worker]) -> None:
    one, two, three, _ = workers
    assert one.take(A, SHARED) and two.take(A, SHARED)
    assert not three.take(A, ALONE)
    one.let_go()
    assert not three.has_ended(0.05)
    two.let_go()
    assert three.has_ended()


def test_the_owner_may_come_again_and_share() -> None:
    locks = TableLocks()
    with locks.held((A,), ALONE), locks.held((A, B), ALONE), locks.held((A,), SHARED):
        pass
    with locks.held((A,), SHARED), locks.held((A,), ALONE):  # nobody else shares it
        pass
    assert not locks._locks  # what nobody wants is forgotten


def test_modes_conflict_as_the_table_says(workers: list[Worker]) -> None:
    conflicts = {FORM: {ALONE}, KEYS: {SHARED, ALONE}, SHARED: {KEYS, ALONE}, ALONE: set(LockMode)}
    for held, wanted in itertools.product(LockMode, LockMode):
        assert held.conflicts(wanted) == (wanted in conflicts[held])
    one, two, three, _ = workers
    for table, (held, wanted) in enumerate(itertools.combinations(LockMode, 2)):
        assert one.take(table, held)
        assert two.take(table, wanted) == (wanted not in conflicts[held])
        if wanted in conflicts[held]:
            assert not three.take(table, held)  # nobody overtakes who waits
            one.let_go()
            assert two.has_ended()
            two.let_go()
            assert three.has_ended()
        two.let_go()
        for worker in (one, three):
            worker.let_go()


def test_rows_are_locked_one_by_one() -> None:
    locks = TableLocks()
    got: list[int] = []

    def take(key: int) -> None:
        with locks.held((A,), KEYS):
            lock = locks.acquire(A, ALONE, key=(key,), process_id=key)
            got.append(key)
            lock.release()

    with locks.held((A,), KEYS):
        mine = locks.acquire(A, ALONE, key=(1,), process_id=9)
        again = locks.acquire(A, ALONE, key=(1,), process_id=9)
        assert [(lock.is_row, lock.is_awaited) for lock in locks.seen()] == [(False, False), (True, False)]
        threads = [threading.Thread(target=take, args=(key,)) for key in (1, 2)]
        for thread in threads:
            thread.start()
        threads[1].join(5)
        threads[0].join(0.2)
        assert got == [2]
        rows = [(lock.process_id, lock.waits_since is None) for lock in locks.seen() if lock.is_row]
        assert rows == [(9, True), (1, False)]
        assert [(lock.is_awaited, lock.blocked_by) for lock in locks.seen() if lock.is_row] == [
            (True, ()),
            (True, (9,)),
        ]
        again.release()
        threads[0].join(0.2)
        assert got == [2]
        mine.release()
        threads[0].join(5)
    assert got == [2, 1]
    assert not locks._locks


def test_whoever_waits_comes_in_turn(workers: list[Worker]) -> None:
    """A stream of INSERTs starves no ALTER, one of ALTERs no INSERT."""
    one, two, three, four = workers
    assert one.take(A, SHARED)
    assert not two.take(A, ALONE)
    assert not three.take(A, SHARED)
    assert not four.take(A, ALONE)
    one.let_go()
    assert two.has_ended() and not three.has_ended(0.05)
    two.let_go()
    assert three.has_ended() and not four.has_ended(0.05)
    three.let_go()
    assert four.has_ended()


def test_a_loop_of_short_holds_does_not_starve_who_waits() -> None:
    locks, stop, taken = TableLocks(), threading.Event(), Counter[str]()

    def again_and_again(name: str) -> None:
        while not stop.is_set():
            with locks.held((A,), ALONE):
                taken[name] += 1
                time.sleep(0.001)

    threads = [threading.Thread(target=again_and_again, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert min(taken.values()) * 2 > max(taken.values()), taken


def test_a_waiter_can_be_cancelled(workers: list[Worker]) -> None:
    one, two, three, _ = workers
    assert one.take(A, SHARED)
    assert not two.take(A, ALONE)
    assert not three.take(A, SHARED)
    two.cancelled.set()
    assert two.has_ended() and isinstance(two.error, QueryCanceled)
    assert three.has_ended() and three.error is None  # the waiter that gave up blocks nobody


def test_two_that_wait_for_each_other(workers: list[Worker]) -> None:
    one, two, _, _ = workers
    assert one.take(A, ALONE) and two.take(B, ALONE)
    assert not one.take(B, ALONE)
    assert two.take(A, ALONE)
    assert isinstance(two.error, DeadlockDetected)
    assert two.error.message == "deadlock detected"
    assert two.error.detail == (
        "Process 102 waits for ExclusiveLock on relation 16384 of database 1; blocked by process 101.\n"
        "Process 101 waits for ExclusiveLock on relation 16385 of database 1; blocked by process 102."
    )
    assert two.error.hint == "See server log for query details."
    two.let_go()
    assert one.has_ended() and one.error is None


def test_a_circle_of_three_with_one_that_only_stands_in_the_queue(workers: list[Worker]) -> None:
    one, two, three, four = workers
    assert one.take(A, ALONE) and two.take(B, ALONE) and three.take(C, ALONE)
    assert not four.take(A, ALONE)
    assert not one.take(B, ALONE) and not two.take(C, ALONE)
    assert three.take(A, SHARED)  # it would wait for one, and for four
    assert isinstance(three.error, DeadlockDetected)


def test_a_circle_through_a_shared_lock(workers: list[Worker]) -> None:
    """A COMMIT of INSERTs into two tables shares the first while it waits for the second."""
    one, two, _, _ = workers
    assert one.take(A, SHARED) and two.take(B, ALONE)
    assert not one.take(B, SHARED)
    assert two.take(A, ALONE)
    assert isinstance(two.error, DeadlockDetected)


def test_two_sharers_that_both_want_it_alone(workers: list[Worker]) -> None:
    one, two, three, _ = workers
    assert one.take(A, SHARED) and two.take(A, SHARED)
    assert not three.take(A, ALONE)
    assert not one.take(A, ALONE)  # goes before the third, which waits for it
    assert two.take(A, ALONE)
    assert isinstance(two.error, DeadlockDetected)
    two.let_go()
    assert one.has_ended() and one.error is None and not three.has_ended(0.05)


def test_a_circle_that_only_the_order_of_the_queue_closes_is_none(workers: list[Worker]) -> None:
    one, two, three, _ = workers
    assert one.take(A, SHARED) and three.take(B, ALONE)
    assert not two.take(A, ALONE)  # for one
    assert not one.take(B, ALONE)  # for three
    assert three.take(A, SHARED) and three.error is None  # before two: it goes together with one


class Stress:
    """Clients that write in transactions, and one that alters, over three tables; how long each statement took."""

    def __init__(self, server: Server, seconds: float) -> None:
        self._server = server
        self._end = time.monotonic() + seconds
        self.crashed: list[tuple[str, Exception]] = []
        self.slowest = (0.0, "")
        self.said = Counter[str]()

    def write(self, seed: int) -> None:
        """Transactions with savepoints, over the tables in any order."""
        chance, client = random.Random(seed), self._server.client()
        while time.monotonic() < self._end:
            going = self._run(client, "BEGIN")
            for step in range(chance.randrange(1, 5)):
                going = going and self._run(client, self._step(chance, step))
                if not going and step and chance.random() < 0.5:
                    going = self._run(client, f"ROLLBACK TO s{step - 1}")
            self._run(client, "COMMIT" if going else "ROLLBACK")

    def alter(self, seed: int) -> None:
        """All that alters tables, makes indexes of them and drops them."""
        chance, client, number = random.Random(seed), self._server.client(), 0
        while time.monotonic() < self._end:
            table, number = chance.choice("abc"), number + 1
            drop = chance.choice([f"ALTER TABLE {table} DROP COLUMN x{number}", f"DROP TABLE IF EXISTS {table}z"])
            for sql in (f"ALTER TABLE {table} ADD COLUMN x{number} int", drop):
                self._run(client, sql)
            if number % 10 == 0:
                self._run(client, f"CREATE INDEX i{number} ON {table} (v)")
                self._run(client, f"DROP INDEX i{number}")
                schema = f"CREATE SCHEMA s{number}; CREATE TABLE s{number}.t (a int); DROP SCHEMA s{number} CASCADE"
                self._run(client, schema)

    def _step(self, chance: random.Random, step: int) -> str:
        table, other = chance.choice("abc"), chance.choice("abc")
        return chance.choice([
            f"UPDATE {table} SET v = v + 1 WHERE id < 5",
            f"DELETE FROM {table} WHERE id = {chance.randrange(100)}",
            f"INSERT INTO {table} (id, v) VALUES ({chance.randrange(20, 100)}, 1)",
            f"UPDATE {table} SET v = 0 WHERE id IN (SELECT id FROM {other} WHERE v > 90)",
            f"SAVEPOINT s{step}",
        ])  # fmt: skip

    def _run(self, client: Client, sql: str) -> bool:
        began = time.monotonic()
        try:
            client.run(sql)
            self.said["ok"] += 1
            return True
        except SqlError as error:
            self.said[error.sqlstate] += 1
            return False
        except Exception as error:
            self.crashed.append((sql, error))
            raise
        finally:
            self.slowest = max(self.slowest, (time.monotonic() - began, sql))


def test_a_stress_of_transactions_and_ddl_ends_without_a_long_wait(server: Server) -> None:
    setup = server.client()
    for name in "abc":
        setup.run(f"CREATE TABLE {name} (id int PRIMARY KEY, v int)")
        setup.run(f"INSERT INTO {name} SELECT x, x FROM generate_series(1, 20) x")
    stress = Stress(server, seconds=6)
    threads = [threading.Thread(target=stress.write, args=(seed,)) for seed in range(3)]
    threads.append(threading.Thread(target=stress.alter, args=(9,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert stress.crashed == []
    assert stress.slowest[0] < LONGEST_WAIT_SECONDS, stress.slowest
    assert stress.said["ok"] > 100 and set(stress.said) <= {"ok", "40P01", "40001", "3B001", "25P02"}, stress.said
