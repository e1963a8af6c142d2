"""Four answers to random queries: SELECT, a view made before the data, one made after it, and PostgreSQL's.

    python -m tests.fuzz.differential SEED [COUNT]

prints what differs, with the statements that lead there.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.session import open_session
from risingpy.frontend.wire.session_protocol import StartupParameters
from risingpy.meta.database import Database
from risingpy.meta.in_process_runner import InProcessRunner
from tests.fuzz.generator import SCHEMA, Generator
from tests.postgres_oracle import postgres_server

QUERIES = 8
EPOCHS = 4
CHANGES = 4
Answer = Counter[tuple[object, ...]]
Postgres = psycopg.Connection[tuple[object, ...]]


@dataclass(slots=True)
class Outcome:
    """What a seed showed: `differences` are texts, `refused` counts why queries were no views."""

    queries: int = 0
    differences: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


@contextmanager
def database(shards: int) -> Iterator[Callable[[str], Answer]]:
    """Runs statements in one session of a fresh database; the rows of the last one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        opened = Database(Path(directory), parallelism=shards)
        runner = InProcessRunner(Path(directory))
        opened.start(runner)
        runner.start()
        session = open_session(opened, StartupParameters("root", "dev"))

        def run(sql: str) -> Answer:
            rows: Answer = Counter()
            try:
                for statement in session.split(sql):
                    result = session.execute(session.prepare(statement, ()), ())
                    for batch in result.batches or ():
                        columns = [[_plain(value) for value in column.to_pylist()] for column in batch.columns]
                        rows.update(zip(*columns, strict=True))
                session.sync()
            except BaseException:
                session.fail()
                raise
            return rows

        yield run
        session.close()
        opened.close()


def _plain(value: Any) -> object:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def run_seed(seed: int, postgres: Postgres) -> Outcome:
    """Plays one seed's history."""
    generator = Generator(seed)
    outcome = Outcome()
    postgres.execute("DROP SCHEMA IF EXISTS fuzz CASCADE")
    postgres.execute("CREATE SCHEMA fuzz")
    postgres.execute("SET search_path = fuzz")
    with database(1 + seed % 3) as ours:
        for statement in SCHEMA:
            ours(statement)
            postgres.execute(statement)
        queries = [generator.query().sql for _ in range(QUERIES)]
        queries = [sql for sql in queries if _is_valid(postgres, sql)]
        views = {i: f"early_{i}" for i, sql in enumerate(queries) if _made(ours, f"early_{i}", sql, outcome)}
        history: list[str] = []
        for _ in range(EPOCHS):
            for statement in (generator.change() for _ in range(CHANGES)):
                history.append(statement)
                ours(statement)
                postgres.execute(statement)
            _compare(ours, postgres, queries, views, history, outcome)
        late = {i: f"late_{i}" for i in views if _made(ours, f"late_{i}", queries[i], Outcome())}
        _compare(ours, postgres, queries, late, history, outcome)
        outcome.queries = len(queries)
    return outcome


def _is_valid(postgres: Postgres, sql: str) -> bool:
    try:
        postgres.execute(sql.encode())
    except psycopg.Error:
        return False
    return True


def _made(ours: Callable[[str], Answer], name: str, sql: str, outcome: Outcome) -> bool:
    try:
        ours(f"CREATE MATERIALIZED VIEW {name} AS {sql}")
    except FeatureNotSupported as error:
        outcome.refused[error.message] += 1
        return False
    except Exception as error:
        outcome.differences.append(f"CREATE MATERIALIZED VIEW fails: {type(error).__name__}: {error}\n  {sql}")
        return False
    return True


def _compare(
    ours: Callable[[str], Answer],
    postgres: Postgres,
    queries: list[str],
    views: dict[int, str],
    history: list[str],
    outcome: Outcome,
) -> None:
    for i, sql in enumerate(queries):
        expected = Counter(tuple(map(_plain, row)) for row in postgres.execute(sql.encode()).fetchall())
        asked = [("SELECT", sql)] + ([(views[i], f"SELECT * FROM {views[i]}")] if i in views else [])
        for who, question in asked:
            try:
                got = ours(question)
            except Exception as error:
                outcome.differences.append(f"{who} fails: {type(error).__name__}: {error}\n  {sql}")
                continue
            if got != expected:
                missing, extra = expected - got, got - expected
                text = f"{who}: missing {dict(missing)}, extra {dict(extra)}\n  {sql}\n  after "
                outcome.differences.append(text + "; ".join(history))


def main(arguments: list[str]) -> None:
    first, count = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    queries, refused, bad = 0, Counter[str](), 0
    with postgres_server() as server, server.connect() as postgres:
        for seed in range(first, first + count):
            outcome = run_seed(seed, postgres)
            queries += outcome.queries
            refused += outcome.refused
            bad += bool(outcome.differences)
            shortest = min(outcome.differences, key=len, default=None)
            if shortest is not None:
                print(f"seed {seed}: {len(outcome.differences)} differences, the shortest:\n{shortest}\n", flush=True)
    print(f"{count} seeds, {queries} queries, {bad} seeds with differences; refused as views: {dict(refused)}")


if __name__ == "__main__":
    main(sys.argv[1:])
