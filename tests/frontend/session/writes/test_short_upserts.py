"""INSERT … ON CONFLICT by the primary key in groups: exact counts, and the rows and tags of PostgreSQL."""

from __future__ import annotations

import random
import threading

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.group_commit import RowChange, SmallWrite
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import all_rows, connect, noted
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_CLIENTS, _STATEMENTS = 8, 60
_SCHEMA = "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL DEFAULT 5, v varchar(6), at timestamp)"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[SmallWrite | TransactionRows]:
    """The changes that were given to groups."""
    return noted(monkeypatch, RowChange)


def test_counts_of_many_clients_are_exact(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n bigint, at timestamptz)")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT sum(n) AS n, count(*) AS rows FROM t")
    failures: list[BaseException] = []
    upsert = (
        "INSERT INTO t VALUES (%s, %s, now()) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n, at = excluded.at"
    )

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with connect(server) as connection:
                for _ in range(_STATEMENTS):
                    said = connection.execute(upsert, (chance.randint(1, 5), 1), prepare=True).statusmessage
                    assert said == "INSERT 0 1"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert len(taken) > _CLIENTS * _STATEMENTS / 2
    assert sum(int(str(row[1])) for row in all_rows(client, "t")) == _CLIENTS * _STATEMENTS
    assert client.run("SELECT n::int, rows::int FROM sums") == [(_CLIENTS * _STATEMENTS, 5)]


def test_what_is_unusual(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    client.run(_SCHEMA)
    with connect(server) as connection:

        def said(text: str, *values: object) -> str | None:
            try:
                return connection.execute(text, values, prepare=True).statusmessage
            except psycopg.Error as error:
                return error.sqlstate

        nothing = "INSERT INTO t (id, n) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        assert [said(nothing, 1, 1) for _ in range(3)] == ["INSERT 0 1", "INSERT 0 0", "INSERT 0 0"]
        assert len(taken) >= 2
        update = (
            "INSERT INTO t (id, n, v) VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE SET n = t.n + %s, v = excluded.v"
        )
        assert [said(update, 1, 1, "a", 1) for _ in range(3)] == ["INSERT 0 1"] * 3
        assert [said(update, 1, 1, "a", 2_147_483_647) for _ in range(2)] == ["22003"] * 2
        assert [said(update, 1, 1, "much too long", 1) for _ in range(2)] == ["22001"] * 2
        assert [said(update, 1, None, "a", 1) for _ in range(2)] == ["23502"] * 2
        assert [said(update, None, 1, "a", 1) for _ in range(2)] == ["23502"] * 2
        assert [said(update, 1, 1, "a", None) for _ in range(2)] == ["23502"] * 2
        assert said(update, 2, 7, None, 1) == "INSERT 0 1"
        with connection.transaction():
            assert said(update, 2, 7, "x", 1) == "INSERT 0 1"
            assert said(update, 3, 7, "y", 1) == "INSERT 0 1"
    assert all_rows(client, "t") == [(1, 4, "a", None), (2, 8, "x", None), (3, 7, "y", None)]


@pytest.mark.parametrize("seed", range(3))
def test_as_in_postgres(
    client: Client, server: WireServer, postgres_oracle: PostgresOracle, taken: list[SmallWrite], seed: int
) -> None:
    chance, update = random.Random(seed), "ON CONFLICT (id) DO UPDATE SET"
    client.run(_SCHEMA)
    with postgres_oracle.connect() as judge, connect(server) as connection:
        judge.execute(f"CREATE SCHEMA upserts_{seed}")
        judge.execute(f"SET search_path = upserts_{seed}")
        judge.execute(_SCHEMA)
        for _ in range(250):
            key, n = chance.randint(1, 6), chance.randint(-3, 9)
            text, values = chance.choice(
                [
                    ("INSERT INTO t (id, n) VALUES (%s, %s) ON CONFLICT DO NOTHING", (key, n)),
                    (
                        "INSERT INTO t (id, v) VALUES (%s, %s) {update} v = excluded.v",
                        (key, f"v{n}"),
                    ),
                    (f"INSERT INTO t VALUES (%s, %s) {update} n = t.n * 2 - excluded.n", (key, n)),
                    (
                        f"INSERT INTO t VALUES (%s, 1, 'x', '2026-11-28') {update} at = excluded.at, v = 'y', n = %s",
                        (key, n),
                    ),
                    ("DELETE FROM t WHERE id = %s", (key,)),
                    ("UPDATE t SET n = n + %s WHERE id = %s", (n, key)),
                ]
            )
            outcomes = []
            for each in (connection, judge):
                try:
                    outcomes.append(each.execute(text, values, prepare=each is connection).statusmessage)
                except psycopg.Error as error:
                    outcomes.append(error.sqlstate)
            assert outcomes[0] == outcomes[1], (text, values)
        client.run("FLUSH")
        query = "SELECT * FROM t ORDER BY id"
        assert client.run(query) == judge.execute(query).fetchall()
    assert len(taken) > 100
