"""Short reads that need an epoch wait for it without a thread, and see what was acknowledged when they began."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from risingpy.errors import CannotConnectNow, EpochsCannotRun, QueryCanceled
from risingpy.frontend.wire.server import WireServer
from risingpy.frontend.wire.short_path.short_path import Later, ShortPath
from risingpy.meta.cancellation import WaitEvent
from risingpy.meta.database import Database
from risingpy.meta.epochs.waiters import LsnCall
from risingpy.meta.sessions import SessionState
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers, prepare, series
from tests.held_epochs import HeldRunner
from tests.held_epochs import database as database
from tests.held_epochs import runner as runner

_STILL_SECONDS = 0.3  # what has not answered by then waits
_SECONDS = 30.0
_GROUP, _LIST, _ROW = b"group", b"list", b"row"

Read = Callable[[bytes, int], Future[bytes | None]]


class _Permits(threading.Event):
    """Each lets one epoch run."""

    def __init__(self) -> None:
        super().__init__()
        self._left = threading.Semaphore(0)

    def one(self) -> None:
        self._left.release()

    def set(self) -> None:
        self._left.release(1000)

    def wait(self, timeout: float | None = None) -> bool:
        return self._left.acquire(timeout=timeout)


@pytest.fixture
def writer(connect: Callable[[], Client]) -> Client:
    client = connect()
    for sql in (
        "CREATE TABLE t (id int PRIMARY KEY, g int, n int)",
        "CREATE MATERIALIZED VIEW sums AS SELECT g, sum(n) AS n FROM t GROUP BY g",
        "CREATE INDEX by_n ON sums (n)",
        "INSERT INTO t VALUES (1, 1, 10)",
        "FLUSH",
    ):
        client.run(sql)
    return client


@pytest.fixture
def reader(writer: Client, connect: Callable[[], Client]) -> Client:
    return connect()


@pytest.fixture
def answers(reader: Client) -> Answers:
    found = Answers(reader.session)
    prepare(found, _GROUP, "SELECT n FROM sums WHERE g = $1")
    prepare(found, _LIST, "SELECT g FROM sums WHERE n = $1")
    prepare(found, _ROW, "SELECT n FROM t WHERE id = $1")
    return found


@pytest.fixture
def read(answers: Answers) -> Iterator[Read]:
    """Answers a statement of one parameter by the short path alone, in another thread; None if that leaves it."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda name, value: pool.submit(answers.awaited, series(name, (b"%d" % value,)))


def _still_waits(read: Future[bytes | None]) -> bool:
    try:
        read.result(_STILL_SECONDS)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize(("name", "value", "shown"), [(_GROUP, 1, b"15"), (_LIST, 15, b"1"), (_ROW, 1003, b"7")])
def test_it_waits_and_then_answers_as_the_long_way_does(
    writer: Client, answers: Answers, read: Read, runner: HeldRunner, name: bytes, value: int, shown: bytes
) -> None:
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    writer.run("INSERT INTO t SELECT 1000 + i, 2, 7 FROM generate_series(1, 1000) i")  # not known row by row
    answer = read(name, value)
    waits = _still_waits(answer)
    runner.may_run.set()
    said = answer.result(_SECONDS)
    assert waits
    assert said is not None and shown in said
    assert said == answers.long(series(name, (b"%d" % value,)))


def test_it_does_not_wait_for_what_came_after_it(writer: Client, read: Read, runner: HeldRunner) -> None:
    """So it ends, however many others write."""
    permits = runner.may_run = _Permits()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    answer = read(_GROUP, 1)
    assert _still_waits(answer)
    writer.run("INSERT INTO t VALUES (3, 1, 100)")
    permits.one()
    said = answer.result(_SECONDS)
    assert said is not None and b"15" in said
    later = read(_GROUP, 1)
    assert _still_waits(later), "what it has waited for counts once"
    permits.set()
    said = later.result(_SECONDS)
    assert said is not None and b"115" in said


def test_its_time_is_that_of_the_statement(writer: Client, read: Read, runner: HeldRunner, database: Database) -> None:
    times = database.sessions.statement_times
    assert "Select" not in times.durations()
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    answer = read(_GROUP, 1)
    assert _still_waits(answer)
    runner.may_run.set()
    assert answer.result(_SECONDS) is not None
    assert times.durations()["Select"].seconds >= _STILL_SECONDS


def test_a_session_that_waits_is_seen_and_can_be_cancelled(
    writer: Client, reader: Client, answers: Answers, read: Read, runner: HeldRunner
) -> None:
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    answer = read(_GROUP, 1)
    assert _still_waits(answer)
    activity = reader.session.context.record.activity()
    assert (activity.state, activity.wait) == (SessionState.ACTIVE, WaitEvent.EPOCH)
    assert activity.query == "SELECT n FROM sums WHERE g = $1"
    reader.session.cancel()
    assert answer.result(_SECONDS) is None
    with pytest.raises(QueryCanceled):
        reader.run("SELECT n FROM sums WHERE g = 1")
    reader.session.forget_cancel()
    runner.may_run.set()
    assert reader.run("SELECT n FROM sums WHERE g = 1") == [(15,)]
    again = read(_GROUP, 1).result(_SECONDS)
    assert again is not None and b"15" in again


def test_the_long_way_has_the_deadline(writer: Client, reader: Client, answers: Answers, runner: HeldRunner) -> None:
    reader.run("SET statement_timeout = '100ms'")
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    asked = series(_GROUP, (b"1",))
    assert ShortPath(reader.session).answer(asked) is None
    assert b"canceling statement due to statement timeout" in answers.long(asked)
    runner.may_run.set()


def test_epochs_that_cannot_run_and_a_server_that_stops_end_the_wait(
    writer: Client, reader: Client, read: Read, runner: HeldRunner, database: Database
) -> None:
    waiters = database.reads._waiters
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    answer = read(_GROUP, 1)
    assert _still_waits(answer)
    waiters.stall("the disk is full")
    assert answer.result(_SECONDS) is None
    assert read(_GROUP, 1).result(_SECONDS) is None, "it does not begin to wait"
    with pytest.raises(EpochsCannotRun, match="the disk is full"):
        reader.run("SELECT n FROM sums WHERE g = 1")
    waiters.stall(None)
    answer = read(_GROUP, 1)
    assert _still_waits(answer)
    waiters.stop()
    assert answer.result(_SECONDS) is None
    with pytest.raises(CannotConnectNow):
        reader.run("SELECT n FROM sums WHERE g = 1")


def test_a_wait_that_is_given_up_is_not_taken_for_one_that_is_over(
    writer: Client, reader: Client, answers: Answers, runner: HeldRunner
) -> None:
    permits = runner.may_run = _Permits()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    path = ShortPath(reader.session)
    first = path.answer(series(_GROUP, (b"1",)))
    assert isinstance(first, Later)
    over = threading.Event()
    first.begin(lambda rows: over.set)()
    permits.one()
    assert over.wait(_SECONDS)
    writer.run("INSERT INTO t VALUES (3, 1, 100)")
    second = path.answer(series(_GROUP, (b"1",)))  # the first is never answered
    assert isinstance(second, Later), "it must wait for the row that has come since"
    permits.set()


def test_many_wait_for_one_epoch_and_one_gives_up(writer: Client, database: Database, runner: HeldRunner) -> None:
    reads, lsn = database.reads, database.writes.last_lsn + 1
    over, woken = list[tuple[int, bool]](), list[bool]()

    def wake() -> None:
        woken.append(True)

    def call(number: int) -> LsnCall:
        def told(is_readable: bool) -> Callable[[], None]:
            over.append((number, is_readable))
            return wake

        return LsnCall(lsn, told)

    calls = [call(number) for number in range(5)]
    for each in calls:
        reads.call_at(each)
    assert reads.withdraw(calls[2])
    assert not reads.withdraw(calls[2])
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (2, 1, 5)")
    assert over == []
    runner.may_run.set()
    writer.run("FLUSH")
    assert sorted(over) == [(0, True), (1, True), (3, True), (4, True)]
    assert woken == [True], "one call wakes them all"
    reads.call_at(call(9))
    assert over[-1] == (9, True), "it is there already"


@pytest.mark.parametrize("is_prepared", [True, False])
def test_clients_wait_without_threads(
    writer: Client, reader: Client, server: WireServer, runner: HeldRunner, is_prepared: bool
) -> None:
    """Forty of them; one is cancelled meanwhile, and one hangs up."""
    sql = "SELECT n FROM sums WHERE g = %s"
    with ExitStack() as stack:
        clients = [stack.enter_context(_connect(server)) for _ in range(40)]
        for client in clients:
            for _ in range(3):  # until the short path knows the statement
                client.execute(sql, [1], prepare=is_prepared).fetchall()
        before = threading.active_count()
        runner.may_run.clear()
        writer.run("INSERT INTO t VALUES (2, 1, 5)")
        pool = stack.enter_context(ThreadPoolExecutor(len(clients)))
        stack.callback(runner.may_run.set)  # also if the test fails, or the pool would wait for ever
        answers = [pool.submit(lambda c: c.execute(sql, [1], prepare=is_prepared).fetchall(), c) for c in clients[1:]]
        clients[0].pgconn.send_query(b"SELECT n FROM sums WHERE g = 1")
        clients[0].pgconn.flush()
        clients[0].pgconn.finish()
        wait_until(lambda: _waiting(reader) >= len(answers))
        assert threading.active_count() - before - len(answers) < 10, "clients' own threads, and some of the server's"
        assert reader.run(f"SELECT pg_cancel_backend({clients[1].info.backend_pid})") == [(True,)]
        with pytest.raises(psycopg.errors.QueryCanceled):
            answers[0].result(_SECONDS)
        assert not any(each.done() for each in answers[1:])
        runner.may_run.set()
        assert all(each.result(_SECONDS) == [(15,)] for each in answers[1:])
        assert clients[1].execute(sql, [1]).fetchall() == [(15,)]
        wait_until(lambda: _waiting(reader) == 0)


def test_a_server_that_stops_ends_the_clients_that_wait(
    writer: Client, reader: Client, server: WireServer, runner: HeldRunner
) -> None:
    sql = "SELECT n FROM sums WHERE g = %s"
    with _connect(server) as client, ThreadPoolExecutor(1) as pool:
        for _ in range(3):
            client.execute(sql, [1], prepare=True).fetchall()
        runner.may_run.clear()
        writer.run("INSERT INTO t VALUES (2, 1, 5)")
        answer = pool.submit(client.execute, sql, [1], prepare=True)
        wait_until(lambda: _waiting(reader) == 1)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < _SECONDS / 3
        with pytest.raises(psycopg.errors.AdminShutdown):
            answer.result(_SECONDS)
        runner.may_run.set()
    assert reader.run("SELECT n FROM sums WHERE g = 1") == [(15,)]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _connect(server: WireServer) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)


def _waiting(client: Client) -> int:
    (row,) = client.run("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'EpochCommit'")
    return int(str(row[0]))
