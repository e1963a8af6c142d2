"""TRUNCATE against a real database."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported, SqlError


@pytest.fixture
def tables(client: Any) -> Any:
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n int)")
    client.run("CREATE TABLE u (n int)")
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)")
    client.run("INSERT INTO u VALUES (5), (5)")
    return client


def test_the_views_follow_and_the_tag_says_the_statement(tables: Any) -> None:
    tables.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM t")
    tables.run("TRUNCATE t, u")
    assert tables.tag == "TRUNCATE TABLE"
    assert tables.run("SELECT c, s FROM v") == [(0, None)]
    assert tables.run("SELECT * FROM u") == []


def test_a_transaction_sees_its_own_and_rollback_undoes_it(tables: Any) -> None:
    tables.run("BEGIN")
    tables.run("INSERT INTO t VALUES (3, 30)")
    tables.run("TRUNCATE t, u")
    assert tables.run("SELECT * FROM t") == []
    tables.run("ROLLBACK")
    assert tables.run("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == [(2, 2)]


def test_a_savepoint_undoes_it(tables: Any) -> None:
    tables.run("BEGIN")
    tables.run("SAVEPOINT a")
    tables.run("TRUNCATE t")
    tables.run("ROLLBACK TO a")
    tables.run("COMMIT")
    assert tables.run("SELECT count(*) FROM t") == [(2,)]


def test_one_failing_table_leaves_all(tables: Any) -> None:
    tables.run("CREATE TABLE log (n int) APPEND ONLY")
    with pytest.raises(FeatureNotSupported, match="append-only"):
        tables.run("TRUNCATE t, log")
    assert tables.run("SELECT count(*) FROM t") == [(2,)]


def test_a_read_only_transaction_refuses_it(tables: Any) -> None:
    tables.run("BEGIN READ ONLY")
    with pytest.raises(SqlError, match="cannot execute TRUNCATE TABLE in a read-only transaction"):
        tables.run("TRUNCATE t")


def test_restart_identity_begins_again(tables: Any) -> None:
    tables.run("CREATE TABLE numbered (id int GENERATED ALWAYS AS IDENTITY (START 5), s serial, a int)")
    tables.run("INSERT INTO numbered (a) VALUES (7), (8)")
    tables.run("TRUNCATE numbered")
    assert tables.run("INSERT INTO numbered (a) VALUES (7) RETURNING id, s") == [(7, 3)]
    tables.run("TRUNCATE numbered RESTART IDENTITY")
    assert tables.run("INSERT INTO numbered (a) VALUES (7) RETURNING id, s") == [(5, 1)]
