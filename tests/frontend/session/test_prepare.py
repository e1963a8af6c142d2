"""PREPARE, EXECUTE, DEALLOCATE, and that the protocol's prepared statements are the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import pq

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE t (id int PRIMARY KEY, name varchar, price numeric(8, 2), tags varchar[])")
    client.run("INSERT INTO t VALUES (1, 'one', 1.5, ARRAY['a']), (2, 'two', 2.5, ARRAY['b', 'c'])")
    return client


def test_types_that_are_said_and_types_that_are_found(table: Any) -> None:
    table.run("PREPARE p (int) AS SELECT name FROM t WHERE id = $1")
    assert table.tag == "PREPARE"
    assert table.run("EXECUTE p(2)") == [("two",)]
    assert table.run("EXECUTE p('1')") == [("one",)]
    assert table.run("EXECUTE p(1 + 1.0)") == [("two",)]
    assert table.run("EXECUTE p(NULL)") == []
    table.run("PREPARE q AS SELECT id FROM t WHERE name = $1 AND price > $2 AND $3 = ANY(tags)")
    assert table.run("EXECUTE q('t' || 'wo', 0.5, lower('C'))") == [(2,)]
    table.run("PREPARE a (int[], unknown) AS SELECT id FROM t WHERE id = ANY($1) AND name = $2")
    assert table.run("EXECUTE a(ARRAY[1, 2], 'one')") == [(1,)]


def test_it_writes(table: Any) -> None:
    table.run("PREPARE i AS INSERT INTO t (id, price) VALUES ($1, $2) RETURNING price")
    assert table.run("EXECUTE i(3, 1.255)") == [(Decimal("1.26"),)]
    table.run("PREPARE u (numeric) AS UPDATE t SET price = price + $1")
    table.run("EXECUTE u(1)")
    assert table.tag == "UPDATE 3"
    table.run("PREPARE d AS DELETE FROM t WHERE id = $1")
    table.run("BEGIN; EXECUTE d(3); ROLLBACK")
    table.run("EXECUTE d(1)")
    assert (table.tag, table.run("SELECT id FROM t ORDER BY id")) == ("DELETE 1", [(2,), (3,)])


def test_of_system_relations(table: Any) -> None:
    table.run("PREPARE c (text) AS SELECT relname FROM pg_class WHERE relname = $1")
    assert table.run("EXECUTE c('t')") == [("t",)]


def test_what_it_reads_changes(table: Any) -> None:
    table.run("PREPARE p AS SELECT name FROM t WHERE id = $1")
    table.run("PREPARE s AS SELECT * FROM t")
    table.run("ALTER TABLE t ADD COLUMN more int")
    assert table.run("EXECUTE p(1)") == [("one",)]
    with pytest.raises(SqlError, match="cached plan must not change result type") as caught:
        table.run("EXECUTE s")
    assert caught.value.sqlstate == "0A000"
    table.run("DROP TABLE t")
    with pytest.raises(SqlError) as caught:
        table.run("EXECUTE p(1)")
    assert (caught.value.sqlstate, caught.value.position) == ("42P01", None)


def test_explain(table: Any) -> None:
    table.run("PREPARE p AS SELECT name FROM t WHERE id = $1")
    plain = table.run("EXPLAIN SELECT name FROM t WHERE id = 2")
    assert table.run("EXPLAIN EXECUTE p(2)") == plain
    assert table.run("EXPLAIN EXECUTE p(1)") != plain
    assert table.run("EXPLAIN ANALYZE EXECUTE p(1)")[-1] == ("Rows: 1",)
    table.run("DEALLOCATE p; PREPARE p AS DELETE FROM t WHERE id = $1")
    assert table.run("EXPLAIN EXECUTE p(2)") == table.run("EXPLAIN DELETE FROM t WHERE id = 2")


def test_deallocate(table: Any) -> None:
    table.run("PREPARE a AS SELECT 1; PREPARE b AS SELECT 2; PREPARE c AS SELECT 3")
    table.run("DEALLOCATE PREPARE a")
    assert table.tag == "DEALLOCATE"
    shown = "SELECT name, statement, parameter_types, result_types, from_sql FROM pg_prepared_statements"
    assert [row[0] for row in table.run(shown)] == ["b", "c"]
    table.run("PREPARE a (int, text) AS DELETE FROM t WHERE id = $1 AND name = $2")
    assert table.run(f"{shown} WHERE name = 'a'") == [
        (
            "a",
            "PREPARE a (int, text) AS DELETE FROM t WHERE id = $1 AND name = $2",
            ["integer", "character varying"],
            None,
            True,
        )
    ]
    table.run("DEALLOCATE ALL")
    assert (table.tag, table.run(shown)) == ("DEALLOCATE ALL", [])
    table.run("PREPARE a AS SELECT 1")
    table.run("DISCARD ALL")
    assert table.run(shown) == []


@pytest.mark.parametrize(
    ("sql", "state", "message", "position"),
    [
        ("EXECUTE nosuch(1)", "26000", 'prepared statement "nosuch" does not exist', None),
        ("DEALLOCATE nosuch", "26000", 'prepared statement "nosuch" does not exist', None),
        ("PREPARE p AS SELECT 1", "42P05", 'prepared statement "p" already exists', None),
        ("EXECUTE p", "42601", 'wrong number of parameters for prepared statement "p"', None),
        ("EXECUTE p(1, 2)", "42601", 'wrong number of parameters for prepared statement "p"', None),
        ("EXECUTE p('x')", "22P02", 'invalid input syntax for type integer: "x"', 11),
        (
            "EXECUTE p(DATE '2020-01-01')",
            "42804",
            "parameter $1 of type date cannot be coerced to the expected type integer",
            11,
        ),
        ("EXECUTE p($1)", "42P02", "there is no parameter $1", None),
        ("EXECUTE p((SELECT 1))", "0A000", "cannot use subquery in EXECUTE parameter", 11),
        ("PREPARE q AS SELECT nosuch FROM t", "42703", 'column "nosuch" does not exist', 21),
        ("PREPARE q AS SELECT 1 +", "42601", "syntax error at end of input", 24),
        ("PREPARE q AS CREATE TABLE x (a int)", "42601", 'syntax error at or near "CREATE"', 14),
        ("PREPARE q (nosuch) AS SELECT 1", "42704", 'type "nosuch" does not exist', 12),
        ("PREPARE q", "42601", "syntax error at end of input", 10),
        ("PREPARE TRANSACTION 'x'", "0A000", "two-phase commit is not supported", None),
        ("BEGIN; DISCARD ALL", "25001", "DISCARD ALL cannot run inside a transaction block", None),
    ],
)
def test_errors(table: Any, sql: str, state: str, message: str, position: int | None) -> None:
    table.run("PREPARE p AS SELECT name FROM t WHERE id = $1")
    with pytest.raises(SqlError) as caught:
        table.run(sql)
    assert (caught.value.sqlstate, caught.value.message) == (state, message)
    assert position is None or caught.value.position == position


def test_a_failed_transaction_takes_no_execute(table: Any) -> None:
    table.run("PREPARE p AS SELECT 1; BEGIN")
    for sql, state in (("SELECT nosuch", "42703"), ("EXECUTE p", "25P02")):
        with pytest.raises(SqlError) as caught:
            table.run(sql)
        assert caught.value.sqlstate == state
    table.run("ROLLBACK")
    assert table.run("EXECUTE p") == [(1,)]


@pytest.fixture
def connection(server: WireServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as opened:
        yield opened


def test_the_protocols_statements_are_the_same(connection: psycopg.Connection[Any]) -> None:
    connection.execute("PREPARE mine (int) AS SELECT $1 + 1")
    result = connection.pgconn.exec_prepared(b"mine", [b"41"])
    assert (result.status, result.get_value(0, 0)) == (pq.ExecStatus.TUPLES_OK, b"42")
    assert connection.pgconn.prepare(b"theirs", b"SELECT $1::int * 2").status == pq.ExecStatus.COMMAND_OK
    assert connection.execute("EXECUTE theirs(21)").fetchall() == [(42,)]
    listed = connection.execute("SELECT name, from_sql, statement FROM pg_prepared_statements ORDER BY name").fetchall()
    assert listed == [("mine", True, "PREPARE mine (int) AS SELECT $1 + 1"), ("theirs", False, "SELECT $1::int * 2")]
    failed = connection.pgconn.prepare(b"mine", b"SELECT 1")
    assert failed.error_field(pq.DiagnosticField.SQLSTATE) == b"42P05"


def test_psycopg_frees_what_it_prepared(connection: psycopg.Connection[Any]) -> None:
    connection.prepare_threshold, connection.prepared_max = 0, 3
    for number in range(10):
        connection.execute(f"SELECT {number} + %s", [1])
    assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (4,)  # with itself
    connection.execute("DISCARD ALL")
    assert connection.execute("SELECT 1 FROM pg_prepared_statements WHERE from_sql").fetchall() == []
