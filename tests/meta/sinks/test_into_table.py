"""CREATE SINK … INTO a table: the table has the query's rows in the same epoch, among those of statements."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from risingpy.errors import (
    DependentObjectsStillExist,
    FeatureNotSupported,
    InvalidParameterValue,
    SqlError,
    WrongObjectType,
)
from risingpy.meta.recovery.check import check
from tests.meta.conftest import Client, Server
from tests.meta.sinks.test_sinks import change_at_random

BASE = "CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT)"
QUERY = "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g"
INTO = f"CREATE SINK s INTO u AS {QUERY}"
TARGET = "CREATE TABLE u (g INT PRIMARY KEY, n BIGINT, s BIGINT)"


@pytest.fixture
def client(server: Server) -> Client:
    client = server.client()
    client.run(BASE)
    return client


def same(client: Client, query: str = QUERY, table: str = "SELECT * FROM u") -> None:
    found, expected = client.run(table), client.run(query)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.on_spark
def test_the_table_follows_the_query_in_each_epoch(server: Server, client: Client) -> None:
    client.run(TARGET)
    client.run("CREATE MATERIALIZED VIEW over AS SELECT sum(n) AS rows, count(*) AS groups FROM u")
    client.run("INSERT INTO t SELECT i, i % 4, i FROM generate_series(100, 140) AS i")
    client.run(INTO)
    chance = random.Random(3)
    for _ in range(12):
        change_at_random(client, chance, 3)
        same(client)
        assert client.run("SELECT * FROM over") == client.run("SELECT coalesce(sum(n), NULL), count(*) FROM u")
    server.restart()
    client = server.client()
    change_at_random(client, chance, 10)
    same(client)


def test_check_finds_nothing_wrong(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.client().run(f"{BASE}; {TARGET}; {INTO}; INSERT INTO t VALUES (1, 1, 5); CREATE TABLE log (n BIGINT)")
    server.client().run("CREATE SINK r INTO log AS SELECT v FROM t WITH (type='append-only', force_append_only=true)")
    server.client().run("FLUSH")
    server.stop()
    assert check(tmp_path / "data").problems == ()


def test_a_table_that_is_older_than_what_its_sink_reads(client: Client) -> None:
    """What reads the table runs after the sink, however many exchanges are before that, and through two tables."""
    client.run(f"{TARGET}; CREATE INDEX by_n ON u (n); CREATE TABLE w (n BIGINT PRIMARY KEY, groups BIGINT)")
    client.run("CREATE MATERIALIZED VIEW old AS SELECT w.groups, u.g FROM w JOIN u ON w.n = u.n")
    client.run(f"{INTO}; CREATE SINK x INTO w AS SELECT n, count(*) AS groups FROM u GROUP BY n")
    chance = random.Random(5)
    for _ in range(10):
        change_at_random(client, chance, 4)
        same(client)
        same(client, "SELECT n, count(*) FROM u GROUP BY n", "SELECT * FROM w")
        same(client, "SELECT w.groups, u.g FROM w JOIN u ON w.n = u.n", "SELECT * FROM old")
    client.run("DROP SINK s")
    client.run("INSERT INTO t VALUES (1000, 77, 1)")
    assert client.run("SELECT * FROM u WHERE g = 77") == []
    client.run("INSERT INTO u VALUES (77, 5, 5)")
    same(client, "SELECT n, count(*) FROM u GROUP BY n", "SELECT * FROM w")


def test_a_table_without_a_key_gets_row_ids(server: Server, client: Client) -> None:
    client.run("CREATE TABLE log (v INT, at INT DEFAULT 7, twice INT AS (v * 2))")
    client.run("INSERT INTO log VALUES (1, 1)")
    client.run("INSERT INTO t VALUES (1, 1, 10), (2, 1, 20)")
    options = "WITH (type = 'append-only', force_append_only = 'true')"
    client.run(f"CREATE SINK s INTO log AS SELECT v FROM t {options}")
    client.run(f"CREATE SINK r INTO log (v, at) AS SELECT -v, k FROM t {options}")
    expected = {(1, 1, 2), (10, 7, 20), (20, 7, 40), (-10, 1, -20), (-20, 2, -40)}
    assert set(client.run("SELECT * FROM log")) == expected
    server.restart()
    client = server.client()
    client.run("INSERT INTO t SELECT 100 + i, 1, 30 FROM generate_series(1, 5000) AS i; DELETE FROM t WHERE k = 1")
    assert client.run("SELECT count(*), count(DISTINCT _row_id), sum(v) FROM log") == [(10005, 10005, 1)]


def test_several_sinks_and_statements_write_to_one_table(client: Client) -> None:
    client.run(TARGET)
    client.run("CREATE TABLE t2 (k INT PRIMARY KEY, g INT, v INT)")
    client.run(INTO)
    client.run("CREATE SINK s2 INTO u (g, n) AS SELECT 100 + g AS g, count(*) AS n FROM t2 GROUP BY g")
    client.run("INSERT INTO t VALUES (1, 1, 5); INSERT INTO t2 VALUES (1, 1, 5); INSERT INTO u VALUES (9, 9, 9)")
    assert sorted(client.run("SELECT * FROM u")) == [(1, 1, 5), (9, 9, 9), (101, 1, None)]
    client.run("DELETE FROM t; DELETE FROM u WHERE g = 9")
    assert client.run("SELECT * FROM u") == [(101, 1, None)]
    client.run("DROP SINK s2; DELETE FROM t2")
    assert client.run("SELECT * FROM u") == [(101, 1, None)], "a dropped sink leaves its rows"


def test_rows_of_one_key_are_one_row(client: Client) -> None:
    """The query has other rows than the table has keys: the last by the query's own key stands."""
    client.run("CREATE TABLE u (g INT PRIMARY KEY, v INT)")
    client.run("CREATE SINK s INTO u AS SELECT g, v FROM t")
    chance = random.Random(8)
    for _ in range(15):
        change_at_random(client, chance, 4)
        same(client, "SELECT DISTINCT ON (g) g, v FROM t ORDER BY g, k DESC")


def test_a_null_where_there_must_be_none_is_left_out_and_counted(client: Client) -> None:
    client.run("CREATE TABLE u (g INT PRIMARY KEY, v INT NOT NULL)")
    client.run("CREATE SINK s INTO u AS SELECT k AS g, v FROM t")
    client.run("INSERT INTO t VALUES (1, 1, NULL), (2, 2, 2)")
    assert client.run("SELECT * FROM u") == [(2, 2)]
    client.run("UPDATE t SET v = 3 WHERE k = 1; DELETE FROM t WHERE k = 2")
    assert client.run("SELECT * FROM u") == [(1, 3)]
    assert client.run("SELECT relation_name, error_count FROM rw_catalog.rw_streaming_errors") == [("s", 1)]


def test_without_a_snapshot_only_later_changes_come(client: Client) -> None:
    client.run(f"{BASE.replace(' t ', ' u ')}; INSERT INTO t VALUES (1, 1, 1)")
    client.run("CREATE SINK s INTO u FROM t WITH (snapshot = 'false')")
    client.run("INSERT INTO t VALUES (2, 2, 2)")
    assert client.run("SELECT * FROM u") == [(2, 2, 2)]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("CREATE SINK s INTO u FROM u", SqlError, "would read what it writes"),
        ("CREATE SINK s INTO t FROM over", SqlError, "would read what it writes"),
        ("CREATE SINK s INTO over FROM t", WrongObjectType, 'cannot sink into materialized view "over"'),
        ("CREATE SINK s INTO u AS SELECT k, g, v, 1 AS more FROM t", InvalidParameterValue, "4 columns for 3 of"),
        ("CREATE SINK s INTO u (g, n) AS SELECT k FROM t", InvalidParameterValue, "1 columns for 2 of"),
        ("CREATE SINK s INTO u (g, nosuch) AS SELECT k, v FROM t", SqlError, 'column "nosuch" of relation "u"'),
        ("CREATE SINK s INTO u AS SELECT 'x'::text, 1 AS b FROM t", SqlError, 'column "g" is of type integer'),
        ("CREATE SINK s INTO log AS SELECT v FROM t", InvalidParameterValue, "without a primary key"),
        (
            "CREATE SINK s INTO log AS SELECT v FROM t WITH (type = 'append-only')",
            InvalidParameterValue,
            "cannot be append",
        ),
        ("CREATE SINK s INTO u FROM t WITH (type = 'debezium')", InvalidParameterValue, "append-only or upsert"),
        ("CREATE SINK s INTO u FROM t WITH (primary_key = 'n')", InvalidParameterValue, "is that of the table"),
        ("CREATE SINK s INTO u FROM t WITH (topic = 'x')", InvalidParameterValue, 'no option "topic"'),
        ("CREATE SINK s INTO u FROM t FORMAT PLAIN ENCODE JSON", InvalidParameterValue, "no FORMAT"),
        ("CREATE SINK s INTO numbered AS SELECT v FROM t", FeatureNotSupported, "numbers the rows of statements"),
        ("CREATE SINK s INTO numbered (twice, v) AS SELECT v, v AS w FROM t", SqlError, "cannot insert a non-DEFAULT"),
    ],
)
def test_what_cannot_be(client: Client, statement: str, error: type[SqlError], message: str) -> None:
    client.run(f"{TARGET}; CREATE TABLE log (v INT)")
    client.run("CREATE MATERIALIZED VIEW over AS SELECT g, v FROM t")
    client.run("CREATE TABLE numbered (v INT PRIMARY KEY, id SERIAL, twice INT AS (v * 2))")
    with pytest.raises(error, match=message):
        client.run(statement)
    assert client.run("SHOW SINKS") == []


def test_cycles_through_other_sinks_are_refused(client: Client) -> None:
    client.run(f"{BASE.replace(' t ', ' u ')}; CREATE MATERIALIZED VIEW over AS SELECT * FROM u")
    client.run("CREATE SINK s INTO u FROM t")
    with pytest.raises(SqlError, match="would read what it writes") as caught:
        client.run("CREATE SINK back INTO t FROM over")
    assert caught.value.sqlstate == "42P17"


def test_drop_rename_and_alter(server: Server, client: Client) -> None:
    client.run(f"{TARGET}; {INTO}")
    with pytest.raises(DependentObjectsStillExist, match="cannot drop table t"):
        client.run("DROP TABLE t")
    with pytest.raises(DependentObjectsStillExist, match="cannot drop table t"):
        client.run("DROP TABLE t, u")  # the sink reads t
    with pytest.raises(FeatureNotSupported, match='sink "s" goes into it'):
        client.run("ALTER TABLE u ADD COLUMN more INT")
    client.run("ALTER TABLE u RENAME TO renamed; ALTER TABLE t ADD COLUMN more INT; ALTER SINK s RENAME TO s2")
    assert "INTO renamed" in client.run("SHOW CREATE SINK s2")[0][1]
    client.run("INSERT INTO t VALUES (1, 1, 5)")
    assert client.run("SELECT * FROM renamed") == [(1, 1, 5)]
    client.run("WAIT SINK s2")
    assert client.run("SELECT connector, sink_type FROM rw_catalog.rw_sinks") == [("TABLE", "UPSERT")]
    assert client.run("SELECT status, lag_milliseconds FROM rw_catalog.rw_sink_lag") == [("running", 0)]
    with pytest.raises(InvalidParameterValue, match="goes into a table"):
        client.run("ALTER SINK s2 SET sink_rate_limit = 5")
    client.run("DROP TABLE renamed")  # as in RisingWave, what only writes to it goes along
    assert client.run("SHOW SINKS") == []
    client.run("INSERT INTO t VALUES (2, 1, 5)")


def test_the_table_goes_on_when_its_sink_stops(client: Client) -> None:
    client.run(TARGET)
    body = "def boom(v):\n    raise SystemExit"
    client.run(f"CREATE FUNCTION boom(INT) RETURNS BIGINT LANGUAGE python IMMUTABLE AS $$\n{body}\n$$")
    client.run("CREATE SINK s INTO u AS SELECT k AS g, boom(v) AS n FROM t")
    client.run("INSERT INTO t VALUES (1, 1, 5)")
    client.run("INSERT INTO u VALUES (5, 5, 5)")
    assert client.run("SELECT * FROM u WHERE g = 5") == [(5, 5, 5)]


def test_explain(client: Client) -> None:
    client.run(TARGET)
    lines = [line for (line,) in client.run(f"EXPLAIN {INTO}")]
    assert lines[0].startswith("StreamIntoTable { columns: [g, n, s] }")
