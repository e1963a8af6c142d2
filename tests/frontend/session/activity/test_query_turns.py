"""Queries wait for their turn: who does, what the others see of it, and how the wait ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, connect

_DEADLINE = 30.0
_QUERY = "SELECT count(*), sum(n) FROM t WHERE n > 0"


@pytest.fixture
def crowded(database: Database) -> Iterator[ExitStack]:
    """All turns are taken until the stack is closed."""
    admission = database.query_engines.admission
    with ExitStack() as stack:
        for _ in range(admission.most):
            stack.enter_context(stack.enter_context(admission.place(lambda: None)).working())
        yield stack


@pytest.fixture
def filled(client: Client) -> Client:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)")
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 10) AS g")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM t")
    client.run("FLUSH")
    return client


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def _fetched(connection: Connection, text: str) -> object:
    try:
        return connection.execute(text).fetchall()
    except psycopg.Error as error:
        return error.sqlstate


def test_many_wait_and_none_fails(filled: Client, server: WireServer, crowded: ExitStack) -> None:
    seen = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'QueryAdmission' AND state = 'active'"
    with ExitStack() as stack, ThreadPoolExecutor(20) as pool:
        connections = [stack.enter_context(connect(server)) for _ in range(20)]
        later: list[Future[object]] = [pool.submit(_fetched, each, _QUERY) for each in connections]
        _wait_until(lambda: filled.run(seen) == [(20,)])
        with connect(server) as other:  # these need no turn
            assert _fetched(other, "SELECT n FROM t WHERE id = 3") == [(3,)]
            assert _fetched(other, "SELECT pg_sleep(0), 1 + 1")
            assert other.execute("UPDATE t SET n = n + 1 WHERE id = 1").statusmessage == "UPDATE 1"
        assert not any(each.done() for each in later)
        crowded.close()
        answers = {str(each.result(_DEADLINE)) for each in later}
    assert answers <= {"[(10, 55)]", "[(10, 56)]"}


def test_one_that_waits_can_be_cancelled_and_has_its_timeout(
    filled: Client, server: WireServer, crowded: ExitStack
) -> None:
    with ThreadPoolExecutor(2) as pool, crowded, connect(server) as one, connect(server) as two:
        two.execute("SET statement_timeout = 300")
        first, second = pool.submit(_fetched, one, _QUERY), pool.submit(_fetched, two, _QUERY)
        assert second.result(_DEADLINE) == "57014"
        assert not first.done()
        filled.run(f"SELECT pg_cancel_backend({one.info.backend_pid})")
        assert first.result(_DEADLINE) == "57014"
        crowded.close()
        assert _fetched(one, _QUERY) == _fetched(two, _QUERY) == [(10, 55)]


def test_a_cursor_that_is_open_keeps_nobody_waiting(filled: Client, server: WireServer, database: Database) -> None:
    most = database.query_engines.admission.most
    with ExitStack() as stack:
        for _ in range(most):
            holder = stack.enter_context(connect(server))
            holder.execute("BEGIN")
            holder.execute("DECLARE c CURSOR FOR SELECT a.n FROM t a, t b, t c, t d, t e")
            assert len(holder.execute("FETCH 5 FROM c").fetchall()) == 5
        with connect(server) as other:
            assert _fetched(other, _QUERY) == [(10, 55)]


def test_the_settings_are_shown(client: Client) -> None:
    assert client.run("SHOW max_connections") == [("1000",)]
    assert client.run("SHOW max_concurrent_queries") == [("8",)]
    with pytest.raises(Exception, match="cannot be changed"):
        client.run("SET max_connections = 5")
