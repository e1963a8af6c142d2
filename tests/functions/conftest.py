"""PostgreSQL with Unicode's letters, as ours are, and code point order."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.judge import prepare
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]


@pytest.fixture(scope="session")
def judge(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with postgres_oracle.connect() as connection:
        connection.execute("CREATE DATABASE judge TEMPLATE template0 LOCALE 'C.UTF-8'")
    host, port = str(postgres_oracle.directory), postgres_oracle.port
    with psycopg.connect(host=host, port=port, user="postgres", dbname="judge", autocommit=True) as connection:
        prepare(connection)
        yield connection
