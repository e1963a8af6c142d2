"""Waits for advisory locks, and what ends them: the lock, a circle, a cancel, the end of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer

Connection = psycopg.Connection[Any]
_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock' AND wait_event = 'advisory'"


@pytest.fixture
def session(server: WireServer) -> Callable[[], Connection]:
    return lambda: psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)


class Waiting:
    """A statement that another thread runs, and that waits for an advisory lock."""

    def __init__(self, connection: Connection, statement: str, observer: Connection) -> None:
        self.error: psycopg.Error | None = None
        self._connection, self._statement = connection, statement
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while observer.execute(_WAITS, (connection.info.backend_pid,)).fetchone() != (1,):
            assert self._thread.is_alive()

    def end(self) -> psycopg.Error | None:
        self._thread.join()
        return self.error

    def _run(self) -> None:
        try:
            self._connection.execute(self._statement.encode())
        except psycopg.Error as error:
            self.error = error


def test_who_waits_gets_it_when_it_is_given_up(session: Callable[[], Connection]) -> None:
    first, second, observer = session(), session(), session()
    first.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(1)")
    waiting = Waiting(second, "SELECT pg_advisory_lock(1)", observer)
    [row] = observer.execute("SELECT pid, granted, waitstart IS NULL FROM pg_locks WHERE NOT granted").fetchall()
    assert row == (second.info.backend_pid, False, False)
    blockers = observer.execute("SELECT pg_blocking_pids(%s)", (second.info.backend_pid,)).fetchone()
    assert blockers == ([first.info.backend_pid],)
    first.execute("SELECT pg_advisory_unlock(1)")
    assert observer.execute(_WAITS, (second.info.backend_pid,)).fetchone() == (1,)  # it was taken twice
    first.execute("SELECT pg_advisory_unlock(1)")
    assert waiting.end() is None
    assert first.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (False,)


@pytest.mark.parametrize("how", ["close", "pg_terminate_backend", "DISCARD ALL"])
def test_a_sessions_end_gives_up_its_locks(session: Callable[[], Connection], how: str) -> None:
    first, second, observer = session(), session(), session()
    first.execute("SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2)")
    waiting = Waiting(second, "SELECT pg_advisory_lock(1)", observer)
    if how == "close":
        first.close()
    elif how == "DISCARD ALL":
        first.execute("DISCARD ALL")
    else:
        observer.execute("SELECT pg_terminate_backend(%s)", (first.info.backend_pid,))
    assert waiting.end() is None
    second.execute("SELECT pg_advisory_lock(2)")


def test_a_circle_of_locks_of_tables_and_numbers(session: Callable[[], Connection]) -> None:
    first, second, observer = session(), session(), session()
    first.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
    first.execute("BEGIN")
    first.execute("DELETE FROM t")
    second.execute("SELECT pg_advisory_lock(1)")
    waiting = Waiting(first, "SELECT pg_advisory_lock(1)", observer)
    with pytest.raises(psycopg.errors.DeadlockDetected) as refused:
        second.execute("DELETE FROM t")
    assert "waits for ExclusiveLock on advisory lock [1,0,1,1]; blocked by" in str(refused.value.diag.message_detail)
    second.execute("SELECT pg_advisory_unlock(1)")
    assert waiting.end() is None


def test_a_cancelled_wait_leaves_nothing(session: Callable[[], Connection]) -> None:
    first, second, observer = session(), session(), session()
    first.execute("SELECT pg_advisory_lock(1)")
    waiting = Waiting(second, "SELECT pg_advisory_lock(1)", observer)
    observer.execute("SELECT pg_cancel_backend(%s)", (second.info.backend_pid,))
    error = waiting.end()
    assert error is not None and error.sqlstate == "57014"
    assert observer.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (1,)


def test_a_lock_is_a_databases_own(session: Callable[[], Connection], server: WireServer) -> None:
    first = session()
    first.execute("CREATE DATABASE other")
    first.execute("SELECT pg_advisory_lock(1)")
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="other", autocommit=True) as second:
        assert second.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
        rows = second.execute("SELECT database_name, key FROM rw_catalog.rw_locks ORDER BY 1").fetchall()
    assert rows == [("dev", "(0, 1, 1)"), ("other", "(0, 1, 1)")]


def test_views_do_not_lock(session: Callable[[], Connection]) -> None:
    first = session()
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        first.execute("CREATE MATERIALIZED VIEW v AS SELECT pg_try_advisory_lock(1) AS a")
