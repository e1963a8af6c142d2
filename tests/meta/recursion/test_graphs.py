"""WITH RECURSIVE in views over graphs whose edges change at random: at every epoch they equal PostgreSQL's queries."""

from __future__ import annotations

import pytest

from tests.meta.conftest import Server
from tests.meta.recursion.graphs import SEEDS, follow, judge
from tests.postgres_oracle import PostgresOracle

QUERIES = {
    "reached": "WITH RECURSIVE r (g, n) AS (SELECT g, v FROM roots UNION "
    "SELECT r.g, e.b FROM r JOIN e ON e.g = r.g AND e.a = r.n) SELECT g, n FROM r",
    "pairs": "WITH RECURSIVE r (g, a, b) AS (SELECT g, a, b FROM e UNION "
    "SELECT r.g, r.a, e.b FROM r JOIN e ON e.g = r.g AND e.a = r.b) SELECT g, a, b FROM r",
    "walks": "WITH RECURSIVE r (g, n, d) AS (SELECT g, v, 0 FROM roots UNION ALL "
    "SELECT r.g, e.b, r.d + 1 FROM r JOIN e ON e.g = r.g AND e.a = r.n WHERE r.d < 3) SELECT g, n, d FROM r",
    "shortest": "WITH RECURSIVE r (g, n, d) AS (SELECT g, v, 0::numeric FROM roots UNION "
    "SELECT r.g, e.b, r.d + e.w FROM r JOIN e ON e.g = r.g AND e.a = r.n WHERE r.d < 4) "
    "SELECT g, n, min(d) AS d FROM r GROUP BY g, n",
    "unblocked": "WITH RECURSIVE r (g, n) AS (SELECT g, v FROM roots UNION "
    "SELECT DISTINCT r.g, e.b FROM r JOIN e ON e.g = r.g AND e.a = r.n "
    "WHERE NOT EXISTS (SELECT 1 FROM e x WHERE x.g = e.g AND x.a = e.b AND x.b = e.b)) SELECT g, n FROM r",
    "ends": "WITH RECURSIVE r (g, n, d) AS (SELECT g, v, 0 FROM roots UNION "
    "SELECT r.g, e.b, r.d + 1 FROM r LEFT JOIN e ON e.g = r.g AND e.a = r.n AND e.b > r.n WHERE r.n IS NOT NULL) "
    "SELECT g, n, d FROM r",
    "cycles": "WITH RECURSIVE r (g, n) AS (SELECT g, v FROM roots UNION ALL "
    "SELECT r.g, e.b FROM r JOIN e ON e.g = r.g AND e.a = r.n AND e.w < 2) CYCLE n SET again USING path "
    "SELECT g, n FROM r WHERE NOT again",
    "two": "WITH RECURSIVE r (g, n) AS (SELECT g, v FROM roots UNION "
    "SELECT r.g, e.b FROM r JOIN e ON e.g = r.g AND e.a = r.n), back (g, n) AS (SELECT g, n FROM r WHERE n = 0 UNION "
    "SELECT b.g, e.a FROM back b JOIN e ON e.g = b.g AND e.b = b.n) "
    "SELECT g, n, (SELECT count(*) FROM r WHERE r.g = back.g) AS reached FROM back",
}

# The same graphs, whose nodes have numbers of their own: no column is handed on that all joins compare, so rows move.
_EDGES = "edges AS (SELECT 10 * g + a AS a, 10 * g + b AS b, w FROM e), starts AS (SELECT 10 * g + v AS n FROM roots)"
ACROSS_SHARDS = {
    name: f"WITH RECURSIVE {_EDGES}, {query}"
    for name, query in {
        "reached": "r (n) AS (SELECT n FROM starts UNION SELECT e.b FROM r JOIN edges e ON e.a = r.n) SELECT n FROM r",
        "pairs": "r (a, b) AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e ON e.a = r.b) "
        "SELECT a, b FROM r",
        "doubled": "r (a, b) AS (SELECT a, b FROM edges UNION SELECT s.a, e.b FROM (SELECT r.a, f.b FROM r "
        "JOIN edges f ON f.a = r.b AND f.w < 3) s JOIN edges e ON e.a = s.b) SELECT a, b FROM r",
        "walks": "r (n, d) AS (SELECT n, 0 FROM starts UNION ALL SELECT e.b, r.d + 1 FROM r JOIN edges e ON e.a = r.n "
        "WHERE r.d < 3) SELECT n, d FROM r",
        "shortest": "r (n, d) AS (SELECT n, 0::numeric FROM starts UNION SELECT e.b, r.d + e.w FROM r JOIN edges e "
        "ON e.a = r.n WHERE r.d < 4) SELECT n, min(d) AS d FROM r GROUP BY n",
        "unblocked": "r (n) AS (SELECT n FROM starts UNION SELECT DISTINCT e.b FROM r JOIN edges e ON e.a = r.n "
        "WHERE NOT EXISTS (SELECT 1 FROM edges x WHERE x.a = e.b AND x.b = e.b)) SELECT n FROM r",
        "ends": "r (n, d) AS (SELECT n, 0 FROM starts UNION SELECT e.b, r.d + 1 FROM r LEFT JOIN edges e "
        "ON e.a = r.n AND e.b > r.n WHERE r.n IS NOT NULL) SELECT n, d FROM r",
        "no_step": "r (n) AS (SELECT n FROM starts UNION SELECT n - 1 FROM r WHERE n % 10 > 0) SELECT n FROM r",
        "two": "r (n) AS (SELECT n FROM starts UNION SELECT e.b FROM r JOIN edges e ON e.a = r.n), back (n) AS "
        "(SELECT n FROM r WHERE n % 10 = 0 UNION SELECT e.a FROM back b JOIN edges e ON e.b = b.n JOIN r ON r.n = e.a) "
        "SELECT n, (SELECT count(*) FROM r WHERE r.n / 10 = back.n / 10) AS reached FROM back",
    }.items()
}


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_a_step_move_between_shards(server: Server, postgres_oracle: PostgresOracle, seed: int) -> None:
    with judge(postgres_oracle) as postgres:
        client = server.client()
        follow(client, postgres, seed, ACROSS_SHARDS, ACROSS_SHARDS)
        for name, query in ACROSS_SHARDS.items():
            plan = [line for (line,) in client.run(f"EXPLAIN CREATE MATERIALIZED VIEW {name}_again AS {query}")]
            assert any("StreamLevels" in str(line) for line in plan), (name, plan)
            analyzed = [str(line) for line, *_ in client.run(f"EXPLAIN ANALYZE MATERIALIZED VIEW {name}")]
            assert any("StreamLevelScan" in line for line in analyzed), (name, analyzed)


@pytest.mark.parametrize("seed", SEEDS)
def test_views_of_recursions_equal_postgresqls_queries_at_every_epoch(
    server: Server, postgres_oracle: PostgresOracle, seed: int
) -> None:
    with judge(postgres_oracle) as postgres:
        follow(server.client(), postgres, seed, QUERIES, QUERIES)
