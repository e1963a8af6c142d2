"""Databases to run suites against: PostgreSQL, plain and dressed up as ours, and our own server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.server_process import HOST, ServerProcess
from risingpy.sqllogictest.client import Answer, Client, Connect, connect_with_psycopg
from risingpy.sqllogictest.oracle import OracleUnavailable, running_postgresql
from risingpy.sqllogictest.oracle_sql import to_postgresql
from tests.idleness import assert_server_falls_idle


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


def serve(directory: Path, engine: str) -> Iterator[Connect]:
    """A server in a process of its own; on Spark from its first epoch, if that is the engine."""
    server = ServerProcess(directory / "data", engine=engine)
    try:
        if engine == "spark":
            server.wait_for_spark()
        yield connect_with_psycopg(f"host={HOST} port={server.port} dbname=dev user=root", timeout=60)
        if engine == "spark":
            assert_server_falls_idle(server)
        code, said = server.stop(), "".join(server.output)
        assert code == 0 and not _failures(said), said
    finally:
        server.kill()


def _failures(said: str) -> list[str]:
    """The exceptions in a server's output."""
    return [line for line in said.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    yield from serve(tmp_path_factory.mktemp("inprocess"), "inprocess")


@pytest.fixture(scope="session")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    yield from serve(tmp_path_factory.mktemp("spark"), "spark")
