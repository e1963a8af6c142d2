"""EXPLAIN ANALYZE: what the operators of a running job have done, and what they keep."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

ROWS = 200


@pytest.fixture
def schema(client: Client) -> Client:
    client.run("CREATE TABLE t (id int PRIMARY KEY, g int, v int)")
    client.run(f"INSERT INTO t SELECT i, i % 4, i FROM generate_series(1, {ROWS}) AS i")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, max(v) AS high FROM t WHERE v > 20 GROUP BY g")
    return client


def figures(client: Client, sql: str = "EXPLAIN ANALYZE MATERIALIZED VIEW m") -> dict[str, tuple[Any, ...]]:
    """By operator: rows in, rows out, milliseconds, state rows, state bytes, lookups of state and those that found."""
    return {str(row[0]).lstrip(" │├└─").split()[0]: row[3:] for row in client.run(sql)}


def test_rows_and_state_since_the_view_was_made(schema: Client) -> None:
    found = figures(schema)
    assert list(found) == [
        *("StreamMaterialize", "StreamHashAgg", "StreamExchange", "StreamFilter", "StreamTableScan"),
    ]
    assert found["StreamTableScan"][:2] == (None, ROWS)
    assert found["StreamFilter"][:2] == (ROWS, ROWS - 20)
    assert found["StreamExchange"][:2] == (ROWS - 20, ROWS - 20)
    assert found["StreamHashAgg"][0] == ROWS - 20
    assert found["StreamMaterialize"][3] == 4  # groups
    assert found["StreamHashAgg"][3] == 4 + (ROWS - 20)  # a count per group, and every row for max
    assert found["StreamFilter"][3:] == (None, None, None, None)
    # Of each new group, its count, and the greatest of its rows, before the epoch and after it.
    assert found["StreamHashAgg"][5:] == (3 * 4, 4)
    assert found["StreamHashAgg"][2] > 0 and found["StreamHashAgg"][4] > 0


def test_changes_are_counted_as_they_come(schema: Client) -> None:
    before = figures(schema)
    schema.run("UPDATE t SET v = 1000 WHERE id = 30")  # one row goes, one comes; two groups' worth of results change
    after = figures(schema)
    assert after["StreamTableScan"][1] - before["StreamTableScan"][1] == 2
    assert after["StreamHashAgg"][1] - before["StreamHashAgg"][1] == 2
    assert after["StreamMaterialize"][3] == 4
    lookups, hits = (after["StreamHashAgg"][place] - before["StreamHashAgg"][place] for place in (5, 6))
    assert lookups == hits > 0  # the group is there: its count, and the rows that its max is of
    schema.run("INSERT INTO t VALUES (2000, 77, 100)")
    newest = figures(schema)
    assert [newest["StreamHashAgg"][place] - after["StreamHashAgg"][place] for place in (5, 6)] == [3, 1]


def test_lookups_of_a_join(schema: Client) -> None:
    schema.run("CREATE TABLE names (g int, name text)")
    schema.run("INSERT INTO names VALUES (0, 'a'), (1, 'b'), (1, 'c')")
    schema.run("CREATE MATERIALIZED VIEW j AS SELECT t.id, name FROM t JOIN names ON t.g = names.g")
    explain = "EXPLAIN ANALYZE MATERIALIZED VIEW j"
    before = figures(schema, explain)
    schema.run("INSERT INTO t VALUES (3000, 1, 0), (3001, 3, 0), (3002, 99, 0)")  # three keys, one has names
    after = figures(schema, explain)
    assert [after["StreamHashJoin"][place] - before["StreamHashJoin"][place] for place in (5, 6)] == [3, 1]


def test_fused_filter_has_rows_of_its_own(schema: Client) -> None:
    schema.run("CREATE MATERIALIZED VIEW doubled AS SELECT id, v * 2 AS w FROM t WHERE v <= 50")
    found = figures(schema, "EXPLAIN ANALYZE MATERIALIZED VIEW doubled")
    assert found["StreamFilter"][:3] == (ROWS, 50, None)
    assert found["StreamProject"][:2] == (50, 50)


def test_a_table_and_an_index(schema: Client) -> None:
    assert figures(schema, "EXPLAIN ANALYZE TABLE t")["StreamMaterialize"][:2] == (ROWS, ROWS)
    schema.run("CREATE INDEX i ON t (v)")
    assert figures(schema, "EXPLAIN ANALYZE INDEX i")["StreamMaterialize"][3] == ROWS


def test_a_duration_counts_what_happens_meanwhile(schema: Client, connect: Any) -> None:
    other = connect()
    timer = threading.Timer(0.2, lambda: other.run("INSERT INTO t VALUES (1001, 9, 900); FLUSH"))
    timer.start()
    found = figures(schema, "EXPLAIN ANALYZE (DURATION_SECS 1) MATERIALIZED VIEW m")
    timer.join()
    assert found["StreamTableScan"][1] == 1
    assert found["StreamMaterialize"][:2] == (1, 1)


def test_a_dropped_view_is_forgotten(schema: Client) -> None:
    fragments = {at[0] for at in schema.session.context.database.introspection.operator_work()}
    schema.run("DROP MATERIALIZED VIEW m")
    assert {at[0] for at in schema.session.context.database.introspection.operator_work()} < fragments


def test_a_query_is_run(schema: Client) -> None:
    lines = [str(line) for (line,) in schema.run("EXPLAIN ANALYZE SELECT * FROM t WHERE g = 1")]
    assert lines[0].startswith("Batch")
    assert lines[-1] == f"Rows: {ROWS // 4}"
    assert lines[-2].startswith("Execution Time: ")


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("EXPLAIN ANALYZE MATERIALIZED VIEW t", "42809"),
        ("EXPLAIN ANALYZE MATERIALIZED VIEW nowhere", "42P01"),
        ("EXPLAIN ANALYZE DELETE FROM t", "0A000"),
        ("EXPLAIN ANALYZE CREATE MATERIALIZED VIEW x AS SELECT 1", "0A000"),
        ("EXPLAIN (ANALYZE, FORMAT JSON) MATERIALIZED VIEW m", "0A000"),
        ("EXPLAIN (DURATION_SECS 5) SELECT 1", "0A000"),
        ("EXPLAIN (ANALYZE, DURATION_SECS 0) MATERIALIZED VIEW m", "42601"),
        ("EXPLAIN (ANALYZE, DURATION_SECS soon) MATERIALIZED VIEW m", "42601"),
    ],
)
def test_refused(schema: Client, sql: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as refused:
        schema.run(sql)
    assert refused.value.sqlstate == sqlstate
