"""A PostgreSQL to run suites against, plain and dressed up as ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from risingpy.sqllogictest.client import Answer, Client, Connect, connect_with_psycopg
from risingpy.sqllogictest.oracle import OracleUnavailable, running_postgresql
from risingpy.sqllogictest.oracle_sql import to_postgresql


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Connect]:
    """Connections to a PostgreSQL of the test run's own."""
    try:
        with running_postgresql() as conninfo:
            yield connect_with_psycopg(conninfo, timeout=30)
    except OracleUnavailable as error:
        pytest.skip(str(error))


class LikeOurs:
    """PostgreSQL that knows our statements: its plain views are as fresh as our materialized ones."""

    def __init__(self, client: Client, statements: list[str]) -> None:
        self._client = client
        self._statements = statements

    def run(self, sql: str) -> Answer:
        self._statements.append(sql)
        translated = to_postgresql(sql)
        return Answer((), (), None) if translated is None else self._client.run(translated)

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def statements() -> list[str]:
    """What `like_ours` was asked, in order."""
    return []


@pytest.fixture
def like_ours(postgresql: Connect, statements: list[str]) -> Connect:
    """Connections to a PostgreSQL that speaks as our server does."""
    return lambda: LikeOurs(postgresql(), statements)
