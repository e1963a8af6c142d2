"""SET TRANSACTION, SET SESSION CHARACTERISTICS and default_transaction_read_only, as PostgreSQL has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle

TEXTS = (
    "BEGIN; SET TRANSACTION READ ONLY",
    "INSERT INTO t VALUES (10, 1)",
    "ROLLBACK",
    "BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
    "SHOW transaction_read_only",
    "CREATE TABLE u (id int)",
    "ROLLBACK",
    "BEGIN READ ONLY; SET TRANSACTION READ WRITE",
    "INSERT INTO t VALUES (11, 1)",
    "COMMIT",
    "SET TRANSACTION READ ONLY",
    "INSERT INTO t VALUES (12, 1)",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SHOW default_transaction_read_only",
    "SHOW transaction_read_only",
    "INSERT INTO t VALUES (13, 1)",
    "UPDATE t SET n = 5 WHERE id = 1",
    "BEGIN",
    "DELETE FROM t",
    "ROLLBACK",
    "BEGIN READ WRITE",
    "SHOW transaction_read_only",
    "INSERT INTO t VALUES (14, 1)",
    "COMMIT",
    "SET default_transaction_read_only = off",
    "INSERT INTO t VALUES (15, 1)",
    "BEGIN",
    "SET default_transaction_read_only = on",
    "INSERT INTO t VALUES (16, 1)",
    "ROLLBACK",
    "SET default_transaction_isolation TO 'repeatable read'",
    "SHOW default_transaction_isolation",
    "SET default_transaction_isolation TO 'chaos'",
    "SELECT * FROM t ORDER BY id",
)


def test_as_in_postgres(table: Any, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as theirs:
        theirs.execute("DROP TABLE IF EXISTS t")
        theirs.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
        theirs.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        for text in TEXTS:
            assert _ours(table, text) == _theirs(theirs, text), text


def test_prepared_statements_ask_each_time(server: WireServer, table: Any) -> None:
    """Those that the event loop answers, too."""
    address = {"host": "127.0.0.1", "port": server.port, "user": "root", "dbname": "dev"}
    with psycopg.connect(**address, autocommit=True) as connection:  # type: ignore[arg-type]
        insert = "INSERT INTO t VALUES (%b, %b)"
        for number in range(10, 20):
            connection.execute(insert, (number, 0), prepare=True)
        connection.execute("SET default_transaction_read_only TO on")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute(insert, (20, 0), prepare=True)
        connection.execute("RESET default_transaction_read_only")
        connection.execute(insert, (21, 0), prepare=True)
        connection.read_only = True
        connection.autocommit = False
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute(insert, (22, 0), prepare=True)


def test_a_role_that_only_reads(table: Any, connect: Callable[[], Any]) -> None:
    table.run("ALTER ROLE root SET default_transaction_read_only TO on")
    other = connect()
    with pytest.raises(SqlError) as refused:
        other.run("DELETE FROM t")
    assert refused.value.sqlstate == "25006"


def _ours(client: Any, text: str) -> object:
    try:
        return client.run(text)
    except SqlError as error:
        return error.sqlstate


def _theirs(connection: psycopg.Connection[Any], text: str) -> object:
    try:
        cursor = connection.execute(text)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        return error.sqlstate
