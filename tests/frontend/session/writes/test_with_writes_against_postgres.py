"""Random statements with INSERT, UPDATE and DELETE in their WITH give what PostgreSQL gives: rows, states, errors.

`RISINGPY_WITH_WRITES` says how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

STATEMENTS = int(os.environ.get("RISINGPY_WITH_WRITES", "120"))
SCHEMA = (
    "DROP TABLE IF EXISTS child, t, u",
    "CREATE TABLE t (id int PRIMARY KEY, a int, b text)",
    "CREATE TABLE u (id int PRIMARY KEY, a int, b text)",
    "CREATE TABLE child (n int, t int REFERENCES t)",
)
STATE = ("SELECT * FROM t ORDER BY id", "SELECT * FROM u ORDER BY id", "SELECT * FROM child ORDER BY n, t")


class Statements:
    """Random statements whose answer does not depend on an order that PostgreSQL leaves open.

    Every part of a statement writes to a table of its own: which of two parts changes a row is not specified.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fresh = 1000  # keys that no row has: an INSERT of one that stands replaces the row here

    def statement(self) -> str:
        tables = self.random.sample(["t", "u"], 2)
        parts, names = [], list[str]()
        for number in range(self.random.randrange(1, 3)):
            name = f"p{number}"
            if self.random.random() < 0.3 and names:
                parts.append(f"{name} AS (SELECT id + 1 AS id, a, b FROM {self.random.choice(names)})")
            elif tables:
                parts.append(f"{name} AS ({self.write(tables.pop(), names)} RETURNING id, a, b)")
            else:
                continue
            names.append(name)
        return f"WITH {', '.join(parts)} {self.whole(tables, names)}"

    def whole(self, tables: list[str], names: list[str]) -> str:
        if tables and self.random.random() < 0.5:
            return f"{self.write(tables.pop(), names)} RETURNING id, a, b"
        source = self.random.choice([*names, "t", "u"])
        return self.random.choice(
            [
                f"SELECT id, a, b FROM {source}",
                f"SELECT (SELECT count(*) FROM t), (SELECT sum(a) FROM u), (SELECT max(id) FROM {source})",
                f"SELECT x.id, y.a, y.b FROM {names[0]} x LEFT JOIN t y ON x.id = y.id",
            ]
        )

    def write(self, table: str, names: list[str]) -> str:
        number, source = self.random.randrange(1, 30), self.random.choice([*names, "t", "u"])
        self.fresh += 100_000
        return self.random.choice(
            [
                f"DELETE FROM {table} WHERE id % 5 = {number % 5}",
                f"DELETE FROM {table} WHERE id IN (SELECT id FROM {source}) AND a > {number}",
                f"UPDATE {table} SET a = a + {number}, b = b || '+' WHERE id % 3 = {number % 3}",
                f"UPDATE {table} SET a = s.a FROM {source} s WHERE s.id = {table}.id",
                f"INSERT INTO {table} SELECT {self.fresh} + row_number() OVER (ORDER BY id), a, b FROM {source}",
                f"INSERT INTO {table} VALUES ({self.fresh}, {number}, 'v'), ({self.fresh + 1}, 0, NULL)",
                f"INSERT INTO {table} SELECT id, a, b FROM {source} ON CONFLICT (id) DO UPDATE SET a = excluded.a + 1",
                f"INSERT INTO {table} SELECT id, a, b FROM {source} ON CONFLICT DO NOTHING",
                f"WITH inner_one AS (SELECT max(id) AS id FROM {source}) UPDATE {table} SET b = 'm' FROM inner_one"
                f" WHERE inner_one.id = {table}.id",
            ]
        )


@pytest.mark.parametrize("seed", range(3))
def test_random_statements(connect: Callable[[], Any], postgres_oracle: PostgresOracle, seed: int) -> None:
    ours, statements = connect(), Statements(seed)
    with postgres_oracle.connect() as theirs:
        refused = 0
        for number in range(STATEMENTS):
            if number % 30 == 0:
                fill = "SELECT g, g * 7 % 23, 'r' || g FROM generate_series(1, 25) g"
                for statement in (*SCHEMA, f"INSERT INTO t {fill}", f"INSERT INTO u {fill} WHERE g % 2 = 0"):
                    assert _ours(ours, statement)[1] == _theirs(theirs, statement)[1]
            statement = statements.statement()
            answer = _ours(ours, statement)
            if answer[1] is None or answer[1] != "23505":
                assert answer == _theirs(theirs, statement), statement
            else:  # ours are refused as PostgreSQL's
                assert _theirs(theirs, statement)[1] == "23505", statement
            refused += answer[1] is not None
            for query in STATE:
                assert _ours(ours, query) == _theirs(theirs, query), statement
        assert refused < STATEMENTS / 2


def _ours(client: Any, statement: str) -> tuple[list[Any] | None, str | None]:
    try:
        return sorted(client.run(statement), key=repr), None
    except SqlError as error:
        return None, error.sqlstate


def _theirs(connection: psycopg.Connection[Any], statement: str) -> tuple[list[Any] | None, str | None]:
    try:
        cursor = connection.execute(statement)
        return sorted(cursor.fetchall() if cursor.description else [], key=repr), None
    except psycopg.Error as error:
        return None, error.sqlstate
