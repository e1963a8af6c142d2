"""Tables that copy PostgreSQL's: its rows, then its changes, whatever they are."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from risingpy.errors import SqlError
from tests.connectors.postgres_cdc.upstream import Upstream, follow, until, until_equal
from tests.meta.conftest import Client, Server

KINDS = """
    id bigint PRIMARY KEY, b bool, i2 smallint, i4 int, n numeric, d numeric(10,2), f4 real, f8 double precision,
    t text, v varchar(20), c char(4), day date, at time, ts timestamp, tz timestamptz, iv interval, by bytea, j jsonb,
    ia int[], ta text[], u uuid, m mood, js json
"""
VALUES = """
    (1, true, -5, 7, 1.50, 2.25, 1.5, 0.1, 'text', 'v', 'ab', '2024-02-29', '12:34:56.789',
     '2024-01-01 00:00:00.000001', '2024-06-01 12:00:00+02', '1 mon 2 days 03:04:05', '\\x00ff', '{"a": [1, null]}',
     '{1,NULL,3}', '{"a,b","\\"q\\"",NULL}',
     '0d767257-60bb-4542-aa61-c0b31855a146', 'fine', '{"z": 1}'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, false, 32767, -2147483648, 12345678901234567890.123456789, -0.01, 'NaN', '-Infinity', '',
     E'line\\nbreak "q" \\\\ ß', '', '0001-01-01', '00:00:00', '1999-12-31 23:59:59',
     '1970-01-01 00:00:00+00', '-1 day', '', 'null', '{}', '{""}',
     'ffffffff-ffff-ffff-ffff-ffffffffffff', 'bad', '[]')
"""
SHOWN = """
    id, b, i2, i4, n::text, d, f4::text, f8::text, t, v, day, at, ts, tz, iv::text, by, j::text, ia, ta, u::text,
    m::text
"""


def has_all(client: Client, upstream: Upstream, query: str) -> None:
    """The query gives here what it gives upstream: FLUSH waits for what is committed there."""
    expected = upstream.run(query)
    assert client.run(f"FLUSH; {query}") == expected


@pytest.mark.on_spark
def test_a_copy_has_the_rows_and_follows_the_changes(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, grp int, v text)")
    upstream.run("INSERT INTO t SELECT g, g % 5, 'v' || g FROM generate_series(1, 1000) g")
    client = follow(server, upstream, "t")
    assert client.run("SELECT count(*), sum(id) FROM t") == [(1000, 500500)]
    client.run("CREATE MATERIALIZED VIEW v AS SELECT grp, count(*) AS n, max(v) AS last FROM t GROUP BY grp")
    upstream.run(
        "UPDATE t SET grp = 9 WHERE id <= 10; DELETE FROM t WHERE id > 990; UPDATE t SET id = -id WHERE id = 50"
    )
    upstream.run("INSERT INTO t VALUES (2000, 9, NULL), (2001, NULL, '')")
    has_all(client, upstream, "SELECT grp, count(*) AS n, max(v) AS last FROM t GROUP BY grp ORDER BY grp")
    assert client.run("SELECT * FROM v ORDER BY grp") == upstream.run(
        "SELECT grp, count(*) AS n, max(v) AS last FROM t GROUP BY grp ORDER BY grp"
    )
    server.restart()
    client = server.client()
    upstream.run("INSERT INTO t SELECT g, g % 5, 'later' FROM generate_series(3001, 3100) g")
    has_all(client, upstream, "SELECT * FROM t ORDER BY id")


def test_values_of_every_type(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TYPE mood AS ENUM ('fine', 'bad')")
    for name in ("before", "after"):
        upstream.run(f"CREATE TABLE {name} ({KINDS})")
    upstream.run(f"INSERT INTO before VALUES {VALUES}")
    client = follow(server, upstream, "before", "after")
    upstream.run(f"INSERT INTO after VALUES {VALUES}")
    until(lambda: len(client.run("SELECT id FROM after")) == 3)
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []
    expected = upstream.run(f"SELECT {SHOWN} FROM before ORDER BY id")
    for name in ("before", "after"):
        rows = client.run(f"SELECT {SHOWN} FROM {name} ORDER BY id")
        assert [[_comparable(value) for value in row] for row in rows] == [
            [_comparable(value) for value in row] for row in expected
        ]


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("NaN", "nan")
    return tuple(value) if isinstance(value, list) else value


def test_large_values_that_an_update_leaves_out(server: Server, upstream: Upstream) -> None:
    """PostgreSQL does not send a TOASTed value that did not change: it is that of the last change, wherever that is."""
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, n int, big text)")
    upstream.run("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    upstream.run("INSERT INTO t SELECT g, 0, repeat('a' || g, 5000) FROM generate_series(1, 20) g")
    client = follow(server, upstream, "t")
    upstream.run("UPDATE t SET n = 1 WHERE id <= 5")  # from the snapshot
    upstream.run(
        "BEGIN; UPDATE t SET big = repeat('b', 9000) WHERE id = 6; UPDATE t SET n = 2 WHERE id = 6;"
        "UPDATE t SET n = 3 WHERE id = 6; UPDATE t SET id = 106 WHERE id = 6; UPDATE t SET n = 4 WHERE id = 106;"
        "INSERT INTO t VALUES (6, 7, repeat('new', 3000)); UPDATE t SET n = 8 WHERE id = 6;"
        "UPDATE t SET id = 107, n = 5 WHERE id = 7; COMMIT"
    )
    upstream.run("BEGIN; DELETE FROM t WHERE id = 8; INSERT INTO t VALUES (8, 1, repeat('again', 2000)); COMMIT")
    upstream.run("UPDATE t SET n = n + 1")
    has_all(client, upstream, "SELECT id, n, length(big), md5(big) FROM t ORDER BY id")
    upstream.run(
        "ALTER TABLE t REPLICA IDENTITY FULL; UPDATE t SET n = n + 1; UPDATE t SET id = id + 1000 WHERE id < 3"
    )
    has_all(client, upstream, "SELECT id, n, length(big), md5(big) FROM t ORDER BY id")
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []


def test_truncate(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY REFERENCES a)")
    upstream.run("INSERT INTO a SELECT generate_series(1, 100); INSERT INTO b SELECT generate_series(1, 50)")
    client = follow(server, upstream, "a", "b")
    upstream.run("BEGIN; INSERT INTO a VALUES (500); TRUNCATE a, b; INSERT INTO a VALUES (7); COMMIT")
    has_all(client, upstream, "SELECT id FROM a")
    assert client.run("SELECT id FROM b") == []


def test_tables_that_come_later_are_as_far_as_the_others(server: Server, upstream: Upstream) -> None:
    """Each is made while a writer changes all of them together; from its first moment it agrees with the others."""
    upstream.run("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT INTO a VALUES (1, 0)")
    for name in ("b", "c", "d"):
        upstream.run(f"CREATE TABLE {name} (id int PRIMARY KEY, n int); INSERT INTO {name} VALUES (1, 0)")
    client = follow(server, upstream, "a")
    stopping, errors = threading.Event(), []

    def write() -> None:
        with upstream.connect() as connection:
            number = 0
            while not stopping.is_set():
                number += 1
                with connection.transaction():
                    for name in ("d", "b", "a", "c"):
                        connection.execute(f"UPDATE {name} SET n = %s", (number,))
                        connection.execute(f"INSERT INTO {name} VALUES (%s, 0)", (number + 1,))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for name in ("b", "c", "d"):
            time.sleep(0.3)
            client.run(f"CREATE TABLE {name} (*) FROM pg TABLE '{name}'")
            for _ in range(20):
                differing = client.run(
                    f"SELECT a.n, x.n FROM (SELECT max(n) AS n, count(*) AS k FROM a) a,"
                    f" (SELECT max(n) AS n, count(*) AS k FROM {name}) x WHERE a.n <> x.n OR a.k <> x.k"
                )
                errors += differing
    finally:
        stopping.set()
        writer.join()
    assert not errors
    for name in ("a", "b", "c", "d"):
        has_all(client, upstream, f"SELECT * FROM {name} ORDER BY id")


def test_rows_that_do_not_fit(server: Server, upstream: Upstream) -> None:
    """They are counted and kept, and the table has no older row of their keys; all else goes on."""
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, at timestamp, n int)")
    upstream.run("INSERT INTO t VALUES (1, '294260-01-01', 1), (2, '2024-01-01', 2)")
    client = server.client()
    client.run(upstream.source())
    client.run("CREATE TABLE t (id int PRIMARY KEY, at timestamp, n int NOT NULL) FROM pg TABLE 't'")
    assert client.run("SELECT id FROM t") == [(2,)]
    upstream.run(
        "INSERT INTO t VALUES (3, '2024-01-03', 3); UPDATE t SET n = NULL WHERE id = 2;"
        "UPDATE t SET at = now() WHERE id = 1"
    )
    until(lambda: client.run("SELECT id, n FROM t ORDER BY id") == [(1, 1), (3, 3)])
    found = client.run("SELECT source_name, partition, reason FROM rw_catalog.rw_source_errors ORDER BY time, 2")
    assert [row[:2] for row in found] == [("pg", "public.t")] * 2
    assert "out of range" in found[0][2] and found[1][2] == 'null value in column "n"'
    assert client.run("SELECT job_name, split, bad_messages, failure FROM rw_catalog.rw_source_lag") == [
        ("t", "public.t", 2, None)
    ]


def test_a_slot_that_is_lost_is_not_made_anew(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client = follow(server, upstream, "t")
    server.stop()
    until(
        lambda: (
            upstream.run("SELECT active FROM pg_replication_slots WHERE database = current_database()") == [(False,)]
        )
    )
    upstream.run(f"SELECT pg_drop_replication_slot('{upstream.slot}'); INSERT INTO t VALUES (2)")
    server.start()
    client = server.client()
    until(lambda: client.run("SELECT failure FROM rw_catalog.rw_source_lag WHERE failure IS NOT NULL"))
    [(failure,)] = client.run("SELECT failure FROM rw_catalog.rw_source_lag")
    assert "is gone: changes after" in failure
    assert client.run("SELECT * FROM t") == [(1,)] and upstream.slots() == []
    with pytest.raises(SqlError, match="stands still"):
        client.run("CREATE TABLE again (*) FROM pg TABLE 't'")
    assert client.run("SHOW TABLES") == [("t",)]


def test_an_upstream_that_restarts(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client = follow(server, upstream, "t")
    for number, mode in enumerate(("fast", "immediate"), 2):
        upstream.server.control("stop", "-m", mode)
        until(lambda: client.run("SELECT failure FROM rw_catalog.rw_source_lag WHERE failure IS NOT NULL"))
        upstream.server.control("start")
        upstream.run(f"INSERT INTO t VALUES ({number})")
        until_equal(client.run, "SELECT * FROM t ORDER BY id", [(k,) for k in range(1, number + 1)])
        until(lambda: client.run("SELECT failure FROM rw_catalog.rw_source_lag") == [(None,)])


def test_a_slot_of_idle_tables_moves_on(server: Server, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL need not keep the log of other tables for it."""
    from risingpy.connectors.postgres_cdc import receiver

    monkeypatch.setattr(receiver, "ADVANCE_BYTES", 100_000)
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE other (v text)")
    follow(server, upstream, "t")
    for _ in range(5):
        upstream.run("INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
    behind = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn) FROM pg_replication_slots"
    until(lambda: upstream.run(f"{behind} WHERE slot_name = '{upstream.slot}'")[0][0] < 200_000)


def test_a_create_that_is_cut_off_leaves_nothing(server: Server, upstream: Upstream) -> None:
    """A server that stops before a table is taken in does not have it after its start."""
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client = follow(server, upstream)
    with upstream.connect() as holding:
        holding.execute("BEGIN; CREATE TABLE other (id int)")  # a transaction that a new slot waits for
        failed: list[Exception] = []

        def create() -> None:
            try:
                client.run("CREATE TABLE t (*) FROM pg TABLE 't'")
            except SqlError as error:
                failed.append(error)

        creating = threading.Thread(target=create)
        creating.start()
        time.sleep(1.0)
        assert server.client().run("SELECT * FROM rw_catalog.rw_source_lag") and creating.is_alive()
        with pytest.raises(SqlError, match="does not exist"):
            server.client().run("SELECT * FROM t")
        server.restart()
        creating.join()
        assert failed
        holding.execute("ROLLBACK")
    client = server.client()
    assert client.run("SHOW TABLES") == []
    client.run("CREATE TABLE t (*) FROM pg TABLE 't'")
    assert client.run("SELECT * FROM t") == [(1,)]


def test_a_transaction_that_does_not_stay_in_memory(
    server: Server, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows go through files, and so do those that an update with an unsent value needs."""
    from risingpy.connectors.postgres_cdc import receiver, snapshot
    from risingpy.meta.feeds import feed_group

    monkeypatch.setattr(receiver, "DECODED_BYTES", 2_000)
    monkeypatch.setattr(snapshot, "CHUNK_BYTES", 5_000)
    monkeypatch.setattr(feed_group, "KEPT_BYTES", 10_000)
    for name in ("a", "b"):
        upstream.run(f"CREATE TABLE {name} (id int PRIMARY KEY, n int, big text)")
        upstream.run(f"ALTER TABLE {name} ALTER big SET STORAGE EXTERNAL")
        upstream.run(f"INSERT INTO {name} SELECT g, 0, repeat('s' || g, 2000) FROM generate_series(1, 300) g")
    client = follow(server, upstream, "a", "b")
    upstream.run(
        "BEGIN; INSERT INTO a SELECT g, 0, repeat('i' || g, 2000) FROM generate_series(301, 500) g;"
        "UPDATE a SET n = 1 WHERE id % 7 = 0; DELETE FROM a WHERE id % 11 = 0; UPDATE a SET n = n + 1, id = id + 10000;"
        "TRUNCATE b; INSERT INTO b SELECT g, 0, repeat('t' || g, 2000) FROM generate_series(200, 400) g;"
        "UPDATE b SET n = 5 WHERE id % 3 = 0; UPDATE b SET n = 6, big = 'small' WHERE id % 5 = 0;"
        "UPDATE b SET n = n + 1; COMMIT"
    )
    for name in ("a", "b"):
        has_all(client, upstream, f"SELECT id, n, md5(big) FROM {name} ORDER BY id")
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []
    assert not list(server.data_dir.glob("log/*.spill"))


def test_a_table_is_taken_in_though_the_stream_never_pauses(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE busy (id bigserial PRIMARY KEY, v text); CREATE TABLE t (id int PRIMARY KEY)")
    upstream.run("INSERT INTO t VALUES (1)")
    client = follow(server, upstream, "busy")
    stopping = threading.Event()

    def write() -> None:
        with upstream.connect() as connection:
            while not stopping.is_set():
                connection.execute("INSERT INTO busy (v) SELECT 'x' FROM generate_series(1, 200)")

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        client.run("CREATE TABLE t (*) FROM pg TABLE 't'")
    finally:
        stopping.set()
        for writer in writers:
            writer.join()
    assert client.run("SELECT * FROM t") == [(1,)]
    has_all(client, upstream, "SELECT count(*), sum(id) FROM busy")
    [(position, end, lag)] = client.run(
        "SELECT position, end_position, lag FROM rw_catalog.rw_source_lag WHERE job_name = 't'"
    )
    assert end - position == lag and position > 0


def test_a_create_that_is_cancelled_holds_up_nothing(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)")
    client, other = follow(server, upstream, "a"), server.client()
    failed: list[Exception] = []

    def create() -> None:
        try:
            other.run("CREATE TABLE b (*) FROM pg TABLE 'b'")
        except SqlError as error:
            failed.append(error)

    with upstream.connect() as holding:
        holding.execute("BEGIN; CREATE TABLE waits (id int)")  # a new slot waits for it
        creating = threading.Thread(target=create)
        creating.start()
        until(lambda: upstream.run("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE_REPLICATION_SLOT%'"))
        other.session.context.cancelled.set()
        creating.join()
        assert [error.sqlstate for error in failed if isinstance(error, SqlError)] == ["57014"]
        upstream.run("INSERT INTO a VALUES (1)")
        until_equal(client.run, "SELECT * FROM a", [(1,)])
        holding.execute("ROLLBACK")
    assert client.run("SHOW TABLES") == [("a",)]


def test_a_source_without_a_slot_of_its_own_gets_one_and_keeps_it(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client = server.client()
    client.run(upstream.source(auto__schema__change="false").replace(f"slot.name = '{upstream.slot}', ", ""))
    client.run("CREATE TABLE t (*) FROM pg TABLE 't'")
    [(slot,)] = upstream.run("SELECT slot_name FROM pg_replication_slots")
    assert slot.startswith("rw_cdc_")
    server.restart()
    upstream.run("INSERT INTO t VALUES (2)")
    client = server.client()
    has_all(client, upstream, "SELECT * FROM t ORDER BY id")
    client.run("DROP TABLE t; DROP SOURCE pg")
    assert upstream.run("SELECT slot_name FROM pg_replication_slots") == []


def test_a_source_is_altered_while_rows_come(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    upstream.run("DROP ROLE IF EXISTS other; CREATE ROLE other SUPERUSER LOGIN")
    client = follow(server, upstream, "t")
    upstream.run("INSERT INTO t SELECT generate_series(2, 1000)")
    client.run("ALTER SOURCE pg CONNECTOR WITH (username = 'other', password = 'hidden',)")
    upstream.run("INSERT INTO t SELECT generate_series(1001, 2000)")
    has_all(client, upstream, "SELECT count(*), sum(id) FROM t")
    assert upstream.run("SELECT DISTINCT usename FROM pg_stat_replication") == [("other",)]
    assert "hidden" not in client.run("SHOW CREATE SOURCE pg")[0][1]
    with pytest.raises(SqlError, match=r"option \"slot\.name\" of a source cannot be changed"):
        client.run("ALTER SOURCE pg SET slot.name = 'x'")
    with pytest.raises(SqlError, match="nobody"):
        client.run("ALTER SOURCE pg SET username = 'nobody'")
    upstream.run("INSERT INTO t VALUES (3000)")
    has_all(client, upstream, "SELECT count(*), sum(id) FROM t")
    client.run("DROP TABLE t; DROP SOURCE pg")
    upstream.run("DROP ROLE other")
