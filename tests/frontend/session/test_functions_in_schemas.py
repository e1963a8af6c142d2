"""Functions with a schema in front: in FROM, in the select list, beside functions of the same name elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from risingpy.errors import FeatureNotSupported, UndefinedFunction
from tests.frontend.session.conftest import Client

_TABLE_FUNCTION = """CREATE FUNCTION {name}(n INT) RETURNS TABLE(i INT, w VARCHAR) LANGUAGE python IMMUTABLE AS $$
def {bare}(n):
    for i in range(n or 0):
        yield i, "{word}"
$$"""


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    client = connect()
    client.run("CREATE SCHEMA s")
    client.run("CREATE TABLE t (a INT PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1), (2)")
    for name, word in (("s.made", "in s"), ("made", "in public")):
        client.run(_TABLE_FUNCTION.format(name=name, bare="made", word=word))
    client.run("CREATE FUNCTION s.f(x INT) RETURNS INT LANGUAGE sql AS 'SELECT $1 + 1'")
    client.run("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE sql AS 'SELECT $1 + 100'")
    client.run("CREATE FUNCTION s.unnest(x INT) RETURNS INT LANGUAGE sql AS 'SELECT $1 + 7'")
    return client


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT * FROM s.f(1)", [(2,)]),
        ("SELECT * FROM f(1)", [(101,)]),
        ("SELECT g.f FROM dev.s.f(1) AS g(f)", [(2,)]),
        ("SELECT * FROM s.made(2)", [(0, "in s"), (1, "in s")]),
        ("SELECT * FROM public.made(1)", [(0, "in public")]),
        ("SELECT * FROM s.made(1) WITH ORDINALITY AS r(x, y, z)", [(0, "in s", 1)]),
        ("SELECT * FROM t, s.made(a) r ORDER BY 1, 2", [(1, 0, "in s"), (2, 0, "in s"), (2, 1, "in s")]),
        ("SELECT * FROM t, LATERAL s.f(a) r ORDER BY 1", [(1, 2), (2, 3)]),
        ("SELECT * FROM t LEFT JOIN s.f(a) r ON r > 2 ORDER BY 1", [(1, None), (2, 3)]),
        ("SELECT * FROM ROWS FROM (s.f(1), f(1), s.made(1)) x", [(2, 101, 0, "in s")]),
        ("SELECT (s.made(1)).w", [("in s",)]),
        ("SELECT a, s.f(a) FROM t ORDER BY a", [(1, 2), (2, 3)]),
        ("SELECT * FROM s.unnest(1)", [(8,)]),
        ("SELECT * FROM pg_catalog.generate_series(1, 2)", [(1,), (2,)]),
        ("SELECT * FROM pg_catalog.unnest(ARRAY[1])", [(1,)]),
        ("SELECT x FROM information_schema._pg_expandarray(ARRAY[5])", [(5,)]),
    ],
)
def test_the_function_of_the_schema_is_called(client: Client, sql: str, rows: list[tuple[object, ...]]) -> None:
    assert client.run(sql) == rows


def test_a_view_of_them_agrees(client: Client) -> None:
    query = "SELECT t.a, r.w, r.i FROM t, s.made(t.a) r"
    client.run(f"CREATE MATERIALIZED VIEW m AS {query}")
    client.run("INSERT INTO t VALUES (3)")
    client.run("DELETE FROM t WHERE a = 2")
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run(query))
    client.run("ALTER SCHEMA s RENAME TO s2")
    client.run("UPDATE t SET a = 5 WHERE a = 3")
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run(query.replace("s.made", "s2.made")))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM s.generate_series(1, 2)",
        "SELECT * FROM nosuch.made(1)",
        "SELECT * FROM s.made('x', 'y')",
        "SELECT * FROM public.unnest(ARRAY[1])",
        "SELECT s.generate_series(1, 2)",
        "SELECT * FROM s.now()",
    ],
)
def test_a_function_of_another_schema_is_not_found(client: Client, sql: str) -> None:
    with pytest.raises(UndefinedFunction):
        client.run(sql)


def test_a_set_stands_where_sets_may(client: Client) -> None:
    with pytest.raises(FeatureNotSupported, match="set-returning functions are not allowed in"):
        client.run("SELECT a FROM t WHERE s.made(a) IS NOT NULL")
