"""Transactions without threads: who follows a commit that is on its way to the disk, who waits, and who is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from risingpy.errors import IoError
from risingpy.frontend.wire import WireServer
from risingpy.frontend.wire.server import WORKER_THREADS
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.dml_log import DmlLog
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, all_rows, connect, noted

_DEADLINE = 30.0
_OPEN, _WAITING = 30, 5
_UPDATE = "UPDATE t SET n = n + %s WHERE id = %s"
_SELECT = "SELECT n FROM t WHERE id = %s"


class HeldLog:
    """A log whose groups wait for `free` before they reach the disk; the next one fails if `fails` says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free, self.came, self.fails = threading.Event(), threading.Semaphore(0), False
        self.free.set()
        append = DmlLog.append

        def held(log: DmlLog, *arguments: object, **named: object) -> int:
            self.came.release()
            assert self.free.wait(_DEADLINE)
            if self.fails:
                raise IoError("the disk is gone")
            return append(log, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(DmlLog, "append", held)

    def hold(self) -> None:
        """The next group waits."""
        while self.came.acquire(blocking=False):
            pass
        self.free.clear()

    def until_one_came(self) -> None:
        assert self.came.acquire(timeout=_DEADLINE)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldLog]:
    held = HeldLog(monkeypatch)
    yield held
    held.free.set()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Sequence[object]:
    return noted(monkeypatch, TransactionRows)


@pytest.fixture
def filled(client: Client) -> Client:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)")
    client.run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 50) AS g")
    client.run("FLUSH")
    return client


@pytest.fixture
def three(server: WireServer, filled: Client) -> Iterator[list[Connection]]:
    """Connections whose short statements are compiled."""
    with ExitStack() as stack:
        found = [stack.enter_context(connect(server)) for _ in range(3)]
        for each in found:
            for end in ("ROLLBACK", "ROLLBACK", "COMMIT", "COMMIT"):
                each.execute("BEGIN", prepare=True)
                _change(each, 0)
                _read(each)
                each.execute(end, prepare=True)
        yield found


def _change(connection: Connection, by: int, key: int = 1) -> str | None:
    return connection.execute(_UPDATE, (by, key), prepare=True).statusmessage


def _read(connection: Connection, key: int = 1) -> object:
    row = connection.execute(_SELECT, (key,), prepare=True).fetchone()
    return None if row is None else row[0]


def _begun(connection: Connection, by: int, key: int = 1) -> object:
    connection.execute("BEGIN", prepare=True)
    assert _change(connection, by, key) == "UPDATE 1"
    return _read(connection, key)


def _ended(connection: Connection) -> str | None:
    try:
        return connection.execute("COMMIT", prepare=True).statusmessage
    except psycopg.Error as error:
        return error.sqlstate


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_waiting(future: Future[Any]) -> bool:
    time.sleep(0.3)
    return not future.done()


def test_one_who_follows_reads_what_waits_for_the_disk(
    three: list[Connection], filled: Client, log: HeldLog, taken: Sequence[object]
) -> None:
    one, two, three_ = three
    with ThreadPoolExecutor(3) as pool:
        assert _begun(one, 5) == 5
        log.hold()
        first = pool.submit(_ended, one)
        log.until_one_came()
        assert _begun(two, 7) == 12
        second = pool.submit(_ended, two)
        assert _begun(three_, 100) == 112
        assert filled.run(_SELECT % 1) == [(0,)]  # of which nobody else sees anything
        assert _is_waiting(first) and _is_waiting(second)
        three_.execute("ROLLBACK", prepare=True)
        log.free.set()
        assert [each.result(_DEADLINE) for each in (first, second)] == ["COMMIT"] * 2
    assert _read(one) == _read(two) == 12
    assert len(taken) >= 2
    assert all_rows(filled, "t")[0] == (1, 12)


def test_others_wait_for_the_disk(three: list[Connection], server: WireServer, filled: Client, log: HeldLog) -> None:
    """A statement outside of transactions, and one that takes the long way."""
    one, two, _ = three
    with connect(server) as other, ThreadPoolExecutor(4) as pool:
        _change(other, 0), _change(other, 0)
        _begun(one, 5)
        log.hold()
        first = pool.submit(_ended, one)
        log.until_one_came()
        alone = pool.submit(_change, other, 1)
        two.execute("BEGIN", prepare=True)
        long = pool.submit(two.execute, "UPDATE t SET n = n * 2 WHERE id = 1 AND n > 0")
        assert _is_waiting(first) and _is_waiting(alone) and _is_waiting(long)
        log.free.set()
        assert first.result(_DEADLINE) == "COMMIT"
        assert long.result(_DEADLINE).statusmessage == "UPDATE 1"
        assert _ended(two) == "COMMIT"
        assert alone.result(_DEADLINE) == "UPDATE 1"
    assert _read(one) in (12, 11)  # (5 + 1) · 2, or 5 · 2 + 1


def test_one_who_has_followed_takes_the_long_way(three: list[Connection], filled: Client, log: HeldLog) -> None:
    """Any other statement first waits until what was read is durable: so it finds that in the log."""
    one, two, _ = three
    with ThreadPoolExecutor(2) as pool:
        one.execute("BEGIN", prepare=True)
        one.execute("DELETE FROM t WHERE id = %s", (1,), prepare=True)
        log.hold()
        first = pool.submit(_ended, one)
        log.until_one_came()
        two.execute("BEGIN", prepare=True)
        assert _change(two, 1) == "UPDATE 0"
        sums = pool.submit(lambda: two.execute("SELECT count(*), sum(n) FROM t").fetchone())
        assert _is_waiting(first) and _is_waiting(sums)
        log.free.set()
        assert sums.result(_DEADLINE) == (49, 0)
        assert first.result(_DEADLINE) == _ended(two) == "COMMIT"


def test_a_commit_without_rows_that_has_read_what_waits(three: list[Connection], log: HeldLog) -> None:
    one, two, _ = three
    with ThreadPoolExecutor(2) as pool:
        one.execute("BEGIN", prepare=True)
        one.execute("DELETE FROM t WHERE id = %s", (1,), prepare=True)
        one.execute("DELETE FROM t WHERE id = %s", (1,), prepare=True)
        log.hold()
        first = pool.submit(_ended, one)
        log.until_one_came()
        two.execute("BEGIN", prepare=True)
        assert _change(two, 1) == "UPDATE 0"
        second = pool.submit(_ended, two)
        assert _is_waiting(first) and _is_waiting(second)
        log.free.set()
        assert first.result(_DEADLINE) == second.result(_DEADLINE) == "COMMIT"


def test_who_has_followed_one_that_fails_is_refused(three: list[Connection], log: HeldLog) -> None:
    one, two, other = three
    with ThreadPoolExecutor(3) as pool:
        _begun(one, 5)
        log.hold()
        first = pool.submit(_ended, one)
        log.until_one_came()
        assert _begun(two, 7) == 12
        assert _begun(other, 1, key=2) == 1
        log.fails = True
        log.free.set()
        assert first.result(_DEADLINE) == "58030"
        log.fails = False
        assert _ended(two) == "40001"
        assert _ended(other) == "COMMIT"
        assert _begun(two, 7) == 7
        assert _ended(two) == "COMMIT"
    assert _read(one) == 7 and _read(one, 2) == 1


def test_transactions_at_rest_have_no_threads(server: WireServer, filled: Client) -> None:
    """Not those between their statements, and not those that wait for a row."""

    def threads() -> int:
        return sum(each.name == WORKER_THREADS for each in threading.enumerate())

    def open_(key: int) -> Connection:
        found = stack.enter_context(connect(server))
        for end in ("ROLLBACK", "ROLLBACK", ""):
            found.execute("BEGIN", prepare=True)
            if end:
                _change(found, key, key)
                found.execute(end, prepare=True)
        return found

    before = threads()  # of servers of other tests
    with ThreadPoolExecutor(_WAITING) as pool, ExitStack() as stack:
        found = [open_(key) for key in range(1, _OPEN + 1)]
        waiting, holders = found[:_WAITING], found[_WAITING:]
        for key, each in enumerate(holders, 1):
            _change(each, key, key)
        later = [pool.submit(_change, each, 1000, 1) for each in waiting]
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND state = 'active'"
        _wait_until(lambda: filled.run(waits) == [(_WAITING,)])
        assert threads() < before + _OPEN / 2
        for each in holders:
            each.execute("COMMIT", prepare=True)
        left = dict(zip(later, waiting, strict=True))
        while left:
            done = [future for future in left if future.done()]
            for future in done:
                assert future.result() == "UPDATE 1"
                left.pop(future).execute("COMMIT", prepare=True)
            time.sleep(0.01)
    rows = [int(str(row[1])) for row in all_rows(filled, "t")]
    assert sum(rows) == sum(range(1, _OPEN - _WAITING + 1)) + _WAITING * 1000


def test_a_parse_each_time(server: WireServer, filled: Client, taken: Sequence[object]) -> None:
    """Drivers that prepare nothing send Parse, Bind, Describe, Execute and Sync each time."""
    with connect(server) as connection:
        for number in range(5):
            connection.execute("BEGIN", prepare=False)
            assert _unprepared(connection, _UPDATE, 2, 1) == "UPDATE 1"
            row = connection.execute(_SELECT, (1,), prepare=False).fetchone()
            assert row == (2 * number + 2,)
            connection.execute("COMMIT", prepare=False)
        assert len(taken) >= 3
        filled.run("ALTER TABLE t ADD COLUMN late int DEFAULT 9")
        for _ in range(3):
            connection.execute("BEGIN", prepare=False)
            assert _unprepared(connection, _UPDATE, 2, 1) == "UPDATE 1"
            assert connection.execute("SELECT * FROM t WHERE id = %s", (1,), prepare=False).fetchone() is not None
            connection.execute("COMMIT", prepare=False)
        assert connection.execute("SELECT * FROM t WHERE id = %s", (1,), prepare=False).fetchone() == (1, 16, 9)
        for _ in range(3):
            with pytest.raises(psycopg.errors.UndefinedColumn):
                connection.execute("SELECT none FROM t WHERE id = %s", (1,), prepare=False)
        filled.run("DROP TABLE t")
        for _ in range(2):
            with pytest.raises(psycopg.errors.UndefinedTable):
                connection.execute(_SELECT, (1,), prepare=False)


def _unprepared(connection: Connection, text: str, *values: int) -> str | None:
    return connection.execute(text, values, prepare=False).statusmessage


def test_many_rows_in_a_transaction(server: WireServer, filled: Client) -> None:
    """More than are kept in plain Python: they become chunks, and later statements find them there."""
    with connect(server) as connection:
        for end in ("ROLLBACK", "COMMIT"):
            connection.execute("BEGIN")
            for key in range(1, 301):
                connection.execute("INSERT INTO t VALUES (%s, %s)", (key, key), prepare=True)
            for key in range(1, 301):
                assert _change(connection, 1, key) == "UPDATE 1"
                assert _read(connection, key) == key + 1
            connection.execute("SAVEPOINT s")
            for key in range(1, 101):
                connection.execute("DELETE FROM t WHERE id = %s", (key,), prepare=True)
                assert _read(connection, key) is None
            connection.execute("ROLLBACK TO s")
            assert _read(connection, 1) == 2
            assert connection.execute("SELECT count(*), sum(n) FROM t").fetchone() == (300, 45450)
            connection.execute(end)
    assert all_rows(filled, "t") == [(key, key + 1) for key in sorted(range(1, 301), key=lambda k: repr((k, k + 1)))]
