"""Indexes: the same answers as without them, whatever happens to the table."""

from __future__ import annotations

import random

import pytest

from risingpy.errors import DependentObjectsStillExist
from tests.meta.conftest import Client, Server

# Over an index as a relation: a row whose first key changes moves to another shard.
_QUERIES = (
    "SELECT a, b, count(*) AS n, max(id) AS last FROM {} GROUP BY a, b",
    "SELECT id FROM {}",
    "SELECT x.id, y.b, y.a FROM t x LEFT JOIN {} y ON x.id = y.id AND y.a > 0",
    "SELECT x.id, y.id AS other FROM {0} x JOIN {0} y ON x.b = y.b AND x.id < y.id",
    "SELECT DISTINCT ON (b) b, id FROM {} ORDER BY b, a DESC, id",
    "SELECT id, rank() OVER (PARTITION BY b ORDER BY a, id) AS r FROM {}",
    "SELECT id FROM t x WHERE NOT EXISTS (SELECT 1 FROM {} y WHERE y.b = x.b AND y.id <> x.id)",
    "SELECT b, a FROM {} ORDER BY a DESC NULLS LAST, id LIMIT 3",
)


@pytest.mark.parametrize("seed", range(3))
def test_an_index_gives_what_the_table_gives(server: Server, seed: int) -> None:
    chance = random.Random(seed)
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar)")
    client.run("CREATE TABLE plain (id int PRIMARY KEY, a int, b varchar)")
    client.run("CREATE INDEX i ON t (a DESC, b)")
    client.run("CREATE INDEX j ON t (lower(b)) INCLUDE (a, b)")
    for number, query in enumerate(_QUERIES):
        client.run(f"CREATE MATERIALIZED VIEW v{number} AS {query.format('i')}")
    for step in range(25):
        statement = _statement(chance)
        for table in ("t", "plain"):
            client.run(statement.format(table))
        if step == 12:
            client.run("CREATE INDEX late ON t (b, a)")
        _compare(client, chance)
    server.restart()
    _compare(server.client(), chance)


def _statement(chance: random.Random) -> str:
    pick, a, b = chance.random(), chance.choice(["NULL", *range(4)]), chance.choice("xyXY")
    if pick < 0.5:
        rows = [f"({chance.randrange(40)}, {chance.randrange(4)}, '{chance.choice('xyXY')}')" for _ in range(4)]
        return f"INSERT INTO {{}} VALUES {', '.join(rows)}"
    if pick < 0.8:
        return f"UPDATE {{}} SET a = {a}, b = '{b}' WHERE id % 5 = {chance.randrange(5)}"
    return f"DELETE FROM {{}} WHERE id % 7 = {chance.randrange(7)}"


def _compare(client: Client, chance: random.Random) -> None:
    a, b = chance.randrange(4), chance.choice("xyXY")
    for condition in (f"a = {a}", f"a = {a} AND b = '{b}'", f"lower(b) = '{b.lower()}'", f"b = '{b}'"):
        query = "SELECT id, a, b FROM {} WHERE " + condition
        assert sorted(client.run(query.format("t"))) == sorted(client.run(query.format("plain"))), condition
    for number, query in enumerate(_QUERIES):
        expected = sorted(client.run(query.format("plain")), key=repr)
        assert sorted(client.run(query.format("i")), key=repr) == expected, query
        assert sorted(client.run(f"SELECT * FROM v{number}"), key=repr) == expected, query


@pytest.mark.on_spark
def test_views_stand_on_an_index_through_every_change_of_it(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int)")
    client.run("CREATE INDEX i ON t (a)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT a, b FROM i; CREATE VIEW v AS SELECT b FROM i")
    client.run("CREATE SCHEMA s; ALTER TABLE t SET SCHEMA s; INSERT INTO s.t VALUES (1, 2, 3)")
    client.run("ALTER TABLE s.t ADD COLUMN c int; ALTER INDEX s.i RENAME TO k")
    with pytest.raises(DependentObjectsStillExist, match="cannot drop index k") as raised:
        client.run("DROP INDEX s.k")
    assert raised.value.detail == "view v depends on index k\nmaterialized view m depends on index k"
    server.restart()
    client = server.client()
    client.run("INSERT INTO s.t VALUES (4, 5, 6, 7)")
    assert sorted(client.run("SELECT * FROM m")) == [(2, 3), (5, 6)]
    assert sorted(client.run("SELECT * FROM v")) == [(3,), (6,)]
    assert "s.k" in str(client.run("SHOW CREATE VIEW v"))
    client.run("DROP INDEX s.k CASCADE")
    assert client.run("SELECT count(*) FROM s.t") == [(2,)]


def test_explain_shows_the_index(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int)")
    client.run("CREATE INDEX i ON t (a)")
    assert "public.i," in str(client.run("EXPLAIN SELECT * FROM t WHERE a = 1"))
    assert "public.t," in str(client.run("EXPLAIN SELECT * FROM t WHERE b = 1"))
    assert "public.t," in str(client.run("EXPLAIN SELECT * FROM t WHERE id = 1 AND a = 1"))
    client.run("CREATE SCHEMA s; ALTER TABLE t SET SCHEMA s")
    assert "s.i," in str(client.run("EXPLAIN SELECT * FROM s.t WHERE a = 1"))


def test_show_indexes(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int)")
    client.run("CREATE INDEX i ON t (a DESC, b) INCLUDE (b) DISTRIBUTED BY (a)")
    client.run("CREATE INDEX ON t (b NULLS FIRST)")
    expected = [("i", "t", "a DESC, b ASC", "", "a"), ("t_b_idx", "t", "b ASC NULLS FIRST", "id, a", "b")]
    assert client.run("SHOW INDEXES FROM t") == expected
    client.run("ALTER INDEX i RENAME TO j")
    assert [row[0] for row in client.run("SHOW INDEXES")] == ["j", "t_b_idx"]
    client.run("DROP TABLE t")
    assert client.run("SHOW INDEXES") == []
