"""A subscription keeps every change from its creation on, through ALTERs and restarts, until its retention ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from risingpy.errors import DependentObjectsStillExist, DuplicateRelation, SqlError, UndefinedTable, WrongObjectType
from risingpy.plan.catalog import Subscription, is_temporary
from tests.meta.conftest import Server

SIGN = {"Insert": 1, "UpdateInsert": 1, "Delete": -1, "UpdateDelete": -1}


def subscription_of(server: Server, name: str = "s") -> Subscription:
    found = server.database.reads.catalog.find(name, "public", ())
    assert isinstance(found, Subscription)
    return found


def changes_after(server: Server, epoch: int | None = None, name: str = "s") -> Iterator[tuple[Any, ...]]:
    """(epoch, word, *row) of all that is there."""
    subscription, feeds = subscription_of(server, name), server.database.subscriptions
    after = feeds.begin(subscription) if epoch is None else epoch
    while True:
        parts, up_to = feeds.read(subscription.relation_id, after)
        for part in parts:
            assert after < part.up_to <= up_to
            for word, at, *row in zip(*(column.to_pylist() for column in part.rows.columns), strict=True):
                yield at, word, *row
        if not parts:
            return
        after = up_to


@pytest.mark.on_spark
def test_changes_have_words_and_updates_come_in_pairs(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2); FLUSH")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) n FROM t GROUP BY v")
    client.run("CREATE SUBSCRIPTION s FROM m WITH (retention = '1D')")
    client.run("INSERT INTO t VALUES (3, 1); FLUSH")
    client.run("UPDATE t SET v = 5 WHERE k = 2; FLUSH")
    client.run("DELETE FROM t WHERE k = 3; FLUSH")
    found = list(changes_after(server))
    assert [each[1:] for each in found[:2]] == [("UpdateDelete", 1, 1), ("UpdateInsert", 1, 2)]
    assert sorted(each[1:] for each in found[2:4]) == [("Delete", 2, 1), ("Insert", 5, 1)]
    assert [each[1:] for each in found[4:]] == [("UpdateDelete", 1, 2), ("UpdateInsert", 1, 1)]
    assert [each[0] for each in found] == sorted(each[0] for each in found)
    server.restart()
    assert list(changes_after(server)) == found
    assert list(changes_after(server, found[1][0])) == found[2:]


@pytest.mark.on_spark
def test_a_snapshot_and_the_changes_after_it_are_the_relation(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (v INT); INSERT INTO t VALUES (1), (1), (2); FLUSH")
    client.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '1 hour')")
    client.run("INSERT INTO t VALUES (3); FLUSH")
    snapshot = server.database.subscriptions.snapshot(subscription_of(server).relation_id)
    client.run("DELETE FROM t WHERE v = 1; INSERT INTO t VALUES (4); FLUSH")
    rows = Counter(value for batch in snapshot.batches for value in batch.column("c0").to_pylist())
    assert rows == {1: 2, 2: 1, 3: 1}
    for _, word, value in changes_after(server, snapshot.epoch):
        rows[value] += SIGN[word]
    assert +rows == Counter(value for (value,) in client.run("SELECT v FROM t"))


def test_an_altered_table_gives_changes_in_two_forms(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT); CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    client.run("INSERT INTO t VALUES (1, 1); FLUSH")
    client.run("ALTER TABLE t ADD COLUMN w VARCHAR; INSERT INTO t VALUES (2, 2, 'x'); FLUSH")
    client.run("ALTER TABLE t DROP COLUMN v; UPDATE t SET w = 'y' WHERE k = 1; FLUSH")
    client.run("ALTER TABLE t ALTER COLUMN w TYPE bytea USING NULL; INSERT INTO t VALUES (3, NULL); FLUSH")
    rows = [each[1:] for each in changes_after(server)]
    assert rows == [
        ("Insert", 1, 1),
        ("Insert", 2, 2, "x"),
        *[("UpdateDelete", 1, None), ("UpdateInsert", 1, "y")],
        ("Insert", 3, None),
    ]
    server.restart()
    assert [each[1:] for each in changes_after(server)] == rows


def test_what_is_older_than_the_retention_goes(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY); CREATE SUBSCRIPTION s FROM t WITH (retention = '1s')")
    client.run("INSERT INTO t VALUES (1); FLUSH")
    (first,) = changes_after(server)
    subscription = subscription_of(server)
    deadline = time.monotonic() + 60
    while server.database.reads.table_bytes(subscription.table.table_id):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with pytest.raises(SqlError, match=f"all changes after epoch {first[0] - 1}") as failure:
        list(changes_after(server, first[0] - 1))
    assert failure.value.sqlstate == "72000"
    client.run("ALTER SUBSCRIPTION s SET retention = '1 day'; INSERT INTO t VALUES (2); FLUSH")
    assert [each[1:] for each in changes_after(server)] == [("Insert", 2)]
    server.restart()
    assert [each[1:] for each in changes_after(server)] == [("Insert", 2)]
    with pytest.raises(SqlError, match="any more"):
        list(changes_after(server, first[0] - 1))


def test_a_subscription_keeps_no_more_bytes_than_it_may(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
    client.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D', retention.bytes = '300kB')")
    for key in range(10):
        client.run(f"INSERT INTO t VALUES ({key}, repeat('x', 100000)); FLUSH")
    subscription = subscription_of(server)
    deadline = time.monotonic() + 60
    while server.database.reads.table_bytes(subscription.table.table_id) > 300 << 10:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    keys = [each[2] for each in changes_after(server)]
    assert keys in ([7, 8, 9], [8, 9])


def test_names_dependencies_and_catalogs(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY); CREATE VIEW v AS SELECT k FROM t")
    client.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '2 hours')")
    with pytest.raises(DuplicateRelation):
        client.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    client.run("CREATE SUBSCRIPTION IF NOT EXISTS s FROM t WITH (retention = '1D')")
    with pytest.raises(WrongObjectType, match="cannot be followed"):
        client.run("CREATE SUBSCRIPTION s2 FROM v WITH (retention = '1D')")
    with pytest.raises(SqlError, match="needs the option retention"):
        client.run("CREATE SUBSCRIPTION s2 FROM t")
    with pytest.raises(SqlError, match='unknown option "keep"'):
        client.run("CREATE SUBSCRIPTION s2 FROM t WITH (retention = '1D', keep = 'all')")
    with pytest.raises(WrongObjectType, match="is a subscription"):
        client.run("SELECT * FROM s")
    with pytest.raises(DependentObjectsStillExist, match="cannot drop table t because other objects depend on it"):
        client.run("DROP TABLE t")
    assert client.run("SHOW SUBSCRIPTIONS") == [("s",)]
    assert client.run("SELECT name, schema_name, retention_seconds FROM rw_subscriptions") == [("s", "public", 7200)]
    client.run(
        "ALTER TABLE t RENAME TO t2; ALTER SUBSCRIPTION s RENAME TO feed;"
        "ALTER SUBSCRIPTION feed SET retention = '1 day'"
    )
    assert client.run("SHOW CREATE SUBSCRIPTION feed") == [
        ("public.feed", "CREATE SUBSCRIPTION feed FROM t2 WITH (retention = '1 day')")
    ]
    assert client.run("SELECT relation_type FROM rw_relations WHERE name = 'feed'") == [("subscription",)]
    with pytest.raises(WrongObjectType):
        client.run("DROP TABLE feed")
    relation_id = subscription_of(server, "feed").relation_id
    client.run("DROP TABLE t2 CASCADE")
    assert client.run("SHOW SUBSCRIPTIONS") == []
    with pytest.raises(UndefinedTable):
        server.database.subscriptions.read(relation_id, 0)


def test_a_start_drops_the_view_of_a_subscribe_that_never_ended(server: Server) -> None:
    """As after a kill: nobody has ended the result."""
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY); INSERT INTO t VALUES (1)")
    session = client.session
    result = session.execute(session.prepare(session.split("SUBSCRIBE TO (SELECT k + 1 AS n FROM t)")[0], ()), ())
    assert result.batches is not None
    while not next(result.batches).num_rows:
        pass
    known = server.database.reads.catalog.relations.values()
    assert len([each for each in known if is_temporary(each)]) == 2
    server.restart()
    assert [each.name for each in server.database.reads.catalog.relations.values()] == ["t"]
    assert server.client().run("INSERT INTO t VALUES (2); SELECT count(*) FROM t") == [(2,)]
