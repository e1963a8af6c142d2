"""The views of the cluster's tests: an aggregation, a join, a top-N, a recursion. Each is right at every epoch."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

QUERIES = {
    "q_agg": "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g",
    "q_join": "SELECT a.id, b.v FROM t a JOIN t b ON a.g = b.id",
    "q_reached": "WITH RECURSIVE r (n, m) AS (SELECT id, g::bigint FROM t WHERE id % 10 = 0 UNION "
    "SELECT r.n, t.id FROM r JOIN t ON t.g = r.m % 7 AND t.id < 1000 AND t.id % 9 = 1) SELECT n, m FROM r",
    "q_topn": "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 5",
}


BIG_QUERY = "SELECT a.id, b.v FROM big a JOIN big b ON a.id = b.id"


def make_big(connection: Connection[Any], state_rows: int) -> None:
    """A table and a join, with so many rows of state in all: the table's, two of the join for each, the result's."""
    connection.execute("CREATE TABLE big (id BIGINT PRIMARY KEY, v INT)")
    connection.execute(f"CREATE MATERIALIZED VIEW big_join AS {BIG_QUERY}")
    rows, piece = state_rows // 4, 250_000
    for start in range(0, rows, piece):
        end = min(rows, start + piece)
        connection.execute(f"INSERT INTO big SELECT i, 1 FROM generate_series({start}, {end - 1}) i")
    connection.execute("FLUSH")


def change_big(connection: Connection[Any], number: int) -> None:
    """Updates a few rows all over the table, and waits for no epoch."""
    connection.execute("UPDATE big SET v = v + 1 WHERE id IN (%s, %s)", (number, 7919 * number % 100_000))


def require_big_right(connection: Connection[Any], context: object) -> None:
    """AssertionError if the join of the big table is not its query's result."""
    totals = "SELECT count(*), sum(v), sum(id), sum(id % 1009 * v) FROM ({}) q"
    view = connection.execute(totals.format("SELECT * FROM big_join")).fetchone()
    assert view == connection.execute(totals.format("SELECT id, v FROM big")).fetchone(), context


def make_views(connection: Connection[Any]) -> None:
    """A table of a hundred rows, and the views on it."""
    connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v INT)")
    connection.execute("INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 100) i")
    for name, query in QUERIES.items():
        connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def change_rows(connection: Connection[Any], number: int) -> None:
    """An insert, a delete and an update, other ones for each number, and an epoch that has them."""
    connection.execute("INSERT INTO t VALUES (%s, %s, %s)", (1000 + number, number % 7, number))
    connection.execute("DELETE FROM t WHERE id = %s", (number + 1,))
    connection.execute("UPDATE t SET v = v + 1 WHERE g = 3")
    connection.execute("FLUSH")


def require_right(connection: Connection[Any], context: object) -> None:
    """AssertionError if a view is not its query's result. The rows of each are compared at one epoch."""
    for name, query in QUERIES.items():
        found = sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
        assert found == sorted(connection.execute(query).fetchall()), (name, context)
