"""Random histories on tables with constraints, in a real PostgreSQL and here: the same rows are accepted and refused.

SQLSTATEs and names of constraints are the same, and so is what the tables have after each statement.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

STATEMENTS = 120
TABLES = ("p", "c", "g")
SCHEMA = (
    """CREATE TABLE p (id int PRIMARY KEY, code varchar UNIQUE, a int, b int CHECK (b > 0), UNIQUE (a, b),
       CONSTRAINT p_sane CHECK (a IS NULL OR a < 90))""",
    """CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p{pid},
       pcode varchar DEFAULT 'd' REFERENCES p (code){code}, n int,
       CONSTRAINT c_n UNIQUE NULLS NOT DISTINCT (n, pid))""",
    """CREATE TABLE g (id int PRIMARY KEY, cid int REFERENCES c{cid}, up int REFERENCES g ON DELETE CASCADE,
       x int, y int, FOREIGN KEY (x, y) REFERENCES p (a, b) MATCH FULL ON UPDATE CASCADE)""",
)
PARTIAL = (
    "CREATE UNIQUE INDEX g_some ON g (x) WHERE y > 2",
    "CREATE UNIQUE INDEX p_some ON p ((a % 5)) WHERE b IS NULL",
)
ACTIONS = ("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT")
UPDATES = ("", " ON UPDATE CASCADE", " ON UPDATE SET NULL", " ON UPDATE SET DEFAULT")
Outcome = tuple[str, str | None, list[tuple[object, ...]]]


class History:
    """Random statements of one row each: which of several rows PostgreSQL refuses first is not specified."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next_id = {table: 0 for table in TABLES}

    def schema(self) -> list[str]:
        choose = self.random.choice
        actions = {name: choose(ACTIONS) + choose(UPDATES[:3]) for name in ("pid", "cid")}
        actions["code"] = choose((*ACTIONS, " ON DELETE SET DEFAULT")) + choose(UPDATES)
        return [text.format(**actions) for text in SCHEMA]

    def value(self, most: int = 8) -> str:
        return self.random.choice(["NULL", *map(str, range(1, most))])

    def code(self) -> str:
        return self.random.choice(["NULL", *(f"'{letter}'" for letter in "abcdef")])

    def row(self, table: str) -> str:
        self.next_id[table] += 1
        key, value = self.next_id[table], self.value
        match table:
            case "p":
                b = self.random.choice(["-1", "0", "1", "2", "3", "4", "NULL"])
                return f"({key}, {self.code()}, {self.random.choice([value(), '95'])}, {b})"
            case "c":
                return f"({key}, {value(12)}, {self.code()}, {value(4)})"
        return f"({key}, {value(12)}, {value(12)}, {value()}, {value(5)})"

    def statement(self) -> str:
        table = self.random.choice(TABLES)
        key = self.random.randint(1, self.next_id[table] + 1)
        match self.random.choices(("insert", "update", "delete", "key", "conflict"), (5, 4, 2, 1, 2))[0]:
            case "conflict":
                return self.conflict()
            case "insert":
                return f"INSERT INTO {table} VALUES {self.row(table)}"
            case "delete":
                return f"DELETE FROM {table} WHERE id = {key}"
            case "key":
                self.next_id[table] += 1
                return f"UPDATE {table} SET id = {self.next_id[table]} WHERE id = {key}"
        sets = {
            "p": [f"code = {self.code()}", f"a = {self.value()}", f"b = {self.value()}", "b = -b", "a = 99"],
            "c": [f"pid = {self.value(12)}", f"pcode = {self.code()}", f"n = {self.value(4)}"],
            "g": [
                f"cid = {self.value(12)}",
                f"up = {self.value(12)}",
                f"x = {self.value()}, y = {self.value(5)}",
                "y = NULL",
            ],
        }
        return f"UPDATE {table} SET {self.random.choice(sets[table])} WHERE id = {key}"

    def conflict(self) -> str:
        choice = self.random.choice(["code", "a, b", "c_n", "any"])
        match choice:
            case "c_n":
                action = "ON CONSTRAINT c_n DO UPDATE SET pcode = excluded.pcode"
                return f"INSERT INTO c VALUES {self.row('c')} ON CONFLICT {action}"
            case "any":  # several rows, of which only a CHECK can refuse one
                rows = ", ".join(self.row("p") for _ in range(self.random.randint(1, 4)))
                return f"INSERT INTO p VALUES {rows} ON CONFLICT DO NOTHING"
        action = self.random.choice(["DO NOTHING", "DO UPDATE SET a = excluded.a, b = excluded.b"])
        return f"INSERT INTO p VALUES {self.row('p')} ON CONFLICT ({choice}) {action}"


def here(client: Client, sql: str) -> tuple[str, str | None]:
    try:
        client.run(sql)
    except SqlError as error:
        return error.sqlstate, dict(error.about).get("n")
    return client.tag, None


def there(postgres: psycopg.Cursor[tuple[object, ...]], sql: str) -> tuple[str, str | None]:
    try:
        postgres.execute(sql)
    except psycopg.Error as error:
        return str(error.sqlstate), error.diag.constraint_name
    return str(postgres.statusmessage), None


def rows_of(run: Callable[[str], list[tuple[object, ...]]]) -> list[list[tuple[object, ...]]]:
    return [run(f"SELECT * FROM {table} ORDER BY id") for table in TABLES]


@pytest.mark.parametrize("seed", range(int(os.environ.get("CONSTRAINT_HISTORIES", "2"))))
def test_same_rows_are_refused(client: Client, postgres_oracle: PostgresOracle, seed: int) -> None:
    history = History(seed)
    with postgres_oracle.connect() as connection:
        postgres = connection.cursor()
        schema = f"constraints_{seed}"
        postgres.execute(f"CREATE SCHEMA {schema}")
        postgres.execute(f"SET search_path = {schema}")

        def asked(sql: str) -> list[tuple[object, ...]]:
            return list(postgres.execute(sql))

        for create in (*history.schema(), *(PARTIAL if seed % 2 else ())):
            client.run(create)
            postgres.execute(create)
        done: list[str] = []
        for number in range(STATEMENTS):
            sql = history.statement()
            done.append(sql)
            assert here(client, sql) == there(postgres, sql), "\n".join([*history.schema(), *done])
            if number % 8 == 7:
                assert rows_of(client.run) == rows_of(asked), "\n".join(done)
        postgres.execute(f"DROP SCHEMA {schema} CASCADE")
