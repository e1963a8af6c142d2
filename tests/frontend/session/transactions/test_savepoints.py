"""SAVEPOINT, RELEASE and ROLLBACK TO."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from risingpy.errors import InFailedTransaction, SqlError
from risingpy.frontend.wire import WireServer


def test_going_back_forgets_what_was_written_since(table: Any, connect: Callable[[], Any]) -> None:
    table.run("BEGIN")
    table.run("INSERT INTO t VALUES (3, 3)")
    table.run("SAVEPOINT a")
    table.run("DELETE FROM t WHERE id < 3")
    table.run("SAVEPOINT b")
    table.run("INSERT INTO t VALUES (4, 4)")
    assert sorted(table.run("SELECT id FROM t")) == [(3,), (4,)]
    table.run("ROLLBACK TO b")
    assert (table.run("SELECT id FROM t"), table.tag) == ([(3,)], "SELECT 1")
    table.run("ROLLBACK TO SAVEPOINT a")
    assert sorted(table.run("SELECT id FROM t")) == [(1,), (2,), (3,)]
    with pytest.raises(SqlError, match='savepoint "b" does not exist') as caught:
        table.run("ROLLBACK TO b")
    assert caught.value.sqlstate == "3B001"
    table.run("ROLLBACK TO a")
    table.run("UPDATE t SET n = 0 WHERE id = 3")
    table.run("RELEASE a")
    table.run("COMMIT")
    assert sorted(connect().run("FLUSH; SELECT * FROM t")) == [(1, 1), (2, 2), (3, 0)]


def test_a_name_used_twice_means_the_newest(table: Any) -> None:
    table.run("BEGIN")
    table.run("SAVEPOINT a")
    table.run("INSERT INTO t VALUES (3, 3)")
    table.run("SAVEPOINT a")
    table.run("INSERT INTO t VALUES (4, 4)")
    table.run("ROLLBACK TO a")
    assert table.run("SELECT count(*) FROM t") == [(3,)]
    table.run("RELEASE SAVEPOINT a")
    table.run("ROLLBACK TRANSACTION TO SAVEPOINT a")
    assert table.run("SELECT count(*) FROM t") == [(2,)]
    table.run("COMMIT")


def test_going_back_clears_a_failure(table: Any) -> None:
    table.run("BEGIN")
    table.run("DELETE FROM t WHERE id = 1")
    table.run("SAVEPOINT a")
    table.run("INSERT INTO t VALUES (3, 3)")
    with pytest.raises(SqlError):
        table.run("SELECT nosuch FROM t")
    assert table.status == b"E"
    for sql in ("SAVEPOINT c", "RELEASE a", "SELECT 1"):
        with pytest.raises(InFailedTransaction):
            table.run(sql)
    with pytest.raises(SqlError, match='savepoint "nosuch" does not exist'):
        table.run("ROLLBACK TO nosuch")
    assert table.status == b"E"
    table.run("ROLLBACK TO a")
    assert table.status == b"T"
    table.run("COMMIT")
    assert (table.tag, table.run("SELECT id FROM t")) == ("COMMIT", [(2,)])


def test_without_going_back_a_failure_takes_everything(table: Any) -> None:
    table.run("BEGIN; DELETE FROM t; SAVEPOINT a")
    with pytest.raises(SqlError):
        table.run("SELECT nosuch FROM t")
    table.run("COMMIT")
    assert (table.tag, table.run("SELECT count(*) FROM t")) == ("ROLLBACK", [(2,)])
    with pytest.raises(SqlError) as caught:
        table.run("BEGIN; ROLLBACK TO a")
    assert caught.value.sqlstate == "3B001"


def test_tables_taken_since_are_let_go(table: Any, connect: Callable[[], Any]) -> None:
    other = connect()
    table.run("CREATE TABLE u (id int PRIMARY KEY)")
    table.run("BEGIN; UPDATE t SET n = 5; SAVEPOINT a; DELETE FROM u; ROLLBACK TO a")
    other.run("SET statement_timeout = 300")
    with ThreadPoolExecutor(1) as thread:  # tables are held by threads
        thread.submit(other.run, "DELETE FROM u").result()
        with pytest.raises(SqlError) as caught:
            thread.submit(other.run, "DELETE FROM t").result()
    assert caught.value.sqlstate == "57014"
    table.run("COMMIT")
    other.run("DELETE FROM t")
    assert other.tag == "DELETE 2"


def test_settings_go_back_too(table: Any) -> None:
    table.run("BEGIN; SET timezone = 'Asia/Tokyo'; SET LOCAL application_name = 'x'; SAVEPOINT a")
    table.run("SET timezone = 'Europe/Berlin'; SET application_name = 'y'; SET my.own = 'z'; ROLLBACK TO a")
    assert table.run("SHOW timezone") == [("Asia/Tokyo",)]
    assert table.run("SHOW application_name") == [("x",)]
    with pytest.raises(SqlError):
        table.run("SHOW my.own")
    table.run("ROLLBACK TO a; COMMIT")
    assert (table.run("SHOW timezone"), table.run("SHOW application_name")) == ([("Asia/Tokyo",)], [("",)])


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SAVEPOINT a", "SAVEPOINT"),
        ("RELEASE a", "RELEASE SAVEPOINT"),
        ("ROLLBACK TO a", "ROLLBACK TO SAVEPOINT"),
        ("SELECT 1; SAVEPOINT a", "SAVEPOINT"),
    ],
)
def test_only_in_a_transaction(client: Any, sql: str, what: str) -> None:
    with pytest.raises(SqlError, match=f"^{what} can only be used in transaction blocks$") as caught:
        client.run(sql)
    assert caught.value.sqlstate == "25P01"


def test_a_large_copy_is_taken_back(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from risingpy.frontend.statements import copy

    monkeypatch.setattr(copy, "KEPT_BYTES", 0)
    table.run("BEGIN; SAVEPOINT a")
    table.copy_in("COPY t FROM STDIN", [7, 8], [7, 8]).sink.finish()
    assert table.run("SELECT count(*) FROM t") == [(4,)]
    table.run("ROLLBACK TO a")
    table.copy_in("COPY t FROM STDIN", [9], [9]).sink.finish()
    table.run("COMMIT")
    assert sorted(table.run("SELECT id FROM t")) == [(1,), (2,), (9,)]
    data_dir = table.session.context.database.data_dir
    deadline = time.monotonic() + 10  # an epoch is read before its log's files go
    while (left := list(data_dir.rglob("*spill*"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left


def test_psycopgs_nested_transactions(server: WireServer) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)")
        with connection.transaction():
            connection.execute("INSERT INTO t VALUES (1, 1)")
            with pytest.raises(psycopg.errors.NotNullViolation), connection.transaction():
                connection.execute("INSERT INTO t VALUES (2, 2)")
                connection.execute("INSERT INTO t VALUES (3, NULL)")
            with connection.transaction(force_rollback=True):
                connection.execute("INSERT INTO t VALUES (4, 4)")
            with connection.transaction("named"):
                connection.execute("INSERT INTO t VALUES (5, 5)")
        assert connection.execute("SELECT id FROM t ORDER BY id").fetchall() == [(1,), (5,)]
