"""Tables WITH (row_timestamp = true): `_rw_timestamp` says when each row was written last."""

from __future__ import annotations

import random
import time

import pytest

from risingpy.errors import SqlError
from tests.meta.conftest import Client, Server
from tests.meta.times_of_rows.test_retention import FastClock
from tests.meta.times_of_rows.test_ttl_by_clock import state_rows, written

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (row_timestamp = true)"
HOURS = "SELECT id, v, round(extract(epoch FROM _rw_timestamp) / 3600 - {}) FROM t"


@pytest.mark.on_spark
@pytest.mark.parametrize("seed", range(2))
def test_random_changes(server: Server, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A model knows the hour of each row's last change; a restart, another column and other shards do not change it."""
    chance, clock, model = random.Random(seed), FastClock(monkeypatch), dict[int, tuple[int, int]]()
    client, began = server.client(), time.time() / 3600
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT v, count(*) AS n FROM t GROUP BY v")
    for step in range(16):
        if step == 5:
            client.run("ALTER SYSTEM SET parallelism = 3")
        if step == 8:
            server.restart()
            client = server.client()
        if step == 11:
            client.run("ALTER TABLE t ADD COLUMN w INT")
            client.run("ALTER TABLE t DROP COLUMN w")
        clock.hours += chance.choice((1, 2, 5))
        written(client, chance, model, clock.hours)
        client.run("FLUSH")
        found = client.run(HOURS.format(began))
        assert sorted(found) == sorted((key, v, hour) for key, (v, hour) in model.items())
        (key,) = chance.sample(range(40), 1)
        expected = [(model[key][1],)] if key in model else []
        assert [row[2:] for row in client.run(f"{HOURS.format(began)} WHERE id = {key}")] == expected
    assert state_rows(server, client, "t") == len(model)
    assert sorted(client.run("SELECT * FROM seen")) == sorted(client.run("SELECT v, count(*) FROM t GROUP BY v"))


def test_rows_of_before_have_no_time(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (v INT)")
    client.run("INSERT INTO t VALUES (1), (2)")
    client.run("ALTER TABLE t SET (row_timestamp = true)")
    client.run("INSERT INTO t VALUES (3)")
    client.run("UPDATE t SET v = 20 WHERE v = 2")
    assert sorted(client.run("SELECT v, _rw_timestamp IS NULL FROM t")) == [(1, True), (3, False), (20, False)]
    assert state_rows(server, client, "t") == 2
    client.run("ALTER TABLE t RESET (row_timestamp)")
    assert client.run("SELECT v FROM t WHERE v = 3") == [(3,)]
    assert client.run("SHOW INTERNAL TABLES") == []


def test_the_times_are_the_ages_of_a_table_with_ttl(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, client, began = FastClock(monkeypatch), server.client(), time.time() / 3600
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (ttl = '10 hours')")
    client.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    client.run("FLUSH")
    clock.hours = 4
    client.run("UPDATE t SET v = 3 WHERE id = 2")
    client.run("FLUSH")
    assert sorted(client.run(HOURS.format(began))) == [(1, 1, 0), (2, 3, 4)]
    client.run("ALTER TABLE t SET (row_timestamp = true)")
    clock.hours = 11
    client.run("INSERT INTO t VALUES (3, 3)")
    client.run("FLUSH")
    assert sorted(client.run(HOURS.format(began))) == [(2, 3, None), (3, 3, 11)]
    client.run("ALTER TABLE t RESET (ttl)")
    clock.hours = 100
    client.run("INSERT INTO t VALUES (4, 4)")
    assert sorted(client.run(HOURS.format(began))) == [(2, 3, None), (3, 3, 11), (4, 4, 100)]


def test_keys_of_several_columns_that_are_shown_in_other_forms(server: Server) -> None:
    client = server.client()
    client.run(
        "CREATE TABLE t (f DOUBLE PRECISION, n NUMERIC, c CHAR(4), PRIMARY KEY (f, n, c)) WITH (row_timestamp = true)"
    )
    client.run("INSERT INTO t VALUES (-0.0, 1.0, 'a'), ('NaN', 1.50, 'b'), ('Infinity', 0.00, 'c ')")
    assert client.run("SELECT count(*), count(_rw_timestamp) FROM t") == [(3, 3)]
    client.run("DELETE FROM t WHERE f = 0")
    assert client.run("SELECT count(*), count(_rw_timestamp) FROM t") == [(2, 2)]
    assert state_rows(server, client, "t") == 2


def test_a_row_of_the_key_null(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (a INT NULL, b INT NULL, PRIMARY KEY (a, b)) WITH (row_timestamp = true)")
    client.run("INSERT INTO t VALUES (NULL, NULL), (NULL, 1), (1, NULL)")
    assert client.run("SELECT count(*), count(_rw_timestamp) FROM t") == [(3, 3)]


@pytest.mark.parametrize("on_conflict", ["ON CONFLICT DO NOTHING", "ON CONFLICT DO UPDATE IF NOT NULL", ""])
def test_what_a_conflict_leaves_as_it_is_keeps_its_time(
    server: Server, monkeypatch: pytest.MonkeyPatch, on_conflict: str
) -> None:
    clock, client, began = FastClock(monkeypatch), server.client(), time.time() / 3600
    client.run(f"CREATE TABLE t (id INT PRIMARY KEY, v INT) {on_conflict} WITH (row_timestamp = true)")
    client.run("INSERT INTO t VALUES (1, 1)")
    client.run("FLUSH")
    clock.hours = 3
    client.run("INSERT INTO t VALUES (1, 5)" if on_conflict else "INSERT INTO t VALUES (1, 5) ON CONFLICT DO NOTHING")
    client.run("FLUSH")
    stays = on_conflict != "ON CONFLICT DO UPDATE IF NOT NULL"
    assert client.run(HOURS.format(began)) == [(1, 1, 0) if stays else (1, 5, 3)]


def test_views_do_not_read_it(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("CREATE FUNCTION last() RETURNS timestamptz LANGUAGE sql AS 'SELECT max(_rw_timestamp) FROM t'")
    client.run("INSERT INTO t VALUES (1, 1)")
    assert client.run("SELECT last() IS NOT NULL") == [(True,)]
    for sql in (
        "CREATE MATERIALIZED VIEW m AS SELECT max(_rw_timestamp) AS m FROM t",
        "CREATE VIEW m AS SELECT id FROM t WHERE _rw_timestamp IS NULL",
        "CREATE MATERIALIZED VIEW m AS SELECT last() AS l, id FROM t",
    ):
        assert _refused(client, sql) == "0A000", sql
    assert _refused(client, "UPDATE t SET v = 1 WHERE _rw_timestamp IS NULL") == "42703"
    assert _refused(client, "CREATE TABLE u (_rw_timestamp INT)") == "42701"


def _refused(client: Client, sql: str) -> str:
    with pytest.raises(SqlError) as error:
        client.run(sql)
    return error.value.sqlstate
