"""SET TRANSACTION, SET SESSION CHARACTERISTICS and default_transaction_read_only, as PostgreSQL has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.tools.beside import Beside
from tests.frontend.session.tools.conftest import beside as beside
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


MODES = (
    "SHOW transaction_isolation",
    "SHOW TRANSACTION ISOLATION LEVEL",
    "SHOW transaction_read_only",
    "SHOW transaction_deferrable",
    "SHOW default_transaction_isolation",
    "SHOW default_transaction_read_only",
    "SHOW default_transaction_deferrable",
    "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
    "SELECT current_setting('transaction_isolation'), current_setting('transaction_deferrable')",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "SHOW transaction_deferrable",
    "SHOW default_transaction_isolation",
    "COMMIT",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "SHOW transaction_deferrable",
    "BEGIN",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SHOW transaction_isolation",
    "SET TRANSACTION READ ONLY",
    "SHOW transaction_read_only",
    "SET TRANSACTION DEFERRABLE",
    "SHOW transaction_deferrable",
    "SET TRANSACTION NOT DEFERRABLE",
    "SHOW transaction_deferrable",
    "ROLLBACK",
    "SHOW transaction_isolation",
    "BEGIN",
    "SELECT 1",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "ROLLBACK",
    "BEGIN",
    "SELECT 1",
    "SET TRANSACTION READ ONLY",
    "SHOW transaction_read_only",
    "SET TRANSACTION READ WRITE",
    "ROLLBACK",
    "BEGIN READ ONLY",
    "SELECT 1",
    "SET TRANSACTION READ WRITE",
    "ROLLBACK",
    "BEGIN",
    "SELECT 1",
    "SET TRANSACTION DEFERRABLE",
    "ROLLBACK",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SHOW transaction_isolation",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, DEFERRABLE",
    "SHOW default_transaction_isolation",
    "SHOW default_transaction_read_only",
    "SHOW default_transaction_deferrable",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "SHOW transaction_deferrable",
    "BEGIN",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "COMMIT",
    "BEGIN READ WRITE ISOLATION LEVEL READ COMMITTED NOT DEFERRABLE",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "SHOW transaction_deferrable",
    "COMMIT",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SET default_transaction_isolation = 'serializable'",
    "SHOW transaction_isolation",
    "SET default_transaction_isolation = 'nonsense'",
    "SET default_transaction_isolation = 'read uncommitted'",
    "SHOW transaction_isolation",
    "RESET default_transaction_isolation",
    "SHOW default_transaction_isolation",
    "SET default_transaction_read_only = on",
    "SHOW transaction_read_only",
    "CREATE TABLE x (a int)",
    "SET default_transaction_read_only TO DEFAULT",
    "SET default_transaction_deferrable = on",
    "SHOW default_transaction_deferrable",
    "RESET default_transaction_deferrable",
    "SET transaction_isolation = 'serializable'",
    "SHOW transaction_isolation",
    "BEGIN",
    "SET transaction_isolation = 'serializable'",
    "SHOW transaction_isolation",
    "SET LOCAL transaction_read_only = on",
    "SHOW transaction_read_only",
    "COMMIT",
    "BEGIN",
    "SET transaction_isolation TO DEFAULT",
    "SET transaction_isolation TO 'foo'",
    "ROLLBACK",
    "BEGIN",
    "RESET transaction_isolation",
    "ROLLBACK",
    "BEGIN",
    "RESET transaction_read_only",
    "ROLLBACK",
    "START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SHOW transaction_isolation",
    "COMMIT",
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "SAVEPOINT a",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "ROLLBACK",
    "BEGIN",
    "SAVEPOINT a",
    "SET TRANSACTION READ ONLY",
    "SHOW transaction_read_only",
    "ROLLBACK TO a",
    "SHOW transaction_read_only",
    "ROLLBACK",
    "BEGIN READ ONLY",
    "SAVEPOINT a",
    "SET TRANSACTION READ WRITE",
    "ROLLBACK",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "COMMIT AND CHAIN",
    "SHOW transaction_isolation",
    "ROLLBACK",
    "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ",
    "ROLLBACK AND CHAIN",
    "SHOW transaction_isolation",
    "SHOW transaction_read_only",
    "COMMIT",
    "BEGIN",
    "SELECT set_config('transaction_read_only', 'on', true)",
    "COMMIT",
    "ROLLBACK",
)


def test_what_show_tells(beside: Beside) -> None:
    beside.same(*MODES)


def test_short_statements_begin_with_the_defaults(server: WireServer) -> None:
    """The event loop answers BEGIN and COMMIT without the session's thread."""
    address = {"host": "127.0.0.1", "port": server.port, "user": "root", "dbname": "dev"}
    with psycopg.connect(**address, autocommit=True) as connection:  # type: ignore[arg-type]
        for level in ("read committed", "serializable", "read committed"):
            connection.execute(f"SET default_transaction_isolation = '{level}'".encode())
            for _ in range(3):
                connection.execute("BEGIN")
                assert connection.execute("SHOW transaction_isolation").fetchone() == (level,)
                connection.execute("COMMIT")
        connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE")
        shown = "SELECT name, setting FROM pg_settings WHERE name LIKE 'transaction_%' ORDER BY 1"
        modes = [("transaction_deferrable", "on"), ("transaction_isolation", "serializable")]
        assert connection.execute(shown).fetchall()[:3] == [*modes, ("transaction_read_only", "on")]


def test_a_short_read_is_a_query(server: WireServer, table: Any) -> None:
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True) as connection:
        for _ in range(4):
            connection.execute("BEGIN")
            connection.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            connection.execute("SELECT n FROM t WHERE id = %s", (1,), prepare=True)
            with pytest.raises(psycopg.errors.ActiveSqlTransaction):
                connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("ROLLBACK")
