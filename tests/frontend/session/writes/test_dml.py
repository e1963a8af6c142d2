"""INSERT, UPDATE, DELETE and COPY against a real database."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from risingpy.errors import NotNullViolation, SqlError
from risingpy.frontend.statements import copy
from risingpy.meta.database import Database
from risingpy.storage.log.spill import spill_paths
from risingpy.storage.log.write_ahead_log import log_directory


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, name varchar NOT NULL, n int DEFAULT 7)")
    return client


def test_insert_takes_defaults_and_later_rows_win(table: Any) -> None:
    table.run("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', DEFAULT), (1, 'z', NULL)")
    assert table.tag == "INSERT 0 3"
    assert sorted(table.run("SELECT * FROM t")) == [(1, "z", None), (2, "b", 7)]


def test_insert_from_a_query_and_column_list(table: Any) -> None:
    table.run("INSERT INTO t (name, id) SELECT 'x' || v, v FROM (VALUES (1), (2)) AS x (v)")
    assert sorted(table.run("SELECT * FROM t")) == [(1, "x1", 7), (2, "x2", 7)]


def test_returning(table: Any) -> None:
    assert table.run("INSERT INTO t VALUES (1, 'a', 1) RETURNING id + 1, upper(name) AS u") == [(2, "A")]
    assert table.run("UPDATE t SET n = n * 2 WHERE id = 1 RETURNING *") == [(1, "a", 2)]
    assert table.run("DELETE FROM t WHERE id = 1 RETURNING name") == [("a",)]
    assert table.tags[1:] == ["INSERT 0 1", "UPDATE 1", "DELETE 1"]


def test_not_null(table: Any) -> None:
    with pytest.raises(NotNullViolation) as caught:
        table.run("INSERT INTO t VALUES (3, 'c', 1), (4, NULL, 2)")
    message = 'null value in column "name" of relation "t" violates not-null constraint'
    assert (caught.value.message, caught.value.sqlstate) == (message, "23502")
    assert caught.value.detail == "Failing row contains (4, null, 2)."
    assert table.run("SELECT count(*) FROM t") == [(0,)]
    table.run("INSERT INTO t VALUES (1, 'a', 1)")
    with pytest.raises(NotNullViolation):
        table.run("UPDATE t SET name = NULL")
    with pytest.raises(NotNullViolation):
        table.run("INSERT INTO t (name) VALUES ('no key')")


def test_update_and_delete_in_views(table: Any) -> None:
    table.run("CREATE MATERIALIZED VIEW m AS SELECT name, sum(n) AS s, max(n) AS x FROM t GROUP BY name")
    table.run("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 5), (3, 'b', 9)")
    table.run("UPDATE t SET n = 0 WHERE n = 5")
    table.run("DELETE FROM t WHERE name = 'b'")
    assert table.run("SELECT * FROM m") == [("a", 1, 1)]


def test_tables_without_a_key_keep_duplicates(client: Any) -> None:
    client.run("CREATE TABLE u (a int, b numeric(10, 2))")
    client.run("INSERT INTO u VALUES (1, 1.005), (1, 1.005)")
    assert client.run("SELECT * FROM u") == [(1, Decimal("1.01"))] * 2
    assert client.run("DELETE FROM u WHERE a = 1") == []
    assert client.tag == "DELETE 2"


def test_parameters(table: Any) -> None:
    table.run("INSERT INTO t VALUES ($1, $2, $3)", 5, "five", None)
    assert table.run("SELECT name, n FROM t WHERE id = $1", 5) == [("five", None)]
    assert table.run("SELECT name FROM t WHERE id = $1", None) == []
    assert table.run("SELECT name FROM t WHERE id = $1 AND n IS NULL", 5) == [("five",)]
    assert table.run("SELECT id, $2 FROM t WHERE id = $1", 5, "x") == [(5, "x")]


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("INSERT INTO t VALUES ('x', 'a', 1)", "22P02"),
        ("INSERT INTO t VALUES (1, 'a', 3000000000)", "22003"),
        ("INSERT INTO t VALUES (1, 'a', 1, 2)", "42601"),
        ("INSERT INTO t (nope) VALUES (1)", "42703"),
        ("INSERT INTO nope VALUES (1)", "42P01"),
        ("UPDATE t SET n = 1 / 0 WHERE id = 1", "22012"),
        ("UPDATE t SET n = true", "42804"),
        ("SELECT 1 / (id - 1) FROM t", "22012"),
        ("SELECT * FROM t WHERE name = 1", "42883"),
        ("SELECT 1 FROM t GROUP", "42601"),
    ],
)
def test_errors(table: Any, sql: str, sqlstate: str) -> None:
    table.run("INSERT INTO t VALUES (1, 'a', 1)")
    with pytest.raises(SqlError) as caught:
        table.run(sql)
    assert caught.value.sqlstate == sqlstate
    assert table.run("SELECT * FROM t") == [(1, "a", 1)]


def test_append_only_tables_refuse_changes(client: Any) -> None:
    client.run("CREATE TABLE log (a int) APPEND ONLY")
    client.run("INSERT INTO log VALUES (1)")
    for sql in ("UPDATE log SET a = 2", "DELETE FROM log"):
        with pytest.raises(SqlError, match="append-only"):
            client.run(sql)


def test_copy_is_one_group(table: Any) -> None:
    copying = table.copy_in("COPY t (name, id) FROM STDIN", ["a", "b"], [1, 2])
    assert table.run("SELECT count(*) FROM t") == [(0,)]
    copying.sink.finish()
    assert sorted(table.run("SELECT * FROM t")) == [(1, "a", 7), (2, "b", 7)]


def test_copy_aborted_or_refused_leaves_nothing(table: Any) -> None:
    table.copy_in("COPY t FROM STDIN", [1], ["a"], [1]).sink.abort()
    copying = table.copy_in("COPY t FROM STDIN", [1, 2], ["a", None], [1, 2])
    with pytest.raises(NotNullViolation):
        copying.sink.finish()
    assert table.run("SELECT count(*) FROM t") == [(0,)]


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch of a COPY goes to the disk."""
    monkeypatch.setattr(copy, "KEPT_BYTES", 0)


def spills(database: Database) -> list[Path]:
    return spill_paths(log_directory(database.data_dir))


@pytest.mark.usefixtures("spilling")
def test_a_large_copy_goes_through_a_file_and_is_one_group(table: Any, database: Database) -> None:
    copying = table.copy_in("COPY t (name, id) FROM STDIN", ["a", "b"], [1, 2])
    copying.sink.write(pa.record_batch([pa.array(["c", "d"]), pa.array([3, 1])], ["name", "id"]))
    assert len(spills(database)) == 1
    assert table.run("SELECT count(*) FROM t") == [(0,)]
    copying.sink.finish()
    assert sorted(table.run("SELECT * FROM t")) == [(1, "d", 7), (2, "b", 7), (3, "c", 7)]
    table.run("FLUSH")
    deadline = time.monotonic() + 10  # the log is shortened after those who wait for the epoch have been woken
    while spills(database):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("spilling")
def test_a_large_copy_that_fails_leaves_no_file(table: Any, database: Database) -> None:
    table.copy_in("COPY t FROM STDIN", [1], ["a"], [1]).sink.abort()
    with pytest.raises(NotNullViolation):
        copying = table.copy_in("COPY t FROM STDIN", [1], ["a"], [1])
        try:
            nameless = [pa.array([2]), pa.array([None], pa.string()), pa.array([1], pa.int32())]
            copying.sink.write(pa.record_batch(nameless, ["id", "name", "n"]))
        except NotNullViolation:
            copying.sink.abort()
            raise
    table.run("BEGIN")
    table.copy_in("COPY t FROM STDIN", [1], ["a"], [1]).sink.finish()
    assert len(spills(database)) == 1
    assert table.run("SELECT id FROM t") == [(1,)]
    table.run("ROLLBACK")
    assert table.run("SELECT count(*) FROM t") == [(0,)]
    assert spills(database) == []


def test_copy_to(table: Any) -> None:
    table.run("INSERT INTO t VALUES (1, 'a', 1)")
    assert table.run("COPY t (name, id) TO STDOUT") == [("a", 1)]
    assert table.run("COPY (SELECT n + 1 FROM t) TO STDOUT (FORMAT csv)") == [(2,)]
    assert table.tag == "COPY 1"


def test_implicit_flush(table: Any, connect: Callable[[], Any]) -> None:
    table.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t")
    table.run("SET rw_implicit_flush TO true")
    table.run("INSERT INTO t VALUES (1, 'a', 1)")
    assert connect().run("SELECT n FROM m") == [(1,)]
    table.run("BEGIN")
    table.run("INSERT INTO t VALUES (2, 'b', 2)")
    table.run("COMMIT")
    assert connect().run("SELECT n FROM m") == [(2,)]
    table.run("INSERT INTO t VALUES (3, 'c', 3); DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (4, 'd', 4)")
    assert connect().run("SELECT n FROM m") == [(3,)]


def test_zeros_of_both_signs_differ(client: Any) -> None:
    client.run("CREATE TABLE zeros (id INT PRIMARY KEY, a DOUBLE PRECISION, b REAL)")
    client.run("INSERT INTO zeros VALUES (1, 0, 0)")
    client.run("UPDATE zeros SET a = '-0', b = '-0'")
    assert client.run("SELECT a::varchar, b::varchar FROM zeros") == [("-0", "-0")]


def test_updates_of_the_key(table: Any) -> None:
    table.run("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    table.run("UPDATE t SET id = id + 1")
    assert sorted(table.run("SELECT id, name FROM t")) == [(2, "a"), (3, "b"), (4, "c")]
    for sql, key in (("UPDATE t SET id = 9", 9), ("UPDATE t SET id = 4 WHERE id = 2", 4)):
        with pytest.raises(SqlError) as caught:
            table.run(sql)
        assert caught.value.sqlstate == "23505"
        assert caught.value.detail == f"Key (id)=({key}) already exists."
    table.run("BEGIN; DELETE FROM t WHERE id = 4; UPDATE t SET id = 4 WHERE id = 2; COMMIT")
    assert sorted(table.run("SELECT id, name FROM t")) == [(3, "b"), (4, "a")]


def test_sources_take_and_give_no_rows(client: Any, tmp_path: Path) -> None:
    client.run(f"CREATE SOURCE s (a int) WITH (connector = 'file', path = '{tmp_path}')")
    for sql in ("SELECT * FROM s", "SELECT * FROM s WHERE a = 1", "INSERT INTO s VALUES (1)"):
        with pytest.raises(SqlError, match='source "s"'):
            client.run(sql)
    assert client.run("EXPLAIN SELECT * FROM s WHERE a = 1")
