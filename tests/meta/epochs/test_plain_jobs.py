"""Which views are known to be cheap before they have read a row."""

from __future__ import annotations

import pytest

from risingpy.plan.plain_jobs import is_plain
from tests.meta.conftest import Server

PLAIN = (
    "SELECT count(*) FROM t",
    "SELECT v % 10 AS d, count(*), sum(v + 1), max(at) FROM t WHERE v > 3 AND name = 'x' GROUP BY 1",
    "SELECT id FROM t WHERE name IS NOT NULL",
    "SELECT id, name, CASE WHEN v > 1 THEN v ELSE 0 END AS c FROM t UNION ALL SELECT id, name, v FROM t",
    "SELECT id, v::numeric / 3 AS third, v::float8 FROM t",
)
OTHER = (
    "SELECT id, repeat(name, 1000000) AS r FROM t",
    "SELECT max(length(name || name)) FROM t",
    "SELECT v, array_agg(name) FROM t GROUP BY v",
    "SELECT v, string_agg(name, ',') FROM t GROUP BY v",
    "SELECT count(*) FROM t AS a, t AS b WHERE a.v < b.v",
    "SELECT a.id, b.id AS other FROM t AS a JOIN t AS b ON a.v = b.v",
    "SELECT count(*) FILTER (WHERE name ~ '(.*)*9$') FROM t",
    "SELECT id, generate_series(1, v) FROM t",
    "SELECT id, rank() OVER (ORDER BY v) FROM t",
)


@pytest.fixture
def with_table(server: Server) -> Server:
    server.client().run("CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR, at TIMESTAMP)")
    return server


def _is_plain(server: Server, query: str) -> bool:
    client = server.client()
    client.run(f"CREATE MATERIALIZED VIEW seen AS {query}")
    state = server.database.reads.state
    found = next(r.relation_id for r in state.catalog.relations.values() if r.name == "seen")
    plain = is_plain(state.jobs[found])
    client.run("DROP MATERIALIZED VIEW seen")
    return plain


def test_what_is_short_is_plain(with_table: Server) -> None:
    assert [query for query in PLAIN if not _is_plain(with_table, query)] == []


def test_what_may_be_long_is_not(with_table: Server) -> None:
    assert [query for query in OTHER if _is_plain(with_table, query)] == []
