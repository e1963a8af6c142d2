"""Subscription cursors: RisingWave's DECLARE and FETCH, waiting, cancelling, and what a client sees of an ALTER."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError, UndefinedCursor
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client


@pytest.fixture
def feed(client: Client) -> Client:
    """t, a view m of it, and a subscription s to m, with one change."""
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR); INSERT INTO t VALUES (1, 'old'); FLUSH")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT k, v FROM t")
    client.run("CREATE SUBSCRIPTION s FROM m WITH (retention = '1D')")
    client.run("INSERT INTO t VALUES (2, 'a'); FLUSH")
    return client


def test_a_cursor_gives_rows_with_op_and_time(feed: Client) -> None:
    feed.run("DECLARE c SUBSCRIPTION CURSOR FOR s SINCE begin()")
    assert feed.tag == "DECLARE SUBSCRIPTION CURSOR"
    feed.run("UPDATE t SET v = 'b' WHERE k = 2; FLUSH")
    feed.run("DELETE FROM t WHERE k = 1; FLUSH")
    [[k, v, op, at]] = feed.run("FETCH NEXT FROM c")
    assert (k, v, op) == (2, "a", "Insert")
    assert isinstance(at, int)
    assert abs(at / 1000 - time.time()) < 60
    assert [row[:3] for row in feed.run("FETCH 2 FROM c")] == [(2, "a", "UpdateDelete"), (2, "b", "UpdateInsert")]
    assert feed.tag == "FETCH 2"
    assert [row[:3] for row in feed.run("FETCH 10 FROM c")] == [(1, "old", "Delete")]
    assert feed.run("FETCH NEXT FROM c") == []


def test_where_a_cursor_begins(feed: Client) -> None:
    feed.run("DECLARE now SUBSCRIPTION CURSOR FOR s; DECLARE now2 SUBSCRIPTION CURSOR FOR s SINCE now()")
    feed.run("DECLARE all_ SUBSCRIPTION CURSOR FOR s FULL")
    [*_, [*_, at]] = feed.run("DECLARE b SUBSCRIPTION CURSOR FOR s SINCE begin(); FETCH 9 FROM b")
    feed.run("INSERT INTO t VALUES (3, 'later'); FLUSH")
    later = (3, "later", "Insert")
    assert [row[:3] for row in feed.run("FETCH 9 FROM now")] == [later]
    assert [row[:3] for row in feed.run("FETCH 9 FROM now2")] == [later]
    rows = feed.run("FETCH 9 FROM all_")
    assert sorted(rows[:2], key=str) == [(1, "old", "Insert", None), (2, "a", "Insert", None)]
    assert [row[:3] for row in rows[2:]] == [later]
    feed.run(f"DECLARE at SUBSCRIPTION CURSOR FOR s SINCE {at}")
    assert [row[:3] for row in feed.run("FETCH 9 FROM at")] == [(2, "a", "Insert"), later]
    with pytest.raises(SqlError, match="does not have all changes") as failure:
        feed.run("DECLARE early SUBSCRIPTION CURSOR FOR s SINCE 1000")
    assert failure.value.sqlstate == "72000"
    with pytest.raises(SqlError, match="in the future"):
        feed.run(f"DECLARE late SUBSCRIPTION CURSOR FOR s SINCE {int(time.time() * 1000) + 100_000}")
    with pytest.raises(SqlError, match="already exists"):
        feed.run("DECLARE now SUBSCRIPTION CURSOR FOR s")
    assert [row[:2] for row in feed.run("SHOW SUBSCRIPTION CURSORS")] == [
        (name, "s") for name in ("all_", "at", "b", "now", "now2")
    ]
    feed.run("CLOSE now")
    with pytest.raises(UndefinedCursor):
        feed.run("FETCH NEXT FROM now")
    feed.run("CLOSE ALL")
    assert feed.run("SHOW SUBSCRIPTION CURSORS") == []


def test_an_alter_gives_an_empty_fetch_and_then_the_new_columns(client: Client) -> None:
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT); CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    client.run("DECLARE c SUBSCRIPTION CURSOR FOR s")
    client.run("INSERT INTO t VALUES (1, 1); FLUSH")
    client.run("ALTER TABLE t ADD COLUMN w VARCHAR DEFAULT 'w'; ALTER TABLE t DROP COLUMN v")
    client.run("INSERT INTO t VALUES (2); FLUSH")
    assert [row[:-1] for row in client.run("FETCH 9 FROM c")] == [(1, 1, "Insert")]
    assert client.run("FETCH 9 FROM c") == []
    assert [row[:-1] for row in client.run("FETCH 9 FROM c")] == [(2, "w", "Insert")]


def test_what_a_cursor_refuses(feed: Client) -> None:
    feed.run("DECLARE c SUBSCRIPTION CURSOR FOR s")
    for statement in ("FETCH PRIOR FROM c", "FETCH ALL FROM c", "MOVE 1 FROM c", "FETCH ABSOLUTE 1 FROM c"):
        with pytest.raises(SqlError) as failure:
            feed.run(statement)
        assert failure.value.sqlstate == "0A000"
    with pytest.raises(SqlError, match="not a subscription"):
        feed.run("DECLARE d SUBSCRIPTION CURSOR FOR m")
    with pytest.raises(SqlError, match="invalid value of the option timeout"):
        feed.run("FETCH NEXT FROM c WITH (timeout = 'soon')")
    with pytest.raises(SqlError, match="takes a timeout"):
        feed.run("DECLARE p CURSOR WITH HOLD FOR SELECT 1; FETCH NEXT FROM p WITH (timeout = '1s')")
    feed.run("DROP SUBSCRIPTION s")
    with pytest.raises(SqlError, match="the subscription was dropped"):
        feed.run("FETCH NEXT FROM c")


def test_a_failed_fetch_passes_no_rows(feed: Client) -> None:
    feed.run("DECLARE c SUBSCRIPTION CURSOR FOR s SINCE begin()")
    [statement] = feed.session.split("FETCH 5 FROM c")
    result = feed.session.execute(feed.session.prepare(statement, ()), ())
    assert result.batches is not None
    next(result.batches)  # the client was cancelled while it was sent these
    feed.session.fail()
    assert [row[:3] for row in feed.run("FETCH 5 FROM c")] == [(2, "a", "Insert")]
    assert feed.run("FETCH 5 FROM c") == []


@pytest.fixture
def dial(server: WireServer) -> Iterator[Callable[[], psycopg.Connection[Any]]]:
    opened: list[psycopg.Connection[Any]] = []

    def connect() -> psycopg.Connection[Any]:
        dsn = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
        opened.append(psycopg.connect(dsn, autocommit=True))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def test_a_fetch_waits_for_the_first_row(dial: Callable[[], psycopg.Connection[Any]]) -> None:
    reader, writer = dial(), dial()
    writer.execute("CREATE TABLE t (k INT PRIMARY KEY)")
    writer.execute("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    reader.execute("DECLARE c SUBSCRIPTION CURSOR FOR s")
    began = time.monotonic()
    assert reader.execute("FETCH NEXT FROM c WITH (timeout = '200 ms')").fetchall() == []
    assert 0.2 <= time.monotonic() - began < 10
    writing = threading.Timer(0.2, lambda: writer.execute("INSERT INTO t VALUES (1)"))
    writing.start()
    with reader.transaction():
        rows = reader.execute("FETCH 10 FROM c WITH (timeout = '1 minute')").fetchall()
    assert [row[:2] for row in rows] == [(1, "Insert")]
    assert time.monotonic() - began < 30
    writing.join()


def test_a_cancelled_wait_loses_nothing(dial: Callable[[], psycopg.Connection[Any]]) -> None:
    reader, writer = dial(), dial()
    writer.execute("CREATE TABLE t (k INT PRIMARY KEY)")
    writer.execute("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    reader.execute("DECLARE c SUBSCRIPTION CURSOR FOR s")
    threading.Timer(0.2, reader.cancel_safe).start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        reader.execute("FETCH NEXT FROM c WITH (timeout = '1 minute')")
    reader.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        reader.execute("FETCH NEXT FROM c WITH (timeout = '1 minute')")
    writer.execute("INSERT INTO t VALUES (1)")
    reader.execute("SET statement_timeout = 0")
    rows = reader.execute("FETCH NEXT FROM c WITH (timeout = '1 minute')").fetchall()
    assert [row[:2] for row in rows] == [(1, "Insert")]
