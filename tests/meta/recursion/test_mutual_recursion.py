"""WITH MUTUALLY RECURSIVE over the same graphs: PostgreSQL answers by recursions of its own that have the same result.

What it refuses inside of a recursion stands around it there: several references, min, count, NOT EXISTS, outer joins.
"""

from __future__ import annotations

import pytest

from tests.meta.conftest import Server
from tests.meta.recursion.graphs import SEEDS, follow, judge
from tests.postgres_oracle import PostgresOracle

_REACHED = (
    "reached (g, n) AS (SELECT g, v FROM roots UNION SELECT r.g, e.b FROM reached r JOIN e ON e.g = r.g AND e.a = r.n)"
)
_OWN_REACHED = _REACHED.replace("(g, n)", "(g int, n int)", 1)
_PAIRS = "SELECT g, a, b FROM pairs"
QUERIES = {
    "both_sides": "WITH MUTUALLY RECURSIVE pairs (g int, a int, b int) AS (SELECT g, a, b FROM e UNION "
    f"SELECT x.g, x.a, y.b FROM pairs x JOIN pairs y ON y.g = x.g AND y.a = x.b) {_PAIRS}",
    "shortest": "WITH MUTUALLY RECURSIVE d (g int, n int, d numeric) AS (SELECT g, n, min(d) FROM ("
    "SELECT g, v AS n, 0 AS d FROM roots UNION ALL "
    "SELECT d.g, e.b, d.d + e.w FROM d JOIN e ON e.g = d.g AND e.a = d.n) c GROUP BY g, n) "
    "SELECT g, n, trim_scale(d) FROM d",
    "parity": "WITH MUTUALLY RECURSIVE "
    "even (g int, n int) AS (SELECT g, v FROM roots UNION "
    "SELECT o.g, e.b FROM odd o JOIN e ON e.g = o.g AND e.a = o.n), "
    "odd (g int, n int) AS (SELECT DISTINCT v.g, e.b FROM even v JOIN e ON e.g = v.g AND e.a = v.n) "
    "SELECT g, n, 0 AS p FROM even UNION ALL SELECT g, n, 1 FROM odd",
    "never_reached": f"WITH MUTUALLY RECURSIVE {_OWN_REACHED}, others (g int, n int) AS (SELECT DISTINCT g, a FROM e "
    "WHERE NOT EXISTS (SELECT 1 FROM reached r WHERE r.g = e.g AND r.n = e.a)), "
    "ends (g int, n int, m int) AS (SELECT r.g, r.n, e.b FROM reached r LEFT JOIN e ON e.g = r.g AND e.a = r.n) "
    "SELECT g, n, NULL::int AS m FROM others UNION ALL SELECT g, n, m FROM ends",
    "counted": f"WITH MUTUALLY RECURSIVE {_OWN_REACHED}, c (g int, k bigint, s bigint, m int) AS ("
    "SELECT r.g, count(*), sum(e.b), max(e.b) FROM reached r JOIN e ON e.g = r.g AND e.a = r.n GROUP BY r.g), "
    "first (g int, n int) AS (SELECT g, n FROM (SELECT g, n, row_number() OVER (PARTITION BY g ORDER BY n) AS k "
    "FROM reached) r WHERE k <= 2), whole (k bigint) AS (SELECT count(*) FROM reached) "
    "SELECT c.g, k, s, m, n, (SELECT k FROM whole) AS w FROM c JOIN first USING (g)",
}
JUDGED = {
    "both_sides": "WITH RECURSIVE pairs (g, a, b) AS (SELECT g, a, b FROM e UNION "
    f"SELECT r.g, r.a, e.b FROM pairs r JOIN e ON e.g = r.g AND e.a = r.b) {_PAIRS}",
    # No edge is lighter than 1 or heavier than 4.5, and a shortest way has at most 5 of them.
    "shortest": "WITH RECURSIVE r (g, n, d, k) AS (SELECT g, v, 0::numeric, 0 FROM roots UNION "
    "SELECT r.g, e.b, r.d + e.w, k + 1 FROM r JOIN e ON e.g = r.g AND e.a = r.n WHERE k < 5) "
    "SELECT g, n, trim_scale(min(d)) FROM r GROUP BY g, n",
    "parity": "WITH RECURSIVE r (g, n, p) AS (SELECT g, v, 0 FROM roots UNION "
    "SELECT r.g, e.b, 1 - p FROM r JOIN e ON e.g = r.g AND e.a = r.n) SELECT g, n, p FROM r",
    "never_reached": f"WITH RECURSIVE {_REACHED} SELECT DISTINCT g, a, NULL::int FROM e "
    "WHERE NOT EXISTS (SELECT 1 FROM reached r WHERE r.g = e.g AND r.n = e.a) UNION ALL "
    "SELECT r.g, r.n, e.b FROM reached r LEFT JOIN e ON e.g = r.g AND e.a = r.n",
    "counted": f"WITH RECURSIVE {_REACHED}, c AS (SELECT r.g, count(*) AS k, sum(e.b) AS s, max(e.b) AS m "
    "FROM reached r JOIN e ON e.g = r.g AND e.a = r.n GROUP BY r.g), "
    "first AS (SELECT g, n FROM (SELECT g, n, row_number() OVER (PARTITION BY g ORDER BY n) AS k "
    "FROM reached) r WHERE k <= 2) "
    "SELECT c.g, k, s, m, n, (SELECT count(*) FROM reached) AS w FROM c JOIN first USING (g)",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_views_of_mutual_recursions_equal_postgresqls_queries_at_every_epoch(
    server: Server, postgres_oracle: PostgresOracle, seed: int
) -> None:
    with judge(postgres_oracle) as postgres:
        follow(server.client(), postgres, seed, QUERIES, JUDGED)
