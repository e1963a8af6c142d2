"""The state tables of jobs, as queries see them: seed 001's examples, read with SELECT."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported, SqlError, UndefinedTable


def state_tables(client: Any) -> list[str]:
    """The names of the aggregation's tables, call by call."""
    rows = client.run("SELECT name FROM rw_catalog.rw_internal_tables WHERE name LIKE '%agg%' ORDER BY id")
    return [name for (name,) in rows]


def key_of(client: Any, table: str) -> object:
    return dict(row[:2] for row in client.run(f"DESCRIBE {table}"))["primary key"]


def test_value_states_are_one_row_per_group(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v1 INT, v2 INT, v3 INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v1, sum(v2) AS s, count(v3) AS n FROM t GROUP BY v1")
    total, count, _ = state_tables(client)
    assert key_of(client, total) == key_of(client, count) == "v1"
    client.run("INSERT INTO t VALUES (1, 1, 10, 1), (2, 1, 20, NULL), (3, 2, 5, 5)")
    assert client.run(f"SELECT * FROM {total} ORDER BY v1") == [(1, Decimal(30), 2), (2, Decimal(5), 1)]
    assert client.run(f"SELECT * FROM {count} ORDER BY v1") == [(1, 1), (2, 1)]
    client.run("UPDATE t SET v2 = 21, v3 = 7 WHERE id = 2")
    client.run("DELETE FROM t WHERE v1 = 2")
    assert client.run(f"SELECT * FROM {total}") == [(1, Decimal(31), 2)]
    assert client.run(f"SELECT * FROM {count}") == [(1, 2)]


def test_extremes_keep_their_input_in_order(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v1 INT, v2 INT, v3 INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v1, max(v2) AS a, min(v3) AS b FROM t GROUP BY v1")
    largest, smallest, _ = state_tables(client)
    assert (key_of(client, largest), key_of(client, smallest)) == ("v1, v2, id", "v1, v3, id")
    client.run("INSERT INTO t VALUES (1, 1, 10, 1), (2, 1, 20, 3), (3, 1, 15, 2)")
    assert client.run(f"SELECT v2, id FROM {largest}") == [(20, 2), (15, 3), (10, 1)]
    assert client.run(f"SELECT v3, id FROM {smallest}") == [(1, 1), (2, 3), (3, 2)]
    client.run("DELETE FROM t WHERE id = 2")
    client.run("UPDATE t SET v2 = 1 WHERE id = 3")
    assert client.run(f"SELECT v2, id FROM {largest} WHERE v1 = 1") == [(10, 1), (1, 3)]
    assert client.run("SELECT * FROM m") == [(1, 10, 1)]


def test_extremes_of_what_only_grows_are_values(client: Any) -> None:
    client.run("CREATE TABLE t (v1 INT, v2 INT) APPEND ONLY")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v1, max(v2) AS a FROM t GROUP BY v1")
    largest, _ = state_tables(client)
    assert key_of(client, largest) == "v1"
    client.run("INSERT INTO t VALUES (1, 5), (1, 9), (2, 3)")
    assert client.run(f"SELECT * FROM {largest} ORDER BY v1") == [(1, 9), (2, 3)]


def test_they_are_for_reading_alone(client: Any) -> None:
    client.run("CREATE TABLE t (v1 INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v1, count(*) AS n FROM t GROUP BY v1")
    (table,) = state_tables(client)
    assert (table,) in client.run("SHOW INTERNAL TABLES")
    assert client.run(f"SELECT count(*) FROM public.{table}") == [(0,)]
    for sql in (f"CREATE MATERIALIZED VIEW x AS SELECT * FROM {table}", f"CREATE VIEW x AS SELECT * FROM {table}"):
        with pytest.raises(FeatureNotSupported, match="does not support internal tables"):
            client.run(sql)
    for sql in (f"INSERT INTO {table} VALUES (1, 1)", f"DELETE FROM {table}", f"DROP TABLE {table}"):
        with pytest.raises(SqlError) as caught:
            client.run(sql)
        assert caught.value.sqlstate in ("42809", "42P01")
    client.run("DROP MATERIALIZED VIEW m")
    with pytest.raises(UndefinedTable):
        client.run(f"SELECT * FROM {table}")


def test_digests_follow_the_rows_and_not_their_order(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    client.run("CREATE MATERIALIZED VIEW early AS SELECT n, count(*) AS c FROM t GROUP BY n")
    empty = client.run("SELECT rw_digest('t'), rw_digest('early')")
    assert empty == [("0" * 16, "0" * 16)]
    client.run("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)")
    client.run("UPDATE t SET n = 3 WHERE id = 1")
    client.run("CREATE MATERIALIZED VIEW late AS SELECT n, count(*) AS c FROM t GROUP BY n")
    (digests,) = client.run("SELECT rw_digest('early'), rw_digest('public.late')")
    assert digests[0] == digests[1] != "0" * 16
    client.run("UPDATE t SET n = 1 WHERE id = 1")
    assert client.run("SELECT rw_digest('early')") != [digests[:1]]
    client.run("UPDATE t SET n = 3 WHERE id = 1")
    assert client.run("SELECT rw_digest('early')") == [digests[:1]]
    client.run("DELETE FROM t")
    assert client.run("SELECT rw_digest('t'), rw_digest('early')") == empty
    with pytest.raises(SqlError, match='relation "nosuch" does not exist'):
        client.run("SELECT rw_digest('nosuch')")
    client.run("CREATE VIEW plain AS SELECT n FROM t")
    with pytest.raises(SqlError, match='"plain" is not a table or materialized view') as raised:
        client.run("SELECT rw_digest('plain')")
    assert raised.value.sqlstate == "42809"


def test_digests_of_state_tables_and_indexes(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT n, sum(id) AS s FROM t GROUP BY n")
    client.run("CREATE INDEX by_n ON t (n)")
    client.run("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)")
    for name in (*state_tables(client), "by_n"):
        noted = (
            f"SELECT digest FROM rw_table_stats WHERE id IN (SELECT id FROM rw_internal_tables WHERE name = '{name}' "
            f"UNION SELECT id FROM rw_indexes WHERE name = '{name}')"
        )
        assert client.run(f"SELECT rw_digest('{name}')") == client.run(noted) != [("0" * 16,)]


def test_statistics_of_tables_and_the_store(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    client.run("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)")
    held = "SELECT total_key_count FROM rw_table_stats s JOIN rw_tables t ON s.id = t.id WHERE name = 't'"
    assert client.run(held) == [(3,)]
    ((size,),) = client.run("SELECT pg_table_size('t')")
    assert size > 0
    client.run("DELETE FROM t WHERE id = 1")
    assert client.run(held) == [(2,)]
    ((epoch, shards),) = client.run("SELECT committed_epoch, shards FROM rw_state_store")
    assert epoch > 0 and shards > 0
    ((oldest, age),) = client.run("SELECT min(epoch), max(age_seconds) FROM rw_read_views")
    assert oldest <= epoch and age >= 0
