"""Statements that change many rows: views stay equal to their queries, and the store to what it has noted of itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from risingpy.meta.recovery.check import check
from tests.meta.conftest import Server

ROWS = 6000  # more than are looked at one by one, or wait in runs
SCHEMA = """
CREATE TABLE bid (id bigint PRIMARY KEY, auction int, price int, note varchar)
CREATE TABLE auction (auction int PRIMARY KEY, seller int)
CREATE TABLE numbered (auction int, price int)
"""
QUERIES = {
    "extremes": "SELECT auction, min(price) AS low, max(price) AS high, count(note) AS n FROM bid GROUP BY auction",
    "totals": "SELECT auction % 3 AS g, count(*), sum(price) AS total, count(DISTINCT price) AS d FROM bid GROUP BY 1",
    "joined": "SELECT b.id, b.price, b.note, a.seller FROM bid b JOIN auction a USING (auction)",
    "outer_joined": "SELECT n.price, a.seller, a.auction FROM numbered n LEFT JOIN auction a ON n.auction = a.auction",
    "first_ones": "SELECT id, auction, price FROM (SELECT *, "
    "row_number() OVER (PARTITION BY auction ORDER BY price DESC, id) AS place FROM bid) AS p WHERE place <= 2",
}


def statements(dice: random.Random) -> list[str]:
    """A few that hit thousands of rows each."""
    first, part = dice.randrange(2 * ROWS), dice.randrange(1, 5)
    some = f"id >= {first} AND id < {first + ROWS} AND id % {part} = 0"
    rows = f"i, i % 50, (i * {dice.randrange(1, 99)}) % 1000, CASE WHEN i % 7 > 0 THEN 'note ' || i % {part + 9} END"
    return dice.sample(
        [
            f"INSERT INTO bid SELECT {rows} FROM generate_series({first}, {first + ROWS}) AS g(i) "
            "ON CONFLICT DO NOTHING",
            f"UPDATE bid SET price = price / 2 WHERE {some}",
            f"UPDATE bid SET note = repeat('long ', id::int % 200), auction = auction + 1 WHERE {some}",
            f"UPDATE bid SET note = NULL WHERE price > {dice.randrange(1000)}",
            f"UPDATE bid SET id = id + {4 * ROWS} WHERE id < {ROWS} AND id % 5 = {part}",
            f"DELETE FROM bid WHERE {some}",
            f"INSERT INTO auction SELECT i, i % 5 FROM generate_series(0, {dice.randrange(60)}) AS g(i) "
            "ON CONFLICT (auction) DO UPDATE SET seller = excluded.seller + 1",
            f"DELETE FROM auction WHERE auction % 4 = {part - 1}",
            f"INSERT INTO numbered SELECT i % 60, i FROM generate_series(1, {ROWS}) AS g(i)",
            f"UPDATE numbered SET price = price + 1 WHERE price % {part} = 0",
            f"DELETE FROM numbered WHERE price % {part + 1} = 0",
        ],
        4,
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_views_and_the_store_follow_large_changes(server: Server, tmp_path: Path, seed: int) -> None:
    dice, client = random.Random(seed), server.client()
    for statement in SCHEMA.strip().split("\n"):
        client.run(statement)
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    history: list[str] = []
    for _ in range(8):
        for statement in statements(dice):
            history.append(statement)
            client.run(statement)
        client.run("FLUSH")
        for name, query in QUERIES.items():
            differing = f"(SELECT * FROM {name} EXCEPT ALL {query}) UNION ALL ({query} EXCEPT ALL SELECT * FROM {name})"
            assert client.run(differing) == [], (name, history)
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW later_{name} AS {query}")
        differing = f"SELECT * FROM later_{name} EXCEPT ALL SELECT * FROM {name}"
        assert client.run(differing) == [], (name, history)
        assert client.run(f"SELECT count(*) FROM later_{name}") == client.run(f"SELECT count(*) FROM {name}")
    server.stop()
    server.stop = lambda: None  # type: ignore[method-assign]  # the fixture's own end stops it again
    assert not check(tmp_path / "data").problems
