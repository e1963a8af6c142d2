"""SELECT through a session: snapshots, portals, lookups by key, cancellation."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from risingpy.errors import QueryCanceled, UndefinedTable
from risingpy.meta.database import Database


@pytest.fixture
def numbers(client: Any) -> Any:
    client.run("CREATE TABLE numbers (a int, b int, c varchar, PRIMARY KEY (a, b))")
    values = ", ".join(f"({i % 10}, {i}, 'v{i}')" for i in range(100))
    client.run(f"INSERT INTO numbers VALUES {values}")
    return client


def test_constants(client: Any) -> None:
    assert client.run("SELECT 1, 'x', NULL, true, 1 + 1 AS two") == [(1, "x", None, True, 2)]
    assert client.run("VALUES (1, 'a'), (2, 'b')") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [("SELECT", 1), ("SELECT FROM numbers", 100), ("SELECT FROM numbers WHERE a = 3", 10), ("TABLE empty", 2)],
)
def test_rows_without_columns(numbers: Any, sql: str, rows: int) -> None:
    numbers.run("CREATE MATERIALIZED VIEW empty AS SELECT FROM numbers WHERE b < 2")
    [statement] = numbers.session.split(sql)
    result = numbers.session.execute(numbers.session.prepare(statement, ()), ())
    assert sum(batch.num_rows for batch in result.batches) == rows


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("a = 3 AND b = 13", [("v13",)]),
        ("13 = b AND a = 3", [("v13",)]),
        ("a = 4 AND b = 13", []),
        ("a = 3 AND b = 13 AND c = 'v13'", [("v13",)]),
        ("a = 3 AND b = 13 AND c = 'other'", []),
        ("a = 3 AND b = 13 AND b = 23", []),
        ("a = 3 AND b = NULL", []),
        ("a = 3 AND b < 20", [("v3",), ("v13",)]),
        ("a = 3 AND c = 'v23'", [("v23",)]),
        ("a = 33", []),
        ("a = 3 AND b = 13 OR a = 4 AND b = 14", [("v13",), ("v14",)]),
    ],
)
def test_lookups_by_key(numbers: Any, where: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(numbers.run(f"SELECT c FROM numbers WHERE {where}")) == sorted(rows)


def test_lookups_give_any_columns_in_any_order(numbers: Any) -> None:
    assert numbers.run("SELECT c, 7, a FROM numbers WHERE a = 3 AND b = 13") == [("v13", 7, 3)]
    assert numbers.run("SELECT * FROM numbers WHERE a = 3 AND b = 13") == [(3, 13, "v13")]
    assert numbers.run("SELECT count(*) FROM numbers WHERE a = 3 AND b = 13") == [(1,)]


def test_several_portals_at_once(numbers: Any) -> None:
    session = numbers.session
    [statement] = session.split("SELECT b FROM numbers ORDER BY b")
    prepared = session.prepare(statement, ())
    first, second = (session.execute(prepared, ()).batches for _ in range(2))
    assert first is not None
    assert second is not None
    assert next(first).num_rows == next(second).num_rows == 100
    first.close()
    assert list(second) == []
    assert numbers.run("SELECT max(b) FROM numbers") == [(99,)]


def test_rows_that_are_never_asked_for_hold_nothing(numbers: Any, database: Database) -> None:
    [statement] = numbers.session.split("SELECT b FROM numbers")
    result = numbers.session.execute(numbers.session.prepare(statement, ()), ())
    result.batches.close()
    numbers.run("INSERT INTO numbers VALUES (1000, 1000, 'new')")
    assert numbers.run("SELECT c FROM numbers WHERE a = 1000") == [("new",)]


def test_a_prepared_statement_is_bound_anew_when_the_catalog_changes(numbers: Any) -> None:
    session = numbers.session
    [statement] = session.split("SELECT * FROM v")
    numbers.run("CREATE VIEW v AS SELECT a FROM numbers WHERE b = 3")
    prepared = session.prepare(statement, ())
    numbers.run("DROP VIEW v")
    numbers.run("CREATE VIEW v AS SELECT b AS a FROM numbers WHERE b = 4")
    assert next(session.execute(prepared, ()).batches).to_pylist() == [{"c0": 4}]
    numbers.run("DROP VIEW v")
    with pytest.raises(UndefinedTable):
        session.execute(prepared, ())


LONG = (
    "SELECT count(*) FROM numbers a, numbers b, numbers c, numbers d, numbers e WHERE a.b + b.b + c.b + d.b + e.b < 0"
)


def test_cancel(numbers: Any) -> None:
    threading.Timer(0.3, numbers.session.cancel).start()
    started = time.monotonic()
    with pytest.raises(QueryCanceled, match="due to user request"):
        numbers.run(LONG)
    assert time.monotonic() - started < 10
    assert numbers.run("SELECT 1") == [(1,)]


def test_cancel_at_any_moment(connect: Callable[[], Any]) -> None:
    client = connect()
    client.run("SELECT count(*) FROM pg_class")
    stop = threading.Event()

    def keep_cancelling() -> None:
        while not stop.is_set():
            client.session.cancel()
            time.sleep(0.0005)

    thread = threading.Thread(target=keep_cancelling)
    thread.start()
    for _ in range(15):
        with contextlib.suppress(QueryCanceled):
            client.run("SELECT sum(x) FROM (VALUES (1), (2)) AS v (x)")
        with contextlib.suppress(QueryCanceled):
            client.run("SELECT count(*) FROM pg_class")
    client.session.close()
    stop.set()
    thread.join()
    client.session.cancel()


def test_statement_timeout(numbers: Any) -> None:
    numbers.run("SET statement_timeout = '200ms'")
    with pytest.raises(QueryCanceled, match="due to statement timeout"):
        numbers.run(LONG)
    assert numbers.run("SELECT count(*) FROM numbers") == [(100,)]


def test_sessions_see_their_own_writes_in_views(numbers: Any, connect: Callable[[], Any]) -> None:
    numbers.run("CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n FROM numbers GROUP BY a")
    for i in range(5):
        numbers.run(f"INSERT INTO numbers VALUES (50, {i}, '')")
        assert numbers.run("SELECT n FROM m WHERE a = 50") == [(i + 1,)]


def test_system_and_own_relations_are_both_found(numbers: Any) -> None:
    assert numbers.run("SELECT relkind FROM pg_class WHERE relname = 'numbers'") == [("r",)]
    rows = numbers.run("SELECT attname FROM pg_attribute WHERE attrelid = 'numbers'::regclass ORDER BY attnum")
    assert rows == [("a",), ("b",), ("c",)]
