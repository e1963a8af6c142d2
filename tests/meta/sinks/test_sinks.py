"""Sinks of a running database: the other side has what the query has, whatever happens to either of them."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from risingpy.errors import (
    DependentObjectsStillExist,
    InvalidParameterValue,
    QueryCanceled,
    SqlError,
    UndefinedTable,
    WrongObjectType,
)
from risingpy.meta.changelogs import trimming
from risingpy.meta.recovery.check import check
from risingpy.meta.sinks import delivery
from tests.meta.conftest import Client, Server
from tests.meta.sinks.epoch_files import added_up, epochs_in, file_sink
from tests.postgres_oracle import PostgresOracle, postgres_server

VIEW = "CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g"


def change_at_random(client: Client, chance: random.Random, statements: int) -> None:
    for _ in range(statements):
        key, group, value = chance.randrange(20), chance.randrange(4), chance.randrange(9)
        client.run(
            chance.choice(
                [
                    f"INSERT INTO t VALUES ({key}, {group}, {value})",
                    f"DELETE FROM t WHERE k = {key}",
                    f"UPDATE t SET g = {group} WHERE k = {key}",
                ]
            )
        )


def to_postgres(oracle: PostgresOracle, table: str) -> str:
    options = {
        "connector": "postgres",
        "host": str(oracle.directory),
        "port": str(oracle.port),
        "user": "postgres",
        "database": "postgres",
        "table": table,
    }
    return ", ".join(f"{name} = '{value}'" for name, value in options.items())


def until(holds: object, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.on_spark
def test_the_other_side_has_what_the_query_has(server: Server, tmp_path: Path) -> None:
    client, chance = server.client(), random.Random(1)
    client.run(f"CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT); {VIEW}")
    change_at_random(client, chance, 10)
    client.run(file_sink("early", "FROM m", tmp_path / "early"))
    client.run(file_sink("joined", "AS SELECT a.k, b.v FROM t a JOIN t b ON a.g = b.g", tmp_path / "joined"))
    for number in range(3):
        change_at_random(client, chance, 10)
        client.run("WAIT SINK early; WAIT SINK joined")
        assert added_up(tmp_path / "early") == Counter(client.run("SELECT * FROM m"))
        assert added_up(tmp_path / "joined") == Counter(client.run("SELECT a.k, b.v FROM t a JOIN t b ON a.g = b.g"))
        if number == 0:
            server.restart()
            client = server.client()
    client.run("DROP SINK early; DROP MATERIALIZED VIEW m")


def test_append_only_sinks_add_up_rows(server: Server, tmp_path: Path) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT); CREATE TABLE log (v INT) APPEND ONLY")
    client.run("INSERT INTO log VALUES (1), (1), (2)")
    client.run(file_sink("plain", "FROM log", tmp_path / "plain", "append-only"))
    with pytest.raises(InvalidParameterValue, match="cannot be append-only"):
        client.run(file_sink("refused", "FROM t", tmp_path / "forced", "append-only"))
    forced = ", force_append_only = 'true'"
    client.run(file_sink("forced", "FROM t", tmp_path / "forced", "append-only", forced))
    client.run("INSERT INTO t VALUES (1, 1), (2, 2); FLUSH; UPDATE t SET v = 5 WHERE k = 1; FLUSH; DELETE FROM t")
    client.run("INSERT INTO log VALUES (2); WAIT SINK plain; WAIT SINK forced")
    read = {
        name: sorted(row for path in (tmp_path / name).iterdir() for row in path.read_text().split())
        for name in ("plain", "forced")
    }
    assert read["plain"] == ['{"v":1}', '{"v":1}', '{"v":2}', '{"v":2}']
    assert read["forced"] == ['{"k":1,"v":1}', '{"k":1,"v":5}', '{"k":2,"v":2}']


def test_without_a_snapshot_only_changes_go_out(server: Server, tmp_path: Path) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); FLUSH")
    client.run(file_sink("s", "FROM t", tmp_path / "s", more=", snapshot = 'false'"))
    client.run("INSERT INTO t VALUES (3); DELETE FROM t WHERE k = 1; WAIT SINK s")
    changes = [change for epoch in epochs_in(tmp_path / "s") for change in epoch]
    assert sorted(changes) == [(-1, (1,)), (1, (3,))]
    with pytest.raises(InvalidParameterValue, match="snapshot"):
        client.run(file_sink("q", "AS SELECT max(k) AS k FROM t", tmp_path / "q", more=", snapshot = 'false'"))
    client.run(file_sink("q", "AS SELECT k + 1 AS k FROM t WHERE k > 3", tmp_path / "q", more=", snapshot = 'false'"))
    client.run("INSERT INTO t VALUES (0), (7); WAIT SINK q")
    assert [change for epoch in epochs_in(tmp_path / "q") for change in epoch] == [(1, (8,))]


def test_the_other_side_has_one_row_for_each_key(server: Server, postgres_oracle: PostgresOracle) -> None:
    """The sink's key is not that of the query: several of its rows have the same, and the newest of them counts."""
    client, chance = server.client(), random.Random(3)
    client.run("CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT)")
    with postgres_oracle.connect() as other:
        other.execute("DROP TABLE IF EXISTS one_row; CREATE TABLE one_row (g int PRIMARY KEY, k int)")
        target = to_postgres(postgres_oracle, "one_row")
        with pytest.raises(InvalidParameterValue, match="primary key not defined"):
            client.run(f"CREATE SINK s AS SELECT g, v AS k FROM t WITH ({target}, type = 'upsert')")
        client.run(f"CREATE SINK s AS SELECT g, k FROM t WITH ({target}, type = 'upsert', primary_key = 'g')")
        for _ in range(5):
            change_at_random(client, chance, 8)
            client.run("WAIT SINK s")
            wanted = client.run("SELECT g, max(k) FROM t GROUP BY g ORDER BY g")
            assert other.execute("SELECT g, k FROM one_row ORDER BY g").fetchall() == wanted
    client.run("DROP SINK s")


def test_a_dead_target_stops_nothing_but_its_sink(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    with postgres_server() as away:
        with away.connect() as other:
            other.execute("CREATE TABLE u (k int PRIMARY KEY, v int)")
        client.run(f"CREATE SINK s FROM t WITH ({to_postgres(away, 'u')}, type = 'upsert')")
        client.run("INSERT INTO t VALUES (1, 1); WAIT SINK s")
    client.run("INSERT INTO t VALUES (2, 2); FLUSH")
    until(lambda: client.run("SELECT failure FROM rw_catalog.rw_sink_lag")[0][0])
    began = time.monotonic()
    for key in range(3, 30):
        client.run(f"INSERT INTO t VALUES ({key}, 0); FLUSH")
    assert time.monotonic() - began < 10
    assert client.run("SELECT lag_milliseconds > 0, backlog_bytes > 0, delivered_rows FROM rw_catalog.rw_sink_lag") == [
        (True, True, 1)
    ]
    threading.Timer(0.3, client.session.cancel).start()
    with pytest.raises(QueryCanceled):
        client.run("WAIT SINK s")
    began = time.monotonic()
    client.run("DROP SINK s")
    assert time.monotonic() - began < 8


def test_a_table_that_comes_back_gets_the_rest(
    server: Server, postgres_oracle: PostgresOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "LONGEST_BACK_OFF", 0.2)
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    with postgres_oracle.connect() as other:
        other.execute("DROP TABLE IF EXISTS back; CREATE TABLE back (k int PRIMARY KEY, v int)")
        client.run(f"CREATE SINK s FROM t WITH ({to_postgres(postgres_oracle, 'back')}, type = 'upsert')")
        client.run("INSERT INTO t VALUES (1, 1); WAIT SINK s")
        other.execute("ALTER TABLE back RENAME TO gone")
        client.run("INSERT INTO t VALUES (2, 2); UPDATE t SET v = 7; FLUSH")
        until(lambda: client.run("SELECT failure FROM rw_catalog.rw_sink_lag")[0][0])
        other.execute("ALTER TABLE gone RENAME TO back")
        client.run("WAIT SINK s")
        assert other.execute("SELECT k, v FROM back ORDER BY k").fetchall() == [(1, 7), (2, 7)]
        assert client.run("SELECT failure FROM rw_catalog.rw_sink_lag") == [(None,)]
    client.run("DROP SINK s")


def test_a_sink_fails_when_more_waits_than_may(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "BACKLOG_SECONDS", 0.05)
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
    with postgres_server() as away:
        with away.connect() as other:
            other.execute("CREATE TABLE u (k int PRIMARY KEY, v text)")
        limit = "backlog.limit = '100kB'"
        client.run(f"CREATE SINK s FROM t WITH ({to_postgres(away, 'u')}, type = 'upsert', {limit})")
    client.run("INSERT INTO t SELECT k, repeat('x', 1000) FROM generate_series(1, 200) k; FLUSH")
    until(lambda: client.run("SELECT status FROM rw_catalog.rw_sink_lag") == [("failed",)])
    [(failure,)] = client.run("SELECT failure FROM rw_catalog.rw_sink_lag")
    assert "more than backlog.limit: PostgreSQL: " in str(failure)
    server.restart()
    client = server.client()
    assert client.run("SELECT failure FROM rw_catalog.rw_sink_lag") == [(failure,)]
    with pytest.raises(SqlError, match="has failed"):
        client.run("WAIT SINK s")
    client.run("INSERT INTO t VALUES (0, 'goes on'); DROP SINK s")


def test_a_target_that_does_not_answer_is_a_failure(
    server: Server, postgres_oracle: PostgresOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SILENT_SECONDS", 0.2)
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
    with postgres_oracle.connect() as other, postgres_oracle.connect() as locking:
        other.execute("DROP TABLE IF EXISTS silent; CREATE TABLE silent (k int PRIMARY KEY, v text)")
        other.commit()
        client.run(f"CREATE SINK s FROM t WITH ({to_postgres(postgres_oracle, 'silent')}, type = 'upsert')")
        locking.execute("BEGIN; LOCK TABLE silent")
        client.run("INSERT INTO t VALUES (1, 'a'); FLUSH")
        asked = "SELECT failure LIKE 'the other side has not answered for % s' FROM rw_catalog.rw_sink_lag"
        until(lambda: client.run(asked) == [(True,)])
        locking.execute("ROLLBACK")
        client.run("WAIT SINK s")
        assert client.run("SELECT failure FROM rw_catalog.rw_sink_lag") == [(None,)]


def test_what_is_delivered_leaves_the_store(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimming, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(trimming, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(delivery, "NOTE_SECONDS", 0.05)
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
    client.run("INSERT INTO t SELECT k, repeat('x', 1000) FROM generate_series(1, 1000) k")
    client.run(file_sink("s", "FROM t", tmp_path / "s") + "; WAIT SINK s")
    until(lambda: client.run("SELECT backlog_bytes FROM rw_catalog.rw_sink_lag") == [(0,)])
    server.restart()
    client = server.client()
    client.run("DELETE FROM t WHERE k > 3; WAIT SINK s")
    assert len(added_up(tmp_path / "s")) == 3
    until(lambda: client.run("SELECT backlog_bytes FROM rw_catalog.rw_sink_lag") == [(0,)])


def test_a_paused_sink_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY)")
    client.run(file_sink("s", "FROM t", tmp_path / "s"))
    client.run("INSERT INTO t VALUES (1); WAIT SINK s; ALTER SINK s SET sink_rate_limit = 0")
    client.run("INSERT INTO t VALUES (2); FLUSH")
    assert client.run("SELECT status FROM rw_catalog.rw_sink_lag") == [("paused",)]
    assert added_up(tmp_path / "s") == Counter({(1,): 1})
    waiting = threading.Thread(target=lambda: server.client().run("WAIT SINK s"))
    waiting.start()
    client.run("ALTER SINK s CONNECTOR WITH (sink_rate_limit = default)")
    waiting.join(10)
    assert not waiting.is_alive()
    assert added_up(tmp_path / "s") == Counter({(1,): 1, (2,): 1})
    with pytest.raises(InvalidParameterValue, match="cannot be changed"):
        client.run("ALTER SINK s SET type = 'upsert'")
    with pytest.raises(InvalidParameterValue, match="unknown option"):
        client.run("ALTER SINK s SET colour = 'red'")


def test_names_follow(server: Server, tmp_path: Path) -> None:
    client = server.client()
    client.run("CREATE SCHEMA other; CREATE TABLE t (k INT PRIMARY KEY); CREATE TABLE u (k INT)")
    client.run(file_sink("s", "FROM t", tmp_path / "s"))
    client.run(file_sink("q", "AS SELECT t.k FROM t", tmp_path / "q"))
    client.run("ALTER TABLE t SET SCHEMA other; ALTER TABLE other.t RENAME TO r; ALTER SINK s RENAME TO s2")
    definitions = dict(client.run("SELECT name, definition FROM rw_catalog.rw_sinks"))
    assert definitions["s2"].startswith("CREATE SINK s2 FROM other.r WITH (")
    assert definitions["q"].startswith("CREATE SINK q AS SELECT t.k\n   FROM other.r t WITH (")
    with pytest.raises(DependentObjectsStillExist):
        client.run("DROP TABLE other.r")
    with pytest.raises(WrongObjectType):
        client.run("SELECT * FROM s2")
    with pytest.raises(WrongObjectType):
        client.run("DROP TABLE s2")
    with pytest.raises(WrongObjectType):
        client.run("WAIT SINK u")
    with pytest.raises(UndefinedTable):
        client.run("WAIT SINK nowhere")
    client.run("INSERT INTO other.r VALUES (1); WAIT SINK s2; ALTER TABLE other.r ADD COLUMN v INT; FLUSH")
    client.run("INSERT INTO other.r VALUES (2, 2); WAIT SINK s2; WAIT SINK q")
    assert added_up(tmp_path / "s") == added_up(tmp_path / "q") == Counter({(1,): 1, (2,): 1})
    assert client.run("SHOW SINKS") == [("q",), ("s2",)]
    client.run("DROP TABLE other.r CASCADE")
    assert client.run("SHOW SINKS") == []


def test_create_that_fails_leaves_nothing(server: Server, postgres_oracle: PostgresOracle) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY)")
    with pytest.raises(UndefinedTable):  # from PostgreSQL
        client.run(f"CREATE SINK s FROM t WITH ({to_postgres(postgres_oracle, 'nosuch')}, type = 'upsert')")
    with pytest.raises(SqlError, match="specified more than once"):
        client.run("CREATE SINK s FROM t WITH (connector = 'blackhole', connector = 'blackhole')")
    with pytest.raises(InvalidParameterValue, match="needs the option connector"):
        client.run("CREATE SINK s FROM t")
    assert client.run("SELECT * FROM rw_catalog.rw_sinks") == []
    for clause in ("", "IF NOT EXISTS"):
        client.run(f"CREATE SINK {clause} s FROM t WITH (connector = 'blackhole')")


def test_credentials_are_not_shown(server: Server, postgres_oracle: PostgresOracle) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY)")
    with postgres_oracle.connect() as other:
        other.execute("DROP TABLE IF EXISTS hidden; CREATE TABLE hidden (k int PRIMARY KEY)")
    target = to_postgres(postgres_oracle, "hidden")
    client.run(f"CREATE SINK s FROM t WITH ({target}, password = 'hunter2', type = 'upsert')")
    client.run("ALTER SINK s SET password = 'hunter3'")
    ((_, shown),) = client.run("SHOW CREATE SINK s")
    assert "hunter" not in shown
    assert "***" in shown
    client.run("INSERT INTO t VALUES (1); WAIT SINK s")
    client.run("DROP SINK s")


def test_what_waits_for_delivery_survives_another_number_of_shards_and_a_restore(
    server: Server, tmp_path: Path
) -> None:
    client, chance = server.client(), random.Random(4)
    client.run("CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT)")
    change_at_random(client, chance, 10)
    client.run(file_sink("s", "FROM t", tmp_path / "s", more=", sink_rate_limit = 0"))
    change_at_random(client, chance, 10)
    client.run(f"FLUSH; ALTER SYSTEM SET parallelism = 3; BACKUP TO '{tmp_path / 'copy'}'")
    server.restart()
    client = server.client()
    change_at_random(client, chance, 10)
    client.run("FLUSH; ALTER SINK s SET sink_rate_limit = default; WAIT SINK s")
    assert added_up(tmp_path / "s") == Counter(client.run("SELECT * FROM t"))
    assert server.database.shards == 3
    server.stop()
    assert check(server.data_dir).problems == ()
    restored = Server(tmp_path / "copy", server.engine)
    try:
        client = restored.client()
        client.run(f"ALTER SINK s CONNECTOR WITH (sink_rate_limit = default, fs.path = '{tmp_path / 'r'}')")
        client.run("WAIT SINK s")
        assert added_up(tmp_path / "r") == Counter(client.run("SELECT * FROM t"))
    finally:
        restored.stop()
    assert check(tmp_path / "copy").problems == ()
    server.start()
