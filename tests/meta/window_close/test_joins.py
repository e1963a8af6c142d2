"""EMIT ON WINDOW CLOSE over joins by time: a row comes once, never changes, and in the end all rows are there."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.meta.conftest import Client, Server

FIVE = "r.at BETWEEN l.at AND l.at + INTERVAL '5 seconds'"
QUERIES = {
    "pairs": f"SELECT l.id, r.id AS other, l.at, r.at AS later FROM l JOIN r ON l.k = r.k AND {FIVE}",
    "kept": f"SELECT l.id, r.id AS other, l.at FROM l LEFT JOIN r ON l.k = r.k AND {FIVE}",
    "turned": f"SELECT l.id, r.id AS other, r.at FROM l RIGHT JOIN r ON l.k = r.k AND {FIVE}",
    "before": "SELECT l.id, r.id AS other, l.at FROM l LEFT JOIN r"
    " ON l.k = r.k AND l.at - INTERVAL '2 seconds' >= r.at",
    "around": "SELECT l.id, r.id AS other, l.at FROM l LEFT JOIN r"
    " ON l.k = r.k AND l.at >= r.at - INTERVAL '2 seconds' AND l.at <= r.at + INTERVAL '2 seconds' AND r.v > 1",
    "without_key": "SELECT l.id, r.id AS other, l.at FROM l JOIN r"
    " ON r.at >= l.at AND r.at < l.at + INTERVAL '1 second'",
    "found": f"SELECT l.id, l.at FROM l WHERE EXISTS (SELECT FROM r WHERE l.k = r.k AND {FIVE})",
    "missed": f"SELECT l.id, l.at FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.k = r.k AND {FIVE})",
    "nearest": "SELECT l.id, r.id AS other, l.at FROM l ASOF LEFT JOIN r ON l.k = r.k AND l.at >= r.at",
    "nearer": "SELECT l.id, r.id AS other, l.at FROM l ASOF JOIN r"
    " ON l.k = r.k AND l.at > r.at AND l.at - r.at <= INTERVAL '2 seconds'",
    "counted": "SELECT date_trunc('minute', l.at) AS minute, count(*) AS n, count(r.id) AS others"
    f" FROM l LEFT JOIN r ON l.k = r.k AND {FIVE} GROUP BY 1",
    "full": "SELECT l.id, r.id AS other, l.at, r.at AS later FROM l FULL JOIN r ON l.k = r.k AND l.at = r.at",
    "either": "SELECT l.id, r.id AS other, at FROM l FULL JOIN r USING (k, at)",
}
KEYS, STEPS = 3, 12


class Written:
    """The rows of both tables, in the order of their time but for some seconds, as sources send them."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._next_id, self._now = 0, 0

    def step(self, client: Client) -> None:
        """Writes some rows to each table, perhaps none."""
        chance = self._chance
        for table in ("l", "r"):
            rows = []
            for _ in range(chance.randrange(6)):
                self._next_id += 1
                at = f"timestamp '2024-01-01' + INTERVAL '{self._now + chance.randrange(7)} seconds'"
                rows.append(f"({self._next_id}, {chance.randrange(KEYS)}, {at}, {chance.randrange(3)})")
            if rows:
                client.run(f"INSERT INTO {table} VALUES {', '.join(rows)}")
        self._now += chance.randrange(6)


def shown(client: Client) -> dict[str, Counter[tuple[Any, ...]]]:
    return {name: Counter(client.run(f"SELECT * FROM {name}")) for name in QUERIES}


@pytest.mark.on_spark
@pytest.mark.parametrize("seed", range(2))
def test_each_row_comes_once_when_it_is_final(server: Server, seed: int) -> None:
    written, client = Written(seed), server.client()
    for table in ("l", "r"):
        client.run(
            f"CREATE TABLE {table} (id INT, k INT, at TIMESTAMP, v INT,"
            " WATERMARK FOR at AS at - INTERVAL '3 seconds') APPEND ONLY"
        )
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query} EMIT ON WINDOW CLOSE")
    before = shown(client)
    for step in range(STEPS):
        written.step(client)
        client.run("FLUSH")
        now = shown(client)
        for name in QUERIES:
            assert not before[name] - now[name], f"{name}: rows went, or changed"
            assert not now[name] - Counter(client.run(QUERIES[name])), f"{name}: rows that are not the query's"
        before = now
        if step == STEPS // 2:
            server.restart()
            client = server.client()
    wanted = {name: Counter(client.run(query)) for name, query in QUERIES.items()}
    for table in ("l", "r"):  # of a key of their own: they match nothing, and pass all others
        client.run(f"INSERT INTO {table} VALUES (0, {KEYS if table == 'l' else KEYS + 1}, '2024-02-01', 0)")
    client.run("FLUSH")
    client.run("FLUSH")
    assert shown(client) == wanted
    assert all(wanted.values())
