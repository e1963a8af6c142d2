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


@pytest.mark.parametrize("seed", SEEDS)
def test_views_of_recursions_equal_postgresqls_queries_at_every_epoch(
    server: Server, postgres_oracle: PostgresOracle, seed: int
) -> None:
    with judge(postgres_oracle) as postgres:
        follow(server.client(), postgres, seed, QUERIES, QUERIES)
