"""Temporal joins that do not tell the key of the table, and functions in SQL, on several shards: against a model."""

from __future__ import annotations

import random

import pytest

from tests.meta.conftest import Client, Server

FUNCTIONS = (
    "CREATE FUNCTION best(d INT) RETURNS INT LANGUAGE sql AS 'SELECT max(v) FROM dim WHERE k = d'",
    "CREATE FUNCTION all_of(d INT) RETURNS TABLE (id INT, v INT) LANGUAGE sql AS 'SELECT id, v FROM dim WHERE k = d'",
)
VIEWS = (
    "CREATE MATERIALIZED VIEW by_column AS SELECT f.id, d.id AS other FROM f "
    "JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON f.k = d.k",
    "CREATE MATERIALIZED VIEW by_range AS SELECT f.id, d.id AS other FROM f "
    "JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON f.k < d.v",
    "CREATE MATERIALIZED VIEW values_of AS SELECT id, k, best(k) AS b FROM f",
    "CREATE MATERIALIZED VIEW rows_of AS SELECT f.id, r.id AS other, r.v FROM f, all_of(f.k) r",
    "CREATE MATERIALIZED VIEW sets_of AS SELECT f.id, (all_of(f.k)).v AS v FROM f",
)


def rows(client: Client, query: str) -> list[tuple[object, ...]]:
    return sorted(client.run(query), key=repr)


@pytest.mark.on_spark
def test_random_changes(server: Server) -> None:
    client, chance = server.client(), random.Random(7)
    client.run("CREATE TABLE f (id INT, k INT) APPEND ONLY")
    client.run("CREATE TABLE dim (id INT PRIMARY KEY, k INT, v INT)")
    for statement in (*FUNCTIONS, *VIEWS):
        client.run(statement)
    dim: dict[int, tuple[int, int]] = {}
    by_column, by_range, known = list[tuple[object, ...]](), list[tuple[object, ...]](), dict[int, int]()
    for step in range(12):
        for _ in range(chance.randrange(4)):
            key = chance.randrange(8)
            if key in dim and chance.random() < 0.3:
                del dim[key]
                client.run(f"DELETE FROM dim WHERE id = {key}")
            else:
                dim[key] = (chance.randrange(4), chance.randrange(6))
                client.run(f"INSERT INTO dim VALUES ({key}, {dim[key][0]}, {dim[key][1]})")
        client.run("FLUSH")
        came = {10 * step + i: chance.randrange(5) for i in range(chance.randrange(1, 5))}
        client.run("INSERT INTO f VALUES " + ", ".join(f"({i}, {k})" for i, k in came.items()))
        client.run("FLUSH")
        known |= came
        by_column += [(i, other) for i, k in came.items() for other, (d, _) in dim.items() if d == k]
        by_range += [(i, other) for i, k in came.items() for other, (_, v) in dim.items() if k < v]
        assert rows(client, "SELECT id, other FROM by_column") == sorted(by_column, key=repr)
        assert rows(client, "SELECT id, other FROM by_range") == sorted(by_range, key=repr)
        found = {i: [(other, v) for other, (d, v) in dim.items() if d == k] for i, k in known.items()}
        best = [(i, k, max((v for _, v in found[i]), default=None)) for i, k in known.items()]
        assert rows(client, "SELECT id, k, b FROM values_of") == sorted(best, key=repr)
        pairs = [(i, other, v) for i, each in found.items() for other, v in each]
        assert rows(client, "SELECT id, other, v FROM rows_of") == sorted(pairs, key=repr)
        assert rows(client, "SELECT id, v FROM sets_of") == sorted(((i, v) for i, _, v in pairs), key=repr)
        if step == 6:
            server.restart()
            client = server.client()
