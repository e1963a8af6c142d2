"""Graphs whose edges change at random, in the tables of a server and of a PostgreSQL that judges it.

RISINGPY_RECURSION_GRAPHS is the number of graphs. GRAPHS_AT_ONCE of them change in the same epochs; they share no
rows, so each is a graph by itself.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from tests.meta.conftest import Client
from tests.postgres_oracle import PostgresOracle

GRAPHS = int(os.environ.get("RISINGPY_RECURSION_GRAPHS", "20"))
GRAPHS_AT_ONCE = min(GRAPHS, 100)
EPOCHS = 4
NODES = 6
TABLES = (
    "CREATE TABLE e (g INT, a INT, b INT, w NUMERIC, PRIMARY KEY (g, a, b))",
    "CREATE TABLE roots (g INT, v INT, PRIMARY KEY (g, v))",
)
SEEDS = range(-(-GRAPHS // GRAPHS_AT_ONCE))

Postgres = psycopg.Connection[tuple[object, ...]]


def follow(
    client: Client, postgres: Postgres, seed: int, queries: Mapping[str, str], judged: Mapping[str, str]
) -> None:
    """Changes graphs at random, and compares views and SELECTs with what PostgreSQL answers to `judged`."""
    chance = random.Random(seed)
    graphs = min(GRAPHS_AT_ONCE, GRAPHS - seed * GRAPHS_AT_ONCE)
    for table in TABLES:
        client.run(table)
    made = create_views(client, queries, "")
    for epoch in range(EPOCHS):
        for sql in changes(chance, graphs):
            client.run(sql)
            postgres.execute(sql)
        if epoch == EPOCHS // 2:
            made |= create_views(client, queries, "_after")
        for view, name in made.items():
            expected = counted(postgres.execute(judged[name]).fetchall())
            assert counted(client.run(f"SELECT * FROM {view}")) == expected, (epoch, view)
            assert counted(client.run(queries[name])) == expected, (epoch, name)


@contextmanager
def judge(oracle: PostgresOracle) -> Iterator[Postgres]:
    """A connection to PostgreSQL whose tables are empty."""
    with oracle.connect() as postgres:
        postgres.execute("DROP TABLE IF EXISTS e, roots")
        for table in TABLES:
            postgres.execute(table)
        yield postgres


def create_views(client: Client, queries: Mapping[str, str], suffix: str) -> dict[str, str]:
    """Views of all queries; their names with the suffix, and those of the queries."""
    for name, query in queries.items():
        client.run(f"CREATE MATERIALIZED VIEW {name}{suffix} AS {query}")
    return {f"{name}{suffix}": name for name in queries}


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
