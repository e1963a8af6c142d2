"""Random assignments to parts of columns, in a real PostgreSQL and here: rows and SQLSTATEs are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.frontend.session.writes.test_writes_against_postgres import Outcome, here, in_postgres
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

ROUNDS = 60
TABLE = "parts (k int PRIMARY KEY, a int[], j jsonb, c pair, s text[])"


class Generator:
    """Random statements on TABLE. Their arrays never begin elsewhere than at 1, which is refused here."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def path(self) -> str:
        steps = ["['a']", "['b']", "[0]", "[1]", "[-1]", "[-3]", "[k]", "['1']", "['x y']"]
        return "".join(self.random.choices(steps, k=self.random.randint(1, 3)))

    def assignment(self) -> str:
        low, size = self.random.randint(1, 3), self.random.randint(0, 3)
        kind = self.random.randint(0, 7)
        match kind:
            case 0 | 1:
                value = self.random.choice(["'1'", "'{}'", "'[]'", "NULL", "'{\"a\": [1]}'", "to_jsonb(k)", "j", "'x'"])
                return f"j{self.path()} = {value}"
            case 2:
                return f"c.{self.random.choice('fg')} = {self.random.choice(['1', 'k', 'NULL', '(c).f + 1'])}"
            case 3:
                return f"c.f = (c).f + 1, c.g = {self.random.choice(['k::text', 'NULL', '(c).g'])}"
            case 4:
                return f"a[1:{size}] = {self.random.choice(['ARRAY[7, 8, 9]', 'a', 'NULL', 'ARRAY[k]'])}"
            case 5:
                return f"a[1] = coalesce(a[2], 0) + 1, a[2] = {self.random.choice(['a[1]', 'NULL', 'k'])}"
            case 6:
                return f"s[1] = 'q', s[{low}] = {self.random.choice(['s[1]', 'k::text', 'NULL'])}"
            case _:
                return self.random.choice(
                    ["a = NULL", "j = NULL", "j = '[1, [2]]'", "c = NULL", "a[:] = ARRAY[1,2,3,4,5,6]"]
                )

    def statement(self) -> str:
        key = self.random.randint(1, 6)
        if self.random.random() < 0.3:
            names, value = self.random.choice(
                [
                    ("a[1], a[2], c.g", "10, k, 'n'"),
                    ("j['a']['b'], j['c'], c.f", "'1', NULL, 3"),
                    ("s[1:2], j[2]", "ARRAY['u', 'v'], '\"w\"'"),
                ]
            )
            rows = f"INSERT INTO parts (k, {names}) SELECT k, {value} FROM (VALUES ({key})) AS v (k)"
            return f"{rows} ON CONFLICT (k) DO UPDATE SET {self.assignment().replace('k', 'parts.k')}".replace(
                "[parts.k]", "[excluded.k]"
            )
        return f"UPDATE parts SET {self.assignment()} WHERE k % {self.random.randint(1, 3)} = 0"


def _alike(outcome: Outcome) -> Outcome:
    """Which row of a statement fails first is not specified where several of its rows would."""
    return ("of a row", []) if outcome[0] in ("22P02", "22023") else outcome


@pytest.mark.parametrize("seed", range(2))
def test_random_parts(client: Any, postgres_oracle: PostgresOracle, seed: int) -> None:
    generator = Generator(seed)
    with postgres_oracle.connect() as connection:
        connection.execute(f"CREATE SCHEMA parts_{seed}; SET search_path = parts_{seed}".encode())
        for sql in ("CREATE TYPE pair AS (f int, g text)", f"CREATE TABLE {TABLE}"):
            connection.execute(sql.encode())
            client.run(sql)
        query = (
            "SELECT k, a::text, a[1:2]::text AS a12, j::text, j['a'][0]::text AS ja, j[1]::text AS j1, c::text, s::text"
        )
        query += " FROM parts"
        client.run(f"CREATE MATERIALIZED VIEW v AS {query}")
        done = 0
        for _ in range(ROUNDS):
            sql = generator.statement()
            expected, got = in_postgres(connection, sql), here(client, sql)
            assert _alike(got) == _alike(expected), sql
            done += not expected[0][:1].isdigit()
            rows = in_postgres(connection, query)
            assert here(client, query) == rows, sql
        assert done > ROUNDS // 3
        assert here(client, "SELECT * FROM v")[1] == rows[1]
