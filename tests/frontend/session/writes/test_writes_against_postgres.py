"""Random histories of statements that write, in a real PostgreSQL and here: rows, tags and SQLSTATEs are the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

STATEMENTS = 120
KEYS = 12  # few, so that statements meet the same rows
# Which row of a statement fails first is not specified where several of its rows would.
_OF_ROWS = ("21000", "23505", "23502", "22012")

Outcome = tuple[str, list[tuple[object, ...]]]


class Generator:
    """Random statements on t (id, a, b) and s (k, x, y), whose first columns are their keys."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.in_transaction = False
        self.savepoint = False

    def statement(self) -> str:
        make = self.random.choices(
            [self.update, self.delete, self.insert, self.merge, self.other, self.boundary], [4, 2, 6, 6, 3, 2]
        )[0]
        return self.with_(make) if self.chance(0.2) and make in (self.update, self.delete, self.merge) else make()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self) -> int:
        return self.random.randint(0, KEYS)

    def value(self, *columns: str) -> str:
        column, other = self.random.choice(columns), self.random.choice(columns)
        forms = [str(self.number()), "NULL", column, f"{column} + {self.number()}", f"{column} - coalesce({other}, 0)"]
        forms += [f"CASE WHEN {column} > {self.number()} THEN {other} ELSE 7 END", f"(SELECT max(x) + {column} FROM s)"]
        return self.random.choice([*forms, f"100 / ({column} - {self.number()})"])

    def condition(self, *columns: str) -> str:
        column, other = self.random.choice(columns), self.random.choice(columns)
        return self.random.choice(
            [
                f"{column} > {self.number()}",
                f"{column} % 3 = {self.random.randint(0, 2)}",
                f"coalesce({column}, 0) <> coalesce({other}, 1)",
                f"{column} IS NULL OR {other} < {self.number()}",
                f"EXISTS (SELECT 1 FROM s AS q WHERE q.k = {column})",
                f"{column} IN (SELECT x FROM s)",
            ]
        )

    def where(self, *columns: str) -> str:
        return f" AND ({self.condition(*columns)})" if self.chance(0.6) else ""

    def source(self) -> str:
        """A relation called o with the columns k, a unique key, and x and y."""
        return self.random.choice(
            [
                "s AS o",
                "(SELECT k % 5 AS k, sum(x)::int AS x, min(y) AS y FROM s GROUP BY 1) AS o",
                f"(VALUES ({self.number()}, 1, 'v'), ({KEYS + 1}, NULL, 'w')) AS o (k, x, y)",
                "(SELECT l.k, l.x, r.y FROM s AS l LEFT JOIN s AS r ON r.k = l.k + 1) AS o",
            ]
        )

    def with_(self, make: Callable[[], str]) -> str:
        return f"WITH c AS (SELECT k + 1 AS k, x FROM s), s AS (SELECT c.k, c.x, 'c' AS y FROM c) {make()}"

    def returning(self, items: str) -> str:
        return f" RETURNING {items}" if self.chance(0.5) else ""

    def update(self) -> str:
        where = self.where("t.id", "t.a", "o.x", "o.k")
        sets = f"a = {self.value('t.a', 't.id', 'o.x')}, b = coalesce(t.b, '') || coalesce(o.y, '-')"
        if self.chance(0.3):
            sets = f"(b, a) = (SELECT min(q.y), max(q.x) + t.id FROM s AS q WHERE q.k <= {self.value('o.k', 't.id')})"
        returning = self.returning("t.*, o.x, t.a + o.k")
        return f"UPDATE t SET {sets} FROM {self.source()} WHERE t.id = o.k{where}{returning}"

    def delete(self) -> str:
        where = self.where("t.id", "t.a", "o.x", "o.k")
        if self.chance(0.3):
            return f"DELETE FROM t USING s WHERE t.id < s.k - {KEYS // 2}{self.returning('t.*')}"
        returning = self.returning("t.id, o.y || t.b, o.*")
        return f"DELETE FROM t USING {self.source()} WHERE t.id = o.k{where}{returning}"

    def insert(self) -> str:
        rows = ", ".join(f"({self.number()}, {self.number()}, 'i')" for _ in range(self.random.randint(1, 4)))
        given = self.random.choice([f"VALUES {rows}", f"SELECT o.k, o.x, o.y FROM {self.source()}"])
        target = self.random.choice(["(id)", "ON CONSTRAINT t_pkey", "(id) WHERE id > 0"])
        if self.chance(0.3):
            action = f"{self.random.choice([target, ''])} DO NOTHING"
        else:
            columns = ("t.a", "t.id", "excluded.a", "excluded.id")
            where = f" WHERE {self.condition(*columns)}" if self.chance(0.5) else ""
            action = f"{target} DO UPDATE SET a = {self.value(*columns)}, b = t.b || excluded.b{where}"
        return f"INSERT INTO t {given} ON CONFLICT {action}{self.returning('*, t.a + 1')}"

    def merge(self) -> str:
        clauses = []
        for matched in self.random.sample([True, True, False, False], self.random.randint(1, 4)):
            columns = ("t.a", "t.id", "o.x", "o.k") if matched else ("o.x", "o.k")
            update = f"UPDATE SET a = {self.value(*columns)}, b = o.y"
            insert = f"INSERT (id, a, b) VALUES (o.k, {self.value('o.k', 'o.x')}, DEFAULT)"
            actions = [update, "DELETE"] if matched else [insert, "INSERT VALUES (o.k)"]
            kind = "MATCHED" if matched else "NOT MATCHED"
            condition = f" AND ({self.condition(*columns)})"
            clauses.append(f"WHEN {kind}{condition} THEN {self.random.choice([*actions, 'DO NOTHING'])}")
        on = self.random.choice(["t.id = o.k", "t.id = o.k", "t.id = o.k AND t.a > 3", "t.id % 4 = o.k"])
        return f"MERGE INTO t USING {self.source()} ON {on} {' '.join(clauses)}"

    def other(self) -> str:
        rows = ", ".join(f"({self.number()}, {self.number()}, '{self.number()}')" for _ in range(3))
        return self.random.choice(
            [
                f"INSERT INTO s VALUES {rows} ON CONFLICT DO NOTHING",
                f"INSERT INTO s VALUES {rows} ON CONFLICT DO NOTHING",
                f"DELETE FROM s WHERE k = {self.number()}",
                f"UPDATE s SET x = x + 1 WHERE k > {self.number()}",
            ]
        )

    def boundary(self) -> str:
        if not self.in_transaction:
            self.in_transaction, self.savepoint = True, False
            return "BEGIN"
        if not self.savepoint and self.chance(0.4):
            self.savepoint = True
            return "SAVEPOINT here"
        if self.savepoint and self.chance(0.4):
            return "ROLLBACK TO here"
        self.in_transaction = False
        return self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"])

    def after_failure(self) -> str | None:
        """What must come after a failed statement of a transaction."""
        if not self.in_transaction:
            return None
        if self.savepoint:
            return "ROLLBACK TO here"
        self.in_transaction = False
        return "ROLLBACK"


def in_postgres(connection: psycopg.Connection[Any], sql: str) -> Outcome:
    try:
        cursor = connection.execute(sql.encode())
    except psycopg.Error as error:
        return str(error.sqlstate), []
    return str(cursor.statusmessage), sorted(cursor.fetchall(), key=repr) if cursor.description else []


def here(client: Any, sql: str) -> Outcome:
    try:
        rows = client.run(sql)
    except SqlError as error:
        return error.sqlstate, []
    return client.tag, sorted(rows, key=repr)


def _alike(outcome: Outcome) -> Outcome:
    return ("of a row", []) if outcome[0] in _OF_ROWS else outcome


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(client: Any, postgres_oracle: PostgresOracle, seed: int) -> None:
    generator = Generator(seed)
    tables = ("t (id int PRIMARY KEY, a int, b varchar)", "s (k int PRIMARY KEY, x int, y varchar)")
    with postgres_oracle.connect() as connection:
        connection.execute(f"CREATE SCHEMA writes_{seed}; SET search_path = writes_{seed}".encode())
        for table in tables:
            connection.execute(f"CREATE TABLE {table}".encode())
            client.run(f"CREATE TABLE {table}")
        client.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS a, min(b) AS b FROM t")
        done = []
        for _ in range(STATEMENTS):
            sql: str | None = generator.statement()
            while sql is not None:
                done.append(sql)
                expected, got = in_postgres(connection, sql), here(client, sql)
                assert _alike(got) == _alike(expected), sql
                failed = got[0][:1].isdigit()
                sql = generator.after_failure() if failed else None
                if not failed or not generator.in_transaction:
                    for table in ("t", "s"):
                        query = f"SELECT * FROM {table}"
                        assert here(client, query) == in_postgres(connection, query), done[-3:]
        client.run("ROLLBACK")
        connection.execute("ROLLBACK")
        view = "SELECT count(*) AS n, sum(a) AS a, min(b) AS b FROM t"
        assert here(client, "SELECT * FROM v") == in_postgres(connection, view)
