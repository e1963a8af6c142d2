"""What CREATE refuses, of the statement and of the other side; and that only the source changes a copy."""

from __future__ import annotations

import time

import pytest

from risingpy.errors import SqlError
from tests.connectors.postgres_cdc.upstream import Upstream, follow
from tests.meta.conftest import Server


def test_nobody_else_changes_a_copy(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 1)")
    client = follow(server, upstream, "t")
    for statement in ("INSERT INTO t VALUES (2, 2)", "UPDATE t SET a = 5", "DELETE FROM t"):
        with pytest.raises(SqlError, match="cannot change table"):
            client.run(statement)
    with pytest.raises(SqlError, match="copies another table"):
        client.run("ALTER TABLE t ADD COLUMN b int")
    with pytest.raises(SqlError, match="has no rows of its own"):
        client.run("SELECT * FROM pg")
    with pytest.raises(SqlError, match="it has no source_rate_limit"):
        client.run("ALTER SOURCE pg SET source_rate_limit = 5")
    with pytest.raises(SqlError, match="is in use"):
        client.run(upstream.source("another"))
    with pytest.raises(SqlError, match="cannot rename source"):
        client.run("ALTER SOURCE pg RENAME TO other")
    client.run("ALTER TABLE t RENAME TO u")
    assert client.run("SHOW CREATE TABLE u") == [
        ("public.u", "CREATE TABLE u (*) FROM pg TABLE 'public.t'"),
    ]
    with pytest.raises(SqlError, match="other objects depend on it"):
        client.run("DROP SOURCE pg")
    client.run("DROP SOURCE pg CASCADE")
    assert upstream.slots() == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE x (*) FROM pg TABLE 'nothing'", 'table "public.nothing" does not exist upstream'),
        ("CREATE TABLE x (*) FROM pg TABLE 'keyless'", "has no primary key"),
        ("CREATE TABLE x (*) FROM pg TABLE 'seen'", "is not an ordinary, logged table"),
        ("CREATE TABLE x (id int PRIMARY KEY, z int) FROM pg TABLE 't'", 'column "z" does not exist'),
        ("CREATE TABLE x (id int, a int PRIMARY KEY) FROM pg TABLE 't'", "the primary key must be that of table"),
        ("CREATE TABLE x (id int PRIMARY KEY, a smallint) FROM pg TABLE 't'", "is of type smallint but"),
        ("CREATE TABLE x (id int PRIMARY KEY) APPEND ONLY FROM pg TABLE 't'", "APPEND ONLY of a table that copies"),
        ("CREATE TABLE x (id int PRIMARY KEY, b int DEFAULT 1) FROM pg TABLE 't'", "a value of its own"),
        ("EXPLAIN CREATE TABLE x (*) FROM pg TABLE 't'", "EXPLAIN of a table that copies another"),
        ("CREATE TABLE x (*) FROM missing TABLE 't'", 'source "missing" does not exist'),
        ("CREATE SOURCE y (a int) WITH (connector = 'postgres-cdc', hostname = 'h', username = 'u', database.name ="
         " 'd', slot.name = 's')", "has no columns"),
        ("CREATE SOURCE y WITH (connector = 'postgres-cdc', hostname = 'h', username = 'u', database.name = 'd',"
         " auto.schema.change = 'perhaps')", "auto.schema.change must be true or false"),
    ],
)  # fmt: skip
def test_what_create_refuses(server: Server, upstream: Upstream, statement: str, message: str) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE keyless (a int); CREATE VIEW seen AS SELECT 1"
    )
    client = follow(server, upstream)
    with pytest.raises(SqlError, match=message):
        client.run(statement)
    assert client.run("SHOW TABLES") == []


def test_what_create_source_refuses_of_the_other_side(server: Server, upstream: Upstream) -> None:
    client = server.client()
    began = time.monotonic()
    with pytest.raises(SqlError, match="PostgreSQL at 127\\.0\\.0\\.1:1:"):
        client.run(upstream.source(hostname="127.0.0.1", port="1"))
    with pytest.raises(SqlError, match='publication "published" does not exist'):
        client.run(upstream.source(publication__create__enable="false"))
    upstream.run("CREATE PUBLICATION published WITH (publish = 'insert')")
    with pytest.raises(SqlError, match="does not publish all kinds of changes"):
        client.run(upstream.source())
    upstream.run("DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN")
    with pytest.raises(SqlError, match='user "weak" may not replicate'):
        client.run(upstream.source(username="weak"))
    assert time.monotonic() - began < 10
    assert client.run("SHOW SOURCES") == []
    upstream.run("DROP PUBLICATION published")
    client.run(upstream.source(password="very secret"))
    [(_, shown)] = client.run("SHOW CREATE SOURCE pg")
    assert "secret" not in shown and "password = '***'" in shown
