"""What suites of queries over a history of changes share: two databases to play it in, and comparing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import psycopg

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

Run = Callable[[str], list[tuple[object, ...]]]


@contextmanager
def postgres_schema(oracle: PostgresOracle, name: str) -> Iterator[Run]:
    """Runs statements in a schema of its own."""
    with oracle.connect() as connection:
        connection.execute(f"CREATE SCHEMA {name}; SET search_path = {name}".encode())

        def run(sql: str) -> list[tuple[object, ...]]:
            cursor: psycopg.Cursor[tuple[object, ...]] = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

        yield run
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


@contextmanager
def new_database(directory: Path) -> Iterator[Client]:
    """A client of a database of two shards, whose epochs run in this process."""
    database = Database(directory, parallelism=2)
    database.start(InProcessRunner(directory))
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))
    yield client
    client.session.close()
    database.close()


def comparable(rows: list[tuple[object, ...]]) -> list[tuple[str, ...]]:
    """Rows in an order, as they are shown: numerics with all their decimals."""
    return sorted(tuple(_shown(value) for value in row) for row in rows)


def _shown(value: object) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
