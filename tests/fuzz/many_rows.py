"""Random queries over thousands of rows: SELECT and a view made before the data beside PostgreSQL.

    python -m tests.fuzz.many_rows SEED [COUNT]

A column of thousands of rows goes through other code than a few rows: vectors of DuckDB's, kernels, pages. The values
are spread, so that joins stay small; queries whose answers would be large all the same are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

import psycopg

from tests.fuzz.dialects import for_postgres, for_us
from tests.fuzz.differential import Outcome, Postgres, Run, answer_of, by_value, database, fresh_schema
from tests.fuzz.generator import SCHEMA, Generator
from tests.postgres_oracle import postgres_server

QUERIES = 24
ROWS = 3000  # of each table: more than a vector has
PARTS = 3  # in which they come
_LARGEST = 20_000  # rows of an answer
_QUICK = "400ms"  # what PostgreSQL may take for a query that is chosen
_TRIAL = 10_000_000  # added to a seed: the rows over which queries are chosen
_SPREAD = (
    "UPDATE {0} SET v = id % 400 - 3 WHERE id % 3 > 0",
    "UPDATE {0} SET g = id % 90 WHERE id % 4 > 0",
    "UPDATE {0} SET s = s || (id % 300)::varchar WHERE id % 4 > 0",
)


def _rows(generator: Generator, count: int) -> Iterator[str]:
    """Statements that give each table so many rows more, and change and delete some."""
    for table in "abc":
        yield f"INSERT INTO {table} VALUES {', '.join(generator.row(table) for _ in range(count))}"
    yield "BEGIN"
    for table in "ab":
        yield from (change.format(table) for change in _SPREAD)
    yield "DELETE FROM c WHERE g < 6 AND v > 0"
    yield f"INSERT INTO c SELECT id % 70, id % 333, s, id % 41 FROM a WHERE id % 5 = {generator.random.randrange(5)}"
    yield "COMMIT"


def _chosen(postgres: Postgres, generator: Generator, seed: int, count: int) -> list[str]:
    """Queries that PostgreSQL answers quickly, and with few rows, over rows like those to come."""
    with postgres.transaction(force_rollback=True):
        for statement in _rows(Generator(seed + _TRIAL), ROWS):
            if statement not in ("BEGIN", "COMMIT"):
                postgres.execute(for_postgres(statement).encode())
        postgres.execute(f"SET LOCAL statement_timeout = '{_QUICK}'".encode())
        chosen: list[str] = []
        while len(chosen) < count:
            sql = generator.query().sql
            try:
                with postgres.transaction():
                    found = postgres.execute(f"SELECT count(*) FROM ({for_postgres(sql)}) x".encode()).fetchone()
            except psycopg.Error:
                continue
            if found is not None and int(str(found[0])) <= _LARGEST:
                chosen.append(sql)
    return chosen


def run_seed(seed: int, postgres: Postgres, count: int = QUERIES) -> Outcome:
    """Plays one seed's history, with so many queries."""
    generator, outcome = Generator(seed), Outcome()
    fresh_schema(postgres)
    with database(1 + seed % 2, Random(seed)) as new_session:
        run = new_session()

        def both(statement: str) -> None:
            run(for_us(statement))
            postgres.execute(for_postgres(statement).encode())

        for statement in SCHEMA:
            both(statement)
        queries = _chosen(postgres, generator, seed, count)
        for k, sql in enumerate(queries):
            run(f"CREATE MATERIALIZED VIEW v{k} AS {for_us(sql)}")
        for part in range(PARTS):
            for statement in _rows(generator, ROWS // PARTS):
                both(statement)
            if part != 1:
                outcome.differences += _differences(run, postgres, queries)
        outcome.queries = len(queries)
    return outcome


def _differences(run: Run, postgres: Postgres, queries: list[str]) -> Iterator[str]:
    for k, sql in enumerate(queries):
        try:
            expected = by_value(answer_of(postgres, sql))
        except psycopg.Error:  # a value that its expressions do not take, or too much time
            continue
        for who, question in (("SELECT", for_us(sql)), ("the view", f"SELECT * FROM v{k}")):
            try:
                got = by_value(run(question))
            except Exception as error:
                yield f"{who} fails: {type(error).__name__}: {error}\n  {for_us(sql)}"
                continue
            if got != expected:
                missing, extra = (list(rows.items())[:3] for rows in (expected - got, got - expected))
                yield f"{who}: missing {missing}, extra {extra}\n  {for_us(sql)}"


def main(arguments: list[str]) -> None:
    first, count = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    queries = 0
    with postgres_server() as server, server.connect() as postgres:
        for seed in range(first, first + count):
            outcome = run_seed(seed, postgres)
            queries += outcome.queries
            for difference in outcome.differences:
                print(f"seed {seed}: {difference}\n", flush=True)
    print(f"{count} seeds, {queries} queries")


if __name__ == "__main__":
    main(sys.argv[1:])
