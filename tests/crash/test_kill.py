"""kill -9 at a random moment, again and again: nothing acknowledged is lost, nothing is invented, views stay right.

Two clients write random rows of their own, and each knows what the server has acknowledged. The one statement that
was under way when the server died may have happened or not, but only as a whole. A third adds and drops columns of
the table meanwhile; the same holds for its statements.
"""

from __future__ import annotations

import os
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.idleness import assert_server_falls_idle

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
KEYS = 200  # per client: few, so that updates and deletes meet rows
VIEWS = {
    "totals": "SELECT grp, count(*) AS n, sum(v) AS s, min(v) AS lo, max(v) AS hi FROM t GROUP BY grp",
    "overall": "SELECT count(*) AS n, sum(v) AS s FROM t",
    "positive": "SELECT id, v * 2 AS w FROM t WHERE v > 0",
    "chained": "SELECT n, count(*) AS groups FROM totals GROUP BY n",
}
Rows = dict[int, tuple[int, int]]
GONE = (None, "57P01", "57P03")  # what a client is told, if anything, when the server goes


@dataclass
class Client:
    """Writes rows whose ids are its own, and knows which the server must have."""

    number: int
    random: random.Random
    rows: Rows = field(default_factory=dict)
    under_way: Rows | None = None
    acknowledged: int = 0

    def run(self, server: ServerProcess) -> None:
        """Writes until the connection breaks."""
        try:
            with server.connect() as connection:
                while True:
                    self.one_statement(connection)
        except psycopg.Error as error:
            assert error.sqlstate in GONE, error

    def one_statement(self, connection: psycopg.Connection[Any]) -> None:
        statement, after = self.choose()
        self.under_way = after
        connection.execute(statement)
        self.rows, self.under_way = after, None
        self.acknowledged += 1

    def choose(self) -> tuple[str, Rows]:
        pick = self.random.random()
        after = dict(self.rows)
        if pick < 0.5:
            new = {self.key(): (self.random.randrange(5), self.random.randrange(-50, 50)) for _ in range(5)}
            after.update(new)
            values = ", ".join(f"({key}, {grp}, {v})" for key, (grp, v) in new.items())
            return f"INSERT INTO t VALUES {values}", after
        grp = self.random.randrange(5)
        mine = f"grp = {grp} AND id % 2 = {self.number}"
        if pick < 0.8:
            after.update({key: (g, v + 7) for key, (g, v) in after.items() if g == grp})
            return f"UPDATE t SET v = v + 7 WHERE {mine}", after
        after = {key: (g, v) for key, (g, v) in after.items() if g != grp}
        return f"DELETE FROM t WHERE {mine}", after

    def key(self) -> int:
        return self.random.randrange(KEYS) * 2 + self.number

    def settle(self, found: Rows) -> None:
        """Checks what the server has of this client's rows after the crash, and takes it as the truth."""
        assert found in (self.rows, self.under_way), _difference(found, self.rows, self.under_way)
        self.rows, self.under_way = found, None


@dataclass
class Alterer:
    """Adds columns whose default is their number, and drops them; every row has just that number in them."""

    random: random.Random
    columns: frozenset[int] = frozenset()
    under_way: frozenset[int] | None = None
    next: int = 0
    acknowledged: int = 0

    def run(self, server: ServerProcess) -> None:
        """Alters the table until the connection breaks."""
        try:
            with server.connect() as connection:
                while True:
                    self.one_statement(connection)
        except psycopg.Error as error:
            assert error.sqlstate in GONE, error

    def one_statement(self, connection: psycopg.Connection[Any]) -> None:
        if len(self.columns) > 3 or (self.columns and self.random.random() < 0.4):
            gone = self.random.choice(sorted(self.columns))
            statement, after = f"ALTER TABLE t DROP COLUMN x{gone}", self.columns - {gone}
        else:
            self.next += 1
            statement = f"ALTER TABLE t ADD COLUMN x{self.next} int DEFAULT {self.next}"
            after = self.columns | {self.next}
        self.under_way = after
        connection.execute(statement)
        self.columns, self.under_way = after, None
        self.acknowledged += 1

    def settle(self, connection: psycopg.Connection[Any]) -> None:
        """Checks the columns, and what the rows have in them, after the crash."""
        names = [column.name for column in connection.execute("SELECT * FROM t LIMIT 0").description or ()]
        found = frozenset(int(name[1:]) for name in names if name[0] == "x")
        assert found in (self.columns, self.under_way)
        assert names[:3] == ["id", "grp", "v"]
        for number in found:
            wrong = connection.execute(f"SELECT count(*) FROM t WHERE x{number} IS DISTINCT FROM {number}")
            assert wrong.fetchone() == (0,)
        self.columns, self.under_way = found, None


def _difference(found: Rows, acknowledged: Rows, under_way: Rows | None) -> str:
    lost = acknowledged.items() - found.items()
    invented = found.items() - acknowledged.items()
    return f"lost {sorted(lost)[:5]}, invented {sorted(invented)[:5]}, under way: {under_way is not None}"


@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_nothing_is_lost_or_invented(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    clients = [Client(number, random.Random(SEED * 10 + number)) for number in range(2)]
    alterer = Alterer(random.Random(SEED))
    everyone: list[Client | Alterer] = [*clients, alterer]
    server = ServerProcess(tmp_path / "data")
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, grp INT, v INT)")
            for name, query in VIEWS.items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for number in range(ROUNDS):
            if number % 2:  # in the other rounds the server dies while Spark starts, and runs epochs itself
                server.wait_for_spark()
            threads = [threading.Thread(target=each.run, args=(server,)) for each in everyone]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.05, 3.0))
            server.kill()
            for thread in threads:
                thread.join()
            server = ServerProcess(tmp_path / "data")
            check(server, clients, alterer)
        assert all(each.acknowledged for each in everyone)
        server.wait_for_spark()
        assert_server_falls_idle(server)
    finally:
        server.kill()


def check(server: ServerProcess, clients: list[Client], alterer: Alterer) -> None:
    with server.connect() as connection:
        connection.execute("FLUSH")
        alterer.settle(connection)
        for client in clients:
            mine = connection.execute(f"SELECT id, grp, v FROM t WHERE id % 2 = {client.number}").fetchall()
            client.settle({key: (grp, v) for key, grp, v in mine})
        for name, query in VIEWS.items():
            assert _answer(connection, f"SELECT * FROM {name}") == _answer(connection, query), name


def _answer(connection: psycopg.Connection[Any], query: str) -> list[object]:
    return sorted(connection.execute(query).fetchall(), key=str)
