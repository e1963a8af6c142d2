"""KILL, RisingWave's word for pg_cancel_backend, through the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.activity.test_activity import state_of, until

Connect = Callable[..., "psycopg.Connection[Any]"]
_SECONDS = 10.0


@pytest.fixture
def connect(server: WireServer) -> Connect:
    def connect(user: str = "root") -> psycopg.Connection[Any]:
        return psycopg.connect(f"host=127.0.0.1 port={server.port} user={user} dbname=dev", autocommit=True)

    return connect


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.mark.parametrize("form", ["{}", "'{}'", "'1:{}'"])
def test_the_statement_ends_and_not_its_session(connect: Connect, threads: ThreadPoolExecutor, form: str) -> None:
    with connect() as killer, connect() as busy:
        pid = busy.info.backend_pid
        running = threads.submit(busy.execute, "SELECT pg_sleep(60)")
        until(killer, state_of(pid, "state"), ("active",))
        assert killer.execute(f"KILL {form.format(pid)}".encode()).statusmessage == "KILL"
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result(_SECONDS)
        assert busy.execute("SELECT 1").fetchone() == (1,)
        killer.execute(f"KILL {pid}".encode())  # nothing runs now
        assert busy.execute("SELECT 2").fetchone() == (2,)


def test_a_transaction_fails_and_can_be_rolled_back(connect: Connect, threads: ThreadPoolExecutor) -> None:
    with connect() as killer, connect() as busy:
        busy.execute("CREATE TABLE t (id int PRIMARY KEY)")
        busy.execute("BEGIN")
        busy.execute("INSERT INTO t VALUES (1)")
        running = threads.submit(busy.execute, "SELECT pg_sleep(60)")
        until(killer, state_of(busy.info.backend_pid, "state"), ("active",))
        killer.execute(f"KILL {busy.info.backend_pid}".encode())
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result(_SECONDS)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            busy.execute("SELECT 1")
        busy.execute("ROLLBACK")
        assert killer.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_rights_are_those_of_pg_cancel_backend(connect: Connect, threads: ThreadPoolExecutor) -> None:
    with connect() as root:
        for sql in ("CREATE ROLE low LOGIN", "CREATE ROLE high LOGIN", "GRANT pg_signal_backend TO high"):
            root.execute(sql.encode())
        with connect("low") as low, connect("low") as other, connect("high") as high, connect() as super_user:
            for victim in (root, high):
                for call in (f"KILL {victim.info.backend_pid}", f"SELECT pg_cancel_backend({victim.info.backend_pid})"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        low.execute(call.encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):  # a superuser's
                high.execute(f"KILL {super_user.info.backend_pid}".encode())
            for killer in (other, high):
                running = threads.submit(low.execute, "SELECT pg_sleep(60)")
                until(root, state_of(low.info.backend_pid, "state"), ("active",))
                killer.execute(f"KILL {low.info.backend_pid}".encode())
                with pytest.raises(psycopg.errors.QueryCanceled):
                    running.result(_SECONDS)


def test_mistakes(connect: Connect) -> None:
    told: list[str | None] = []
    with connect() as connection:
        connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
        assert connection.execute("KILL 2147483647").statusmessage == "KILL"
        assert told == ["PID 2147483647 is not a PostgreSQL backend process"]
        for wrong in ("KILL", "KILL nobody", "KILL 'a:b'", "KILL 1 2", "KILL -1"):
            with pytest.raises((psycopg.errors.SyntaxError, psycopg.errors.InvalidParameterValue)):
                connection.execute(wrong.encode())
        with pytest.raises(psycopg.errors.QueryCanceled):  # of itself, as in PostgreSQL
            connection.execute(f"KILL {connection.info.backend_pid}; SELECT pg_sleep(5)".encode())
