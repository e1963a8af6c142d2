"""lock_timeout, idle_in_transaction_session_timeout and idle_session_timeout, over the wire."""

from __future__ import annotations

import time

import psycopg
import pytest

from risingpy.frontend.wire import WireServer

Connection = psycopg.Connection[tuple[object, ...]]


def connect(server: WireServer) -> Connection:
    return psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)


def test_a_lock_is_waited_for_no_longer_than_lock_timeout(server: WireServer) -> None:
    with connect(server) as one, connect(server) as two:
        one.execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        one.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
        one.execute("BEGIN")
        one.execute("UPDATE t SET v = 1 WHERE k = 1")
        two.execute("SET lock_timeout = '200ms'")
        for statement in ("UPDATE t SET v = 2 WHERE k = 1", "UPDATE t SET v = 2", "DROP TABLE t"):
            began = time.monotonic()
            with pytest.raises(psycopg.errors.LockNotAvailable, match="lock timeout"):
                two.execute(statement.encode())
            assert 0.2 <= time.monotonic() - began < 10
        two.execute("UPDATE t SET v = 2 WHERE k = 2")
        one.execute("COMMIT")
        two.execute("UPDATE t SET v = v + 5 WHERE k = 1")
        assert two.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 6), (2, 2)]


def test_a_transaction_that_idles_too_long_is_ended_with_its_session(server: WireServer) -> None:
    with connect(server) as one, connect(server) as two:
        one.execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        one.execute("INSERT INTO t VALUES (1, 0)")
        one.execute("SET idle_in_transaction_session_timeout = '300ms'")
        time.sleep(0.8)  # outside of a transaction it may idle
        one.execute("BEGIN")
        one.execute("UPDATE t SET v = 1 WHERE k = 1")
        two.execute("UPDATE t SET v = v + 10 WHERE k = 1")  # waits until the other session has ended
        assert two.execute("SELECT v FROM t").fetchall() == [(10,)]
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            one.execute("SELECT 1")
        assert one.closed


def test_a_session_that_idles_too_long_is_ended(server: WireServer) -> None:
    with connect(server) as one:
        one.execute("SET idle_session_timeout = '300ms'")
        time.sleep(1)
        with pytest.raises(psycopg.errors.IdleSessionTimeout):
            one.execute("SELECT 1")
