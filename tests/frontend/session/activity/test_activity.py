"""pg_stat_activity, pg_locks, and functions about sessions, as psycopg sees them; PostgreSQL agrees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]

Connect = Callable[..., psycopg.Connection[Any]]
_SECONDS = 10.0


@pytest.fixture
def risingpy(server: WireServer) -> Connect:
    def connect(**options: Any) -> psycopg.Connection[Any]:
        autocommit = {"autocommit": True, **options}
        return psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", **autocommit)

    return connect


@pytest.fixture(params=["risingpy", "postgres"])
def system(request: pytest.FixtureRequest) -> Connect:
    """Connects to RisingPy or to a PostgreSQL: the test holds for both."""
    if request.param == "risingpy":
        ours: Connect = request.getfixturevalue("risingpy")
        return ours
    oracle: PostgresOracle = request.getfixturevalue("postgres_oracle")

    def connect(**options: Any) -> psycopg.Connection[Any]:
        place = f"host={oracle.directory} port={oracle.port} user=postgres dbname=postgres"
        return psycopg.connect(place, **{"autocommit": True, **options})

    return connect


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def until(connection: psycopg.Connection[Any], sql: str, expected: Any) -> None:
    end = time.monotonic() + _SECONDS
    while (found := connection.execute(sql).fetchone()) != expected:
        assert time.monotonic() < end, found
        time.sleep(0.01)


def state_of(pid: int, columns: str = "state, query, wait_event_type, wait_event") -> str:
    return f"SELECT {columns} FROM pg_stat_activity WHERE pid = {pid}"


def test_states_of_a_session(system: Connect) -> None:
    with system() as watcher, system(application_name="watched") as watched:
        pid = watched.info.backend_pid
        watched.execute("SELECT 41")
        until(watcher, state_of(pid), ("idle", "SELECT 41", "Client", "ClientRead"))
        watched.execute("BEGIN")
        until(watcher, state_of(pid), ("idle in transaction", "BEGIN", "Client", "ClientRead"))
        with pytest.raises(psycopg.errors.UndefinedTable):
            watched.execute("SELECT * FROM nothing_of_this_name")
        aborted = ("idle in transaction (aborted)", "SELECT * FROM nothing_of_this_name", "Client", "ClientRead")
        until(watcher, state_of(pid), aborted)
        watched.execute("ROLLBACK")
        until(watcher, state_of(pid, "state, application_name, xact_start"), ("idle", "watched", None))
        watched.execute("SET application_name = 'renamed'")
        until(watcher, state_of(pid, "application_name"), ("renamed",))
    with system() as watcher:
        until(watcher, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}", (0,))


def test_times_follow_the_statements(system: Connect) -> None:
    with system() as watcher, system() as watched:
        pid = watched.info.backend_pid
        watched.execute("BEGIN")
        times = "backend_start <= xact_start, xact_start < query_start, query_start <= state_change"
        time.sleep(0.05)
        watched.execute("SELECT 1")
        until(watcher, state_of(pid, f"{times}, state_change <= clock_timestamp()"), (True, True, True, True))


def test_a_session_sees_its_own_statement(system: Connect) -> None:
    sql = "SELECT state, query, backend_type, xact_start IS NOT NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    with system() as connection:
        assert connection.execute(sql).fetchone() == ("active", sql, "client backend", True)


def test_cancel_ends_a_statement_and_not_its_session(system: Connect, threads: ThreadPoolExecutor) -> None:
    with system() as watcher, system(application_name="sleeper") as watched:
        running = threads.submit(watched.execute, "SELECT pg_sleep(60)")
        until(watcher, state_of(watched.info.backend_pid, "state"), ("active",))
        sql = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'sleeper'"
        assert watcher.execute(sql).fetchall() == [(True,)]
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result(_SECONDS)
        assert watched.execute("SELECT 1").fetchone() == (1,)
        # Nothing runs now, so there is nothing to cancel.
        assert watcher.execute(f"SELECT pg_cancel_backend({watched.info.backend_pid})").fetchone() == (True,)
        assert watched.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.parametrize("call", ["pg_terminate_backend(pid)", "pg_terminate_backend(pid, 9000)"])
def test_terminate_ends_sessions(system: Connect, threads: ThreadPoolExecutor, call: str) -> None:
    with system() as watcher:
        busy, idle = system(application_name="doomed"), system(application_name="doomed")
        running = threads.submit(busy.execute, "SELECT pg_sleep(60)")
        until(watcher, state_of(busy.info.backend_pid, "state"), ("active",))
        sql = f"SELECT {call} FROM pg_stat_activity WHERE application_name = 'doomed'"
        assert watcher.execute(sql).fetchall() == [(True,), (True,)]
        with pytest.raises(psycopg.errors.AdminShutdown):
            running.result(_SECONDS)
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")
        until(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doomed'", (0,))


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_mistakes(system: Connect, function: str) -> None:
    told: list[tuple[str | None, str | None]] = []
    with system() as connection:
        connection.add_notice_handler(lambda notice: told.append((notice.severity, notice.message_primary)))
        assert connection.execute(f"SELECT {function}(2147483647)").fetchone() == (False,)
        assert told == [("WARNING", "PID 2147483647 is not a PostgreSQL backend process")]
        assert connection.execute(f"SELECT {function}(NULL)").fetchone() == (None,)
        assert connection.execute(f"SELECT {function}(1) WHERE false").fetchall() == []
        with pytest.raises(psycopg.errors.UndefinedFunction):
            connection.execute(f"SELECT {function}('2020-01-01'::date)")
        with pytest.raises(psycopg.errors.NumericValueOutOfRange, match='"timeout" must not be negative'):
            connection.execute("SELECT pg_terminate_backend(1, -1)")


def test_a_statement_may_end_itself(system: Connect) -> None:
    with system() as connection, pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(0.1)")
    connection = system()
    with pytest.raises(psycopg.errors.AdminShutdown):
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(0.1)")
    assert connection.broken


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MATERIALIZED VIEW v AS SELECT pg_cancel_backend(n) FROM t",
        "CREATE TABLE g (n int, m boolean GENERATED ALWAYS AS (pg_terminate_backend(n)) STORED)",
        "CREATE INDEX i ON t ((pg_cancel_backend(n)))",
    ],
)
def test_nothing_that_is_stored_ends_sessions(risingpy: Connect, sql: str) -> None:
    with risingpy() as connection:
        connection.execute("CREATE TABLE t (n int)")
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(sql)
        assert refused.value.sqlstate in ("0A000", "42P17")


LOCKS = (
    "SELECT l.pid, l.mode, l.granted, l.waitstart IS NOT NULL FROM pg_locks l JOIN pg_class c ON l.relation = c.oid"
    " WHERE c.relname = 'locked' AND l.locktype = 'relation' ORDER BY l.granted DESC"
)


def test_who_waits_for_whom(risingpy: Connect, threads: ThreadPoolExecutor) -> None:
    with risingpy() as watcher, risingpy() as holder, risingpy() as waiter:
        watcher.execute("CREATE TABLE locked (n int PRIMARY KEY)")
        assert watcher.execute(LOCKS).fetchall() == []
        holder.execute("BEGIN")
        holder.execute("INSERT INTO locked VALUES (1)")
        holder.execute("UPDATE locked SET n = 2")
        waiting: Future[Any] = threads.submit(waiter.execute, "INSERT INTO locked VALUES (3)")
        waits = ("active", "INSERT INTO locked VALUES (3)", "Lock", "relation")
        until(watcher, state_of(waiter.info.backend_pid), waits)
        held, waited = watcher.execute(LOCKS).fetchone(), watcher.execute(LOCKS).fetchall()[-1]
        assert held == (holder.info.backend_pid, "ExclusiveLock", True, False)
        assert waited == (waiter.info.backend_pid, "RowExclusiveLock", False, True)
        blocking = (
            "SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
        )
        assert watcher.execute(blocking).fetchall() == [(waiter.info.backend_pid, [holder.info.backend_pid])]
        assert watcher.execute("SELECT pg_blocking_pids(0), pg_blocking_pids(NULL)").fetchone() == ([], None)
        holder.execute("COMMIT")
        waiting.result(_SECONDS)
        assert watcher.execute(LOCKS).fetchall() == []


RW_LOCKS = (
    "SELECT kind, schema_name, name, key, mode, granted, blocked_by, pid FROM rw_catalog.rw_locks"
    " WHERE name = ANY(%s) ORDER BY kind, key, granted DESC"
)


def test_every_lock_has_its_name_its_holder_and_who_waits(risingpy: Connect, threads: ThreadPoolExecutor) -> None:
    """Tables, rows by their keys, keys of unique indexes, and names: as rw_locks has them."""
    with risingpy() as watcher, risingpy() as holder, risingpy() as waiter:
        watcher.execute("CREATE TABLE orders (day date, n int, code text UNIQUE, PRIMARY KEY (day, n))")
        began = watcher.execute("SELECT now()").fetchone()
        found: list[tuple[Any, ...]] = []
        mine, other = holder.info.backend_pid, waiter.info.backend_pid
        holder.execute("BEGIN")
        holder.execute("INSERT INTO orders VALUES ('2024-02-29', 1, 'a b')")
        held: tuple[Any, ...] = ("ExclusiveLock", True, [], mine)
        row = ("row", "public", "orders", "(day, n)=(2024-02-29, 1)", *held)
        key = ("key", "public", "orders_code_key", "(code)=(a b)", *held)
        index = ("index", "public", "orders_code_key", None, "RowExclusiveLock", *held[1:])
        table = ("table", "public", "orders", None, "RowExclusiveLock", *held[1:])
        names = ["orders", "orders_code_key"]
        assert watcher.execute(RW_LOCKS, [names]).fetchall() == [index, key, row, table]
        waiting = threads.submit(waiter.execute, "INSERT INTO orders VALUES ('2024-02-29', 1, 'c')")
        until(watcher, f"SELECT count(*) FROM rw_catalog.rw_locks WHERE pid = {other} AND NOT granted", (1,))
        found = watcher.execute(RW_LOCKS, [names]).fetchall()
        waits = (*row[:5], False, [mine], other)
        assert waits in found and all(each in found for each in (row, key, index, table))
        times = watcher.execute("SELECT min(since), max(since) <= now() FROM rw_catalog.rw_locks").fetchone()
        assert began is not None and times is not None and times[0] >= began[0] and times[1]
        holder.execute("ROLLBACK")
        waiting.result(_SECONDS)
        holder.execute("BEGIN")
        holder.execute("CREATE TABLE made (n int)")
        assert watcher.execute(RW_LOCKS, [["made"]]).fetchall() == [("name", "public", "made", None, *held)]
        holder.execute("ROLLBACK")
        assert watcher.execute("SELECT * FROM rw_catalog.rw_locks").fetchall() == []


def test_keys_are_hidden_from_who_may_not_read_the_table(risingpy: Connect) -> None:
    with risingpy() as owner, risingpy() as watcher:
        owner.execute("CREATE TABLE private (code text PRIMARY KEY, n int)")
        owner.execute("INSERT INTO private VALUES ('secret', 1)")
        owner.execute("CREATE USER curious")
        watcher.execute("SET SESSION AUTHORIZATION curious")
        owner.execute("BEGIN")
        owner.execute("UPDATE private SET n = 2 WHERE code = 'secret'")
        seen = watcher.execute("SELECT name, key FROM rw_catalog.rw_locks WHERE kind = 'row'").fetchall()
        assert seen == [("private", "<insufficient privilege>")]
        shown = owner.execute("SELECT key FROM rw_catalog.rw_locks WHERE kind = 'row'").fetchall()
        assert shown == [("(code)=(secret)",)]
        owner.execute("ROLLBACK")


def test_a_lock_wait_is_cancelled_by_another_session(risingpy: Connect, threads: ThreadPoolExecutor) -> None:
    with risingpy() as watcher, risingpy() as holder, risingpy() as waiter:
        watcher.execute("CREATE TABLE locked (n int PRIMARY KEY)")
        holder.execute("BEGIN")
        holder.execute("INSERT INTO locked VALUES (1)")
        holder.execute("UPDATE locked SET n = 2")
        waiting = threads.submit(waiter.execute, "UPDATE locked SET n = 9")
        until(watcher, state_of(waiter.info.backend_pid, "wait_event"), ("relation",))
        assert watcher.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
        ).fetchall() == [(True,)]
        with pytest.raises(psycopg.errors.QueryCanceled):
            waiting.result(_SECONDS)
        assert len(watcher.execute(LOCKS).fetchall()) >= 1  # the holder's


def test_a_statement_that_waits_for_an_epoch(
    risingpy: Connect, database: Database, threads: ThreadPoolExecutor
) -> None:
    with risingpy() as watcher, risingpy() as waiter:
        waiter.execute("CREATE TABLE t (n int)")
        waiter.execute("SET visibility_mode = 'checkpoint'")
        held, release = threading.Event(), threading.Event()

        def hold(state: Any) -> Any:
            held.set()
            release.wait(_SECONDS)
            return state

        database._changes.submit(hold)  # the barrier loop stands still
        assert held.wait(_SECONDS)
        flushing = threads.submit(waiter.execute, "INSERT INTO t VALUES (1); FLUSH")
        try:
            until(watcher, state_of(waiter.info.backend_pid, "wait_event_type, wait_event"), ("IPC", "EpochCommit"))
        finally:
            release.set()
        flushing.result(_SECONDS)
        until(watcher, state_of(waiter.info.backend_pid, "state, wait_event"), ("idle", "ClientRead"))
