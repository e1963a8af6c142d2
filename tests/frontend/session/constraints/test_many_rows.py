"""UNIQUE and FOREIGN KEY of statements of many rows, beside a PostgreSQL: what is accepted, and what is there then."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.constraints import enforcement
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_SCHEMA = (
    "CREATE TABLE p (id int PRIMARY KEY, a int, code text, UNIQUE (code, a))",
    "CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p, a int, code text, n int, d date,"
    " FOREIGN KEY (a, code) REFERENCES p (a, code), UNIQUE (d, n))",
    "CREATE UNIQUE INDEX few ON c (lower(code), (n % 4000)) WHERE n > 100",
)
_STATEMENTS = 60
_REFUSED = ("23505", "23503")


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often lookups alone told that all is right."""
    found: Counter[str] = Counter()
    for name in ("have_new_keys", "refer_to_rows"):
        look: Any = getattr(enforcement, name)

        def noting(*args: Any, look: Any = look, name: str = name) -> bool:
            answer: bool = look(*args)
            found[name] += answer
            return answer

        monkeypatch.setattr(enforcement, name, noting)
    return found


class _Statements:
    """Rows in stretches of numbers; some stretches overlap, or have a number twice."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next = {"p": 0, "c": 0}

    def transaction(self) -> list[str]:
        if self.random.random() < 0.6:
            return [self.statement()]
        end = self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"])
        return ["BEGIN", *(self.statement() for _ in range(self.random.randint(1, 3))), end]

    def statement(self) -> str:
        match self.random.choices(("p", "c", "delete", "move"), (4, 6, 1, 1))[0]:
            case "p":
                first, rows = self._stretch("p")
                code = self.random.choice(["'k' || i % 50", "'k' || i", "CASE WHEN i % 9 > 0 THEN 'k' || i % 7 END"])
                return f"INSERT INTO p SELECT i, i, {code} FROM generate_series({first}, {first + rows}) i"
            case "c":
                first, rows = self._stretch("c")
                number = self.random.choice(["i", "i", "i / 2", "NULL", "i % 90"])
                at = self.random.choice(["NULL", "NULL", "date '2020-01-01' + i", "date '2020-01-01' + i % 3000"])
                parent = self.random.choice(["id", "id", "NULL", "id + 3"])
                return (
                    f"INSERT INTO c SELECT i, {parent}, a, code, {number}, {at} FROM generate_series({first}, "
                    f"{first + rows}) i JOIN p ON id = i % {self.random.choice([100, 1000, 3000])}"
                )
            case "delete":
                return f"DELETE FROM c WHERE id % {self.random.randint(2, 5)} = 0"
        return f"UPDATE c SET n = n + {self.random.randint(1, 4000)}"

    def _stretch(self, table: str) -> tuple[int, int]:
        rows = self.random.choice([3, 20, 600, 900])
        first = self.next[table] + 1
        self.next[table] += rows + 1
        return first, rows


@pytest.mark.parametrize("seed", range(2))
def test_as_in_postgres(client: Client, postgres_oracle: PostgresOracle, looked_up: Counter[str], seed: int) -> None:
    statements, done, refused = _Statements(seed), list[str](), 0
    with postgres_oracle.connect() as judge:
        judge.execute(f"CREATE SCHEMA many_{seed}")
        judge.execute(f"SET search_path = many_{seed}")
        for create in _SCHEMA:
            client.run(create)
            judge.execute(create.encode())
        while len(done) < _STATEMENTS:
            for sql in statements.transaction():
                done.append(sql)
                ours, theirs = _here(client, sql), _there(judge, sql)
                assert ours == theirs, "\n".join(done)
                refused += ours is not None
        assert _here(client, "ROLLBACK") == _there(judge, "ROLLBACK")
        for table in ("p", "c"):
            query = f"SELECT * FROM {table} ORDER BY id"
            assert client.run(query) == judge.execute(query.encode()).fetchall(), "\n".join(done)
        judge.execute(f"DROP SCHEMA many_{seed} CASCADE")
    assert refused and looked_up["have_new_keys"] > 1 and looked_up["refer_to_rows"] > 1


def _here(client: Client, sql: str) -> str | None:
    try:
        client.run(sql)
    except SqlError as error:
        assert error.sqlstate in (*_REFUSED, "25P02"), error
        return error.sqlstate
    return None


def _there(judge: psycopg.Connection[Any], sql: str) -> str | None:
    try:
        judge.execute(sql.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None
