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


CHANGING_VIEWS = (
    "CREATE MATERIALIZED VIEW inner_pairs AS SELECT f.id, f.k, d.id AS other, d.v FROM f "
    "JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON f.k = d.k",
    "CREATE MATERIALIZED VIEW left_pairs AS SELECT f.id, f.k, d.id AS other, d.v FROM f "
    "LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON f.k = d.k AND d.v > 0",
    "CREATE MATERIALIZED VIEW left_ranges AS SELECT f.id, d.id AS other FROM f "
    "LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON f.k < d.v",
    "CREATE MATERIALIZED VIEW left_of_groups AS SELECT g.k, g.n, d.id AS other FROM (SELECT k, count(*) AS n FROM f "
    "GROUP BY k) g LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() AS d ON g.n = d.v",
)
Dim = dict[int, tuple[int, int]]
Pairs = dict[object, list[tuple[object, ...]]]


def met(dim: Dim, key: int, other: int) -> dict[str, list[tuple[object, ...]]]:
    """What each view's left row with that value (of groups: that count) finds now, without its own columns."""
    equal = [(d, v) for d, (k, v) in dim.items() if k == key]
    return {
        "inner_pairs": list(equal),
        "left_pairs": [pair for pair in equal if pair[1] > 0] or [(None, None)],
        "left_ranges": [(d,) for d, (_, v) in dim.items() if key < v] or [(None,)],
        "left_of_groups": [(d,) for d, (_, v) in dim.items() if other == v] or [(None,)],
    }


@pytest.mark.on_spark
def test_left_rows_that_change(server: Server) -> None:
    """A left row keeps what it has found when it came, and takes it along when it goes or changes."""
    client, chance = server.client(), random.Random(11)
    client.run("CREATE TABLE f (id INT PRIMARY KEY, k INT)")
    client.run("CREATE TABLE dim (id INT PRIMARY KEY, k INT, v INT)")
    for statement in CHANGING_VIEWS:
        client.run(statement)
    dim: Dim = {}
    left: dict[int, int] = {}
    groups: dict[int, int] = {}
    found: dict[str, Pairs] = {name: {} for name in met({}, 0, 0)}
    for step in range(12):
        key = chance.randrange(8)
        dim[key] = (chance.randrange(4), chance.randrange(4))
        client.run(f"INSERT INTO dim VALUES ({key}, {dim[key][0]}, {dim[key][1]})")
        client.run("FLUSH")
        before = dict(left)
        if chance.random() < 0.3:
            bound = chance.randrange(12)
            client.run(f"DELETE FROM f WHERE id < {bound}")
            left = {i: k for i, k in left.items() if i >= bound}
        else:
            came = {chance.randrange(12): chance.randrange(4) for _ in range(4)}
            client.run("INSERT INTO f VALUES " + ", ".join(f"({i}, {k})" for i, k in came.items()))
            left |= came
        client.run("FLUSH")
        counts = {k: list(left.values()).count(k) for k in set(left.values())}
        for name, pairs in found.items():
            now = counts if name == "left_of_groups" else left
            was = groups if name == "left_of_groups" else before
            for i in [i for i in was if now.get(i) != was[i]]:
                del pairs[i]
            for i in [i for i in now if was.get(i) != now[i]]:
                pairs[i] = [(i, now[i], *each) for each in met(dim, now[i], now[i])[name]]
            columns = {"left_of_groups": "k, n, other", "left_ranges": "id, NULL, other"}.get(name, "id, k, other, v")
            expected = [row for each in pairs.values() for row in each]
            if name == "left_ranges":
                expected = [(row[0], None, row[2]) for row in expected]
            assert rows(client, f"SELECT {columns} FROM {name}") == sorted(expected, key=repr), (step, name)
        groups = counts
        if step == 6:
            server.restart()
            client = server.client()
