"""Nexmark's queries, q0 to q22, as live views: equal to SELECT after each step of a history, and to PostgreSQL.

The tables change in any way, so rows and windows come and go. q11's sessions, for which there is no session window,
are told apart by window functions; q12 takes the event's time, as processing time has no one answer. PostgreSQL has no
TUMBLE and no HOP: those queries are compared with our SELECT alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontend.session.conftest import Client
from tests.nexmark.generator import Generator, insert
from tests.postgres_oracle import PostgresOracle
from tests.query_histories import Run, comparable, new_database, postgres_schema

HERE = Path(__file__).parent
SCHEMA = (HERE / "schema.sql").read_text()
QUERIES = dict(re.findall(r"-- (q\d\d)\n(.*?);\n", (HERE / "queries.sql").read_text() + "\n", re.DOTALL))
OURS_ALONE = [name for name, sql in QUERIES.items() if re.search(r"\b(tumble|hop)\(", sql)]


def history() -> Iterator[str]:
    """What happens to the tables, from empty ones on."""
    made = Generator(5)
    yield insert("person", [made.person(i) for i in range(1, 13)])
    yield insert("auction", [made.auction(i) for i in range(1, 16)])
    # A seller who comes and sells within one window, as q08 asks for.
    yield "INSERT INTO person VALUES (16, 'quick', 'q@x.org', 'city 1', 'or', '2026-03-01 07:00:01')"
    yield ("INSERT INTO auction VALUES (21, 'item 1', 1, 1, '2026-03-01 07:00:03', '2026-03-01 08:00:00', 16, 10)")
    yield insert("side_input", [f"({i}, 'v{i}')" for i in range(8)])
    yield insert("bid", [made.bid() for _ in range(120)])
    yield "DELETE FROM bid WHERE price % 7 = 0"
    yield "UPDATE bid SET price = price + 500, date_time = date_time + INTERVAL '12 seconds' WHERE bidder % 3 = 0"
    yield insert("auction", [made.auction(i) for i in range(16, 21)])
    yield "UPDATE auction SET category = 10, expires = expires + INTERVAL '1 hour' WHERE id % 2 = 0"
    yield insert("bid", [made.bid() for _ in range(40)])
    yield "UPDATE person SET state = 'id', name = 'renamed' WHERE id % 4 = 0"
    yield insert("person", [made.person(i) for i in range(13, 16)])
    yield "DELETE FROM auction WHERE category = 9"
    yield "UPDATE side_input SET value = 'new' WHERE key > 5"
    yield "DELETE FROM bid WHERE auction < 8"
    yield "DELETE FROM bid"


@pytest.fixture(scope="module")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[Run]:
    with postgres_schema(postgres_oracle, "nexmark") as run:
        yield run


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with new_database(tmp_path_factory.mktemp("nexmark") / "data") as client:
        yield client


def test_every_query_is_there() -> None:
    assert list(QUERIES) == [f"q{i:02}" for i in range(23)]


def test_views_follow_the_tables(ours: Client, postgres: Run) -> None:
    for statement in SCHEMA.strip().split(";\n"):
        ours.run(statement)
        postgres(statement)
    for name, sql in QUERIES.items():
        ours.run(f"CREATE MATERIALIZED VIEW {name} AS {sql}")
    seen: set[str] = set()
    for step, statement in enumerate(history()):
        ours.run(statement)
        postgres(statement)
        for name, sql in QUERIES.items():
            selected = comparable(ours.run(sql))
            seen |= {name} if selected else set()
            assert comparable(ours.run(f"SELECT * FROM {name}")) == selected, f"{name} after step {step}: {statement}"
            if name not in OURS_ALONE:
                assert comparable(postgres(sql)) == selected, f"{name} in PostgreSQL after step {step}: {statement}"
        if step == 11:  # rows in every table: the same views, made now
            for name, sql in QUERIES.items():
                ours.run(f"CREATE MATERIALIZED VIEW late_{name} AS {sql}")
                (same,) = ours.run(f"SELECT rw_digest('late_{name}') = rw_digest('{name}')")
                assert same == (True,), f"{name} made late"
    assert seen == set(QUERIES)
