"""Sessions in which BEGIN begins nothing, as in RisingWave, and how dbt-risingwave is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from risingpy.errors import SqlError


def rows(connect: Callable[..., Any]) -> list[tuple[object, ...]]:
    return sorted(connect().run("SELECT id FROM t"))


def test_dbt_risingwave_commits_each_statement_without_commit(table: Any, connect: Callable[..., Any]) -> None:
    """What psycopg2 and the adapter send; then the client goes away, which rolls an open transaction back."""
    dbt = connect(application_name="dbt")
    dbt.run("BEGIN")
    assert dbt.status == b"T"
    dbt.run("SET RW_IMPLICIT_FLUSH TO true")
    assert dbt.status == b"I"
    assert dbt.run("SHOW read_write_transactions") == [("off",)]
    assert dbt.run("SHOW rw_implicit_flush") == [("true",)]
    dbt.run("CREATE SCHEMA built")
    dbt.run("INSERT INTO t VALUES (3, 3)")
    dbt.session.close()
    assert rows(connect) == [(1,), (2,), (3,)]
    connect().run("CREATE TABLE built.there (id int)")


def test_later_begins_of_such_a_session_begin_nothing(table: Any, connect: Callable[..., Any]) -> None:
    dbt = connect(application_name="dbt")
    dbt.run("BEGIN")
    dbt.run("SET rw_implicit_flush = on")
    for word in ("BEGIN", "START TRANSACTION", "BEGIN READ WRITE"):
        dbt.run(word)
        assert dbt.status == b"I"
        dbt.run("DELETE FROM t WHERE id = 1")
        dbt.run("ROLLBACK")
    assert rows(connect) == [(2,)]
    dbt.notices.clear()
    dbt.run("COMMIT")
    assert dbt.notices == []
    dbt.run("BEGIN READ ONLY")
    assert dbt.status == b"T"
    with pytest.raises(SqlError) as refused:
        dbt.run("DELETE FROM t")
    assert refused.value.sqlstate == "25006"


@pytest.mark.parametrize(
    ("application", "setting", "first"),
    [
        ("psql", "auto", None),
        ("dbt", "on", None),
        ("dbt", "auto", "INSERT INTO t VALUES (3, 3)"),
        ("dbt", "auto", "CREATE TABLE u (id int)"),
        ("dbt", "auto", "SAVEPOINT a"),
        ("dbt", "auto", "LOCK TABLE t"),
    ],
)
def test_whoever_is_not_dbt_risingwave_keeps_the_transaction(
    table: Any, connect: Callable[..., Any], application: str, setting: str, first: str | None
) -> None:
    other = connect(application_name=application, read_write_transactions=setting)
    other.run("BEGIN")
    if first is not None:
        other.run(first)
    other.run("SET rw_implicit_flush TO true")
    assert other.status == b"T"
    other.run("INSERT INTO t VALUES (4, 4)")
    other.run("ROLLBACK")
    assert rows(connect) == [(1,), (2,)]


def test_switching_the_flush_off_or_outside_of_a_block_ends_nothing(table: Any, connect: Callable[..., Any]) -> None:
    dbt = connect(application_name="dbt")
    dbt.run("SET rw_implicit_flush TO true")
    dbt.run("BEGIN")
    dbt.run("SET rw_implicit_flush TO false")
    assert dbt.status == b"T"
    assert dbt.run("SHOW read_write_transactions") == [("auto",)]
    dbt.run("ROLLBACK")


def test_the_setting_of_a_role(table: Any, connect: Callable[..., Any]) -> None:
    table.run("ALTER ROLE root SET read_write_transactions TO off")
    other = connect()
    other.run("BEGIN")
    assert other.status == b"I"
    assert other.notices == ["no transaction is open: each statement is committed by itself"]
    other.run("SET read_write_transactions TO on")
    other.run("BEGIN")
    assert other.status == b"T"
    other.run("ROLLBACK")
    with pytest.raises(SqlError) as refused:
        other.run("SET read_write_transactions TO maybe")
    assert refused.value.sqlstate == "22023"
