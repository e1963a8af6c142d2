"""PostgreSQL with the bench's tables and rows."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.frontend.binder.bench import ROWS, SCHEMA
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]


@pytest.fixture(scope="session")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with postgres_oracle.connect() as connection:
        connection.execute(SCHEMA.encode())
        for table, rows in ROWS.items():
            for row in rows:
                values = ", ".join("NULL" if v is None else "'" + v.replace("'", "''") + "'" for v in row)
                connection.execute(f"insert into {table} values ({values})".encode())
        yield connection
