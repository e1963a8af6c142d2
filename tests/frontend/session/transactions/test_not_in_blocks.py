"""Commands that cannot be undone: refused in a block and among other statements of one text, as a PostgreSQL does."""

from __future__ import annotations

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_COMMANDS = (
    "DISCARD ALL",
    "VACUUM",
    "VACUUM t",
    "ANALYZE t",
    "CLUSTER",
    "CREATE DATABASE another",
    "DROP DATABASE another",
    "REINDEX TABLE t",
    "REINDEX TABLE CONCURRENTLY t",
    "REINDEX SCHEMA public",
)
_TEXTS = ("{}; SELECT 1", "SELECT 1; {}", "INSERT INTO t VALUES (1); {}", "BEGIN; {}")


@pytest.mark.parametrize("command", _COMMANDS)
def test_refused_as_in_postgresql(server: WireServer, postgres_oracle: PostgresOracle, command: str) -> None:
    ours = psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True)
    with ours, postgres_oracle.connect() as theirs:
        for connection in (ours, theirs):
            connection.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int)")
        for text in _TEXTS:
            sql = text.format(command)
            assert _answer(ours, sql) == _answer(theirs, sql), sql
        assert _rows(ours) == _rows(theirs)


def test_settings_of_the_server_are_refused(server: WireServer) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as ours:
        for text in _TEXTS[:2]:
            answer = _answer(ours, text.format("ALTER SYSTEM SET old_snapshot_threshold TO 60"))
            assert answer == ("25001", "ALTER SYSTEM cannot run inside a transaction block")


def _answer(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> object:
    try:
        connection.execute(sql.encode())
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    finally:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    return None


def _rows(connection: psycopg.Connection[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return connection.execute("SELECT count(*) FROM t").fetchall()
