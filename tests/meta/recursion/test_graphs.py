"""WITH RECURSIVE in views over graphs whose edges change at random: at every epoch they equal PostgreSQL's queries.

RISINGPY_RECURSION_GRAPHS is the number of graphs. GRAPHS_AT_ONCE of them change in the same epochs; they share no
rows, so each is a graph by itself.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.meta.conftest import Client, Server
from tests.postgres_oracle import PostgresOracle

GRAPHS = int(os.environ.get("RISINGPY_RECURSION_GRAPHS", "20"))
GRAPHS_AT_ONCE = min(GRAPHS, 100)
EPOCHS = 4
NODES = 6
TABLES = (
    "CREATE TABLE e (g INT, a INT, b INT, w NUMERIC, PRIMARY KEY (g, a, b))",
    "CREATE TABLE roots (g INT, v INT, PRIMARY KEY (g, v))",
)
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

Postgres = psycopg.Connection[tuple[object, ...]]


@pytest.mark.parametrize("seed", range(-(-GRAPHS // GRAPHS_AT_ONCE)))
def test_views_of_recursions_equal_postgresqls_queries_at_every_epoch(
    server: Server, postgres_oracle: PostgresOracle, seed: int
) -> None:
    chance, client = random.Random(seed), server.client()
    graphs = min(GRAPHS_AT_ONCE, GRAPHS - seed * GRAPHS_AT_ONCE)
    with judge(postgres_oracle) as postgres:
        for table in TABLES:
            client.run(table)
        made = create_views(client, "")
        for epoch in range(EPOCHS):
            for sql in changes(chance, graphs):
                client.run(sql)
                postgres.execute(sql)
            if epoch == EPOCHS // 2:
                made |= create_views(client, "_after")
            for view, query in made.items():
                expected = counted(postgres.execute(query).fetchall())
                assert counted(client.run(f"SELECT * FROM {view}")) == expected, (epoch, view)
                assert counted(client.run(query)) == expected, (epoch, query)


@contextmanager
def judge(oracle: PostgresOracle) -> Iterator[Postgres]:
    """A connection to PostgreSQL whose tables are empty."""
    with oracle.connect() as postgres:
        postgres.execute("DROP TABLE IF EXISTS e, roots")
        for table in TABLES:
            postgres.execute(table)
        yield postgres


def create_views(client: Client, suffix: str) -> dict[str, str]:
    """Views of all queries, by name."""
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW {name}{suffix} AS {query}")
    return {f"{name}{suffix}": query for name, query in QUERIES.items()}


def counted(rows: list[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in rows)


def changes(chance: random.Random, graphs: int) -> list[str]:
    """The statements of one epoch's changes: every graph gets edges and loses some; roots change in a few."""
    inserted = {(g, chance.randrange(NODES), chance.randrange(NODES)) for g in range(graphs) for _ in range(3)}
    edges = ", ".join(f"({g}, {a}, {b}, {chance.choice(['1', '1.0', '2.5'])})" for g, a, b in sorted(inserted))
    lost = sorted({(g, chance.randrange(NODES)) for g in range(graphs) for _ in range(2)})
    deleted = " OR ".join(f"(g = {g} AND a = {a} AND b <= {chance.randrange(NODES)})" for g, a in lost)
    changed = sorted({(g, chance.randrange(NODES)) for g in range(graphs)})
    updated = " OR ".join(f"(g = {g} AND b = {b})" for g, b in changed)
    roots = sorted({(chance.randrange(graphs), chance.randrange(NODES)) for _ in range(graphs)})
    new_roots = ", ".join(f"({g}, {v})" for g, v in roots)
    old_roots = " OR ".join(f"(g = {g} AND v <> {v})" for g, v in roots[::3])
    order = [
        f"DELETE FROM e WHERE {deleted}",
        f"INSERT INTO e VALUES {edges} ON CONFLICT (g, a, b) DO UPDATE SET w = excluded.w",
        f"UPDATE e SET w = w + 0.50 WHERE {updated}",
        f"INSERT INTO roots VALUES {new_roots} ON CONFLICT (g, v) DO NOTHING",
    ]
    if chance.random() < 0.5:
        order.append(f"DELETE FROM roots WHERE {old_roots}")
    chance.shuffle(order)
    return order
