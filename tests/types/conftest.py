"""A real PostgreSQL 15 to compare with, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres_oracle import missing_reason, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection (autocommit, UTC) to a fresh PostgreSQL 15."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server() as server, server.connect() as connection:
        yield connection
