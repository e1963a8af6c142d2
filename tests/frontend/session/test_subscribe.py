"""SUBSCRIBE: an endless result over every protocol, which resumes exactly, and ends with its client."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.plan.catalog import is_temporary

Dial = Callable[[], psycopg.Connection[Any]]
SIGN = {"Insert": 1, "UpdateInsert": 1, "Delete": -1, "UpdateDelete": -1}


@pytest.fixture
def dial(server: WireServer) -> Iterator[Dial]:
    opened: list[psycopg.Connection[Any]] = []

    def dialled() -> psycopg.Connection[Any]:
        dsn = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
        opened.append(psycopg.connect(dsn, autocommit=True))
        return opened[-1]

    yield dialled
    for each in opened:
        with contextlib.suppress(psycopg.Error):
            each.close()


@pytest.fixture
def writer(dial: Dial) -> psycopg.Connection[Any]:
    connection = dial()
    connection.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    connection.execute("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
    connection.execute("INSERT INTO t VALUES (1, 1), (2, 1)")
    connection.execute("FLUSH")
    return connection


def taken(reader: psycopg.Connection[Any], sql: str, count: int) -> list[tuple[Any, ...]]:
    """The first rows of an endless result, which is then cancelled."""
    rows: list[tuple[Any, ...]] = []
    with contextlib.suppress(psycopg.errors.QueryCanceled):
        for row in reader.cursor().stream(sql):
            rows.append(row)
            if len(rows) == count:
                reader.cancel_safe()
    return rows


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_rows_of_now_and_then_changes_as_they_come(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    reader = dial()
    timer = threading.Timer(0.3, lambda: writer.execute("UPDATE t SET v = 2 WHERE k = 1"))
    timer.start()
    rows = taken(reader, "SUBSCRIBE TO m", 4)
    timer.join()
    assert [row[1:] for row in rows[:1]] == [("Insert", 1, 2)]
    assert sorted(row[1:] for row in rows[1:]) == [("Insert", 2, 1), ("UpdateDelete", 1, 2), ("UpdateInsert", 1, 1)]
    assert rows[0][0] < rows[1][0] == rows[3][0]
    assert reader.execute("SELECT 1").fetchall() == [(1,)]


def test_a_progress_row_is_an_exact_place(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    writer.execute("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    [row, _, progress] = taken(dial(), "SUBSCRIBE TO t WITH (progress)", 3)
    assert row[1:3] == (False, "Insert")
    assert progress[1:] == (True, None, None, None)
    writer.execute("INSERT INTO t VALUES (3, 3); FLUSH")
    writer.execute("DELETE FROM t WHERE k = 3; FLUSH")
    [first, at_first, second] = taken(dial(), f"SUBSCRIBE TO t WITH (progress) AFTER EPOCH {progress[0]}", 3)[:3]
    if at_first[1] is False:  # both were read in one go
        second, at_first = at_first, first
    assert (first[2:], second[2:]) == (("Insert", 3, 3), ("Delete", 3, 3))
    rows = dial().execute(f"SUBSCRIBE TO s WITH (up_to = {second[0]}) AFTER EPOCH {first[0]}").fetchall()
    assert [row[1:] for row in rows] == [("Delete", 3, 3)]
    rows = dial().execute(f"SUBSCRIBE TO s WITH (up_to = {first[0]}) AFTER EPOCH {progress[0]}").fetchall()
    assert [row[1:] for row in rows] == [("Insert", 3, 3)]


def test_copy_of_a_subscribe(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    reader = dial()
    lines: list[bytes] = []
    cancelled = contextlib.suppress(psycopg.errors.QueryCanceled)
    with cancelled, reader.cursor().copy("COPY (SUBSCRIBE TO m) TO STDOUT") as copy:
        for line in copy:
            lines.append(bytes(line))
            if len(lines) == 1:
                writer.execute("DELETE FROM t WHERE k = 1")
            if len(lines) == 3:
                reader.cancel_safe()
    words = [line.decode().rstrip("\n").split("\t")[1:] for line in lines]
    assert words == [["Insert", "1", "2"], ["UpdateDelete", "1", "2"], ["UpdateInsert", "1", "1"]]


def test_a_portal_with_a_limit_gives_what_is_there(server: WireServer, writer: psycopg.Connection[Any]) -> None:
    async def read() -> tuple[list[Any], list[Any]]:
        connection = await asyncpg.connect(host="127.0.0.1", port=server.port, user="root", database="dev")
        try:
            async with connection.transaction():
                cursor = await connection.cursor("SUBSCRIBE TO t")
                first = await cursor.fetch(2)
                await asyncio.to_thread(writer.execute, "INSERT INTO t VALUES (3, 3)")
                return first, await cursor.fetch(1)
        finally:
            await connection.close()

    first, second = asyncio.run(asyncio.wait_for(read(), 60))
    assert sorted(tuple(row)[1:] for row in first) == [("Insert", 1, 1), ("Insert", 2, 1)]
    assert [tuple(row)[1:] for row in second] == [("Insert", 3, 3)]


def test_a_client_that_hangs_up_ends_its_subscription(
    dial: Dial, writer: psycopg.Connection[Any], database: Database
) -> None:
    reader = dial()
    rows = reader.cursor().stream("SUBSCRIBE TO t")  # which ends the statement when it is forgotten
    assert next(rows)[1] == "Insert"
    assert len([r for r in database.reads.catalog.relations.values() if r.noun == "subscription"]) == 1
    assert writer.execute("SHOW SUBSCRIPTIONS").fetchall() == []
    reader.pgconn.finish()
    until(lambda: not [r for r in database.reads.catalog.relations.values() if r.noun == "subscription"])


def temporary(database: Database) -> list[str]:
    """The relations that statements have made for themselves."""
    return [each.name for each in database.reads.catalog.relations.values() if is_temporary(each)]


def test_a_query_is_followed(dial: Dial, writer: psycopg.Connection[Any], database: Database) -> None:
    """Its rows of now and then its changes, as of a view, through an aggregate, inserts, updates and deletes.

    Nobody else sees the view that is made for it, and nothing stays.
    """
    query = "SELECT v, sum(k) AS s FROM t WHERE k < 100 GROUP BY v"
    folded: Counter[tuple[Any, ...]] = Counter()
    reader = dial()
    rows = reader.cursor().stream(f"SUBSCRIBE TO ({query}) WITH (progress)")
    first = next(rows)
    folded[first[3:]] += SIGN[first[2]]
    assert len(temporary(database)) == 2
    for relation in ("SHOW MATERIALIZED VIEWS", "SELECT name FROM rw_catalog.rw_materialized_views",
                     "SELECT relname FROM pg_class WHERE relkind = 'm'"):  # fmt: skip
        assert writer.execute(relation).fetchall() == [("m",)]
    writer.execute("INSERT INTO t VALUES (3, 2), (4, 2), (200, 2)")
    writer.execute("UPDATE t SET v = 1 WHERE k = 3")
    writer.execute("DELETE FROM t WHERE k = 4")
    expected = Counter(writer.execute(query).fetchall())
    for row in rows:
        if row[2] is not None:
            folded[row[3:]] += SIGN[row[2]]
        if +folded == expected:
            break
    assert expected == {(1, 6): 1}
    reader.pgconn.finish()
    until(lambda: not temporary(database))


def test_a_query_is_copied_and_ends_with_up_to(dial: Dial, writer: psycopg.Connection[Any], database: Database) -> None:
    with dial().cursor().copy("COPY (SUBSCRIBE TO (SELECT k + 1 AS next FROM t) WITH (up_to = 1)) TO STDOUT") as copy:
        assert sorted(bytes(line).split(b"\t")[1:] for line in copy) == [[b"Insert", b"2\n"], [b"Insert", b"3\n"]]
    until(lambda: not temporary(database))


def test_drops_do_not_mind_a_followed_query(dial: Dial, writer: psycopg.Connection[Any], database: Database) -> None:
    writer.execute("CREATE SCHEMA s; CREATE TABLE s.u (k INT)")
    reader = dial()
    reader.execute("SET search_path = s")
    rows = reader.cursor().stream("SUBSCRIBE TO (SELECT k FROM u) WITH (progress)")
    next(rows)
    writer.execute("DROP TABLE s.u")
    with pytest.raises(psycopg.Error):
        list(rows)
    rows = reader.cursor().stream("SUBSCRIBE TO (SELECT 1 AS one)")
    next(rows)
    writer.execute("DROP SCHEMA s")
    reader.pgconn.finish()
    until(lambda: not temporary(database))


def test_a_slow_reader_stops_no_epoch(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    rows = dial().cursor().stream("SUBSCRIBE TO t")
    next(rows)
    for first in range(100, 500_100, 100_000):
        writer.execute(f"INSERT INTO t SELECT k, 5 FROM generate_series({first}, {first + 99_999}) k; FLUSH")
    assert writer.execute("SELECT n FROM m WHERE v = 5").fetchall() == [(500_000,)]
    assert sum(1 for _, _ in zip(range(500_001), rows, strict=False)) == 500_001


def test_what_is_refused(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    for statement, state in (
        ("SUBSCRIBE TO (SELECT clock_timestamp())", "0A000"),
        ("SUBSCRIBE TO (SELECT k FROM nothing)", "42P01"),
        ("SUBSCRIBE TO (SELECT k, k FROM t)", "42701"),
        ("SUBSCRIBE TO (SELECT k FROM t) AFTER EPOCH 5", "55000"),
        ("SUBSCRIBE TO (SELECT k FROM t", "42601"),
        ("SUBSCRIBE TO nothing", "42P01"),
        ("SUBSCRIBE TO t WITH (speed)", "42601"),
        ("SUBSCRIBE TO t WITH (snapshot) AFTER EPOCH 5", "42601"),
        ("SUBSCRIBE TO t AFTER EPOCH 5", "55000"),
    ):
        with pytest.raises(psycopg.Error) as failure:
            dial().execute(statement)
        assert failure.value.sqlstate == state
    writer.execute("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    with pytest.raises(psycopg.Error) as failure:
        dial().execute("SUBSCRIBE TO t AFTER EPOCH 5")
    assert failure.value.sqlstate == "72000"
    with pytest.raises(psycopg.Error, match="there is no epoch 9000000000000000000 yet") as failure:
        dial().execute("SUBSCRIBE TO t AFTER EPOCH 9000000000000000000")
    assert failure.value.sqlstate == "22023"


def test_an_alter_ends_it_with_the_place_to_go_on_from(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    writer.execute("CREATE SUBSCRIPTION s FROM t WITH (retention = '1D')")
    rows = dial().cursor().stream("SUBSCRIBE TO t WITH (snapshot = false, progress)")
    [place, *_] = next(rows)
    writer.execute("ALTER TABLE t ADD COLUMN w INT")
    writer.execute("INSERT INTO t VALUES (7, 7, 7); FLUSH")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="columns of what is followed have changed"):
        for row in rows:
            assert row[1] is True
            place = row[0]
    [row] = taken(dial(), f"SUBSCRIBE TO s AFTER EPOCH {place}", 1)
    assert row[1:] == ("Insert", 7, 7, 7)


def test_a_reader_that_is_killed_at_random_sees_each_change_once(dial: Dial, writer: psycopg.Connection[Any]) -> None:
    writer.execute("CREATE SUBSCRIPTION s FROM m WITH (retention = '1D')")
    chance = random.Random(11)
    folded: Counter[tuple[int, int]] = Counter()
    stop, done = threading.Event(), threading.Event()
    writer.execute("CREATE TABLE other (k INT PRIMARY KEY)")

    def write() -> None:
        for _ in range(120):
            key, value = chance.randrange(10, 30), chance.randrange(4)
            writer.execute(f"INSERT INTO t VALUES ({key}, {value})" if value else f"DELETE FROM t WHERE k = {key}")
            time.sleep(0.01)
        writer.execute("FLUSH")
        stop.set()
        while not done.wait(0.05):  # so that there are epochs, and progress
            writer.execute("INSERT INTO other VALUES (1)")

    thread = threading.Thread(target=write)
    thread.start()
    reading = dial()
    place: int | None = None
    lives = random.Random(7)
    while True:
        ended = stop.is_set()
        target = reading.execute("SELECT v, n FROM m").fetchall() if ended else None
        after = "" if place is None else f" AFTER EPOCH {place}"
        reader = dial()
        pending: list[tuple[int, tuple[int, int]]] = []
        for row in reader.cursor().stream(f"SUBSCRIBE TO m WITH (progress){after}"):
            epoch, progressed, op, *values = row
            if progressed:
                for sign, each in pending:
                    folded[each] += sign
                pending, place = [], epoch
                if lives.random() < 0.3 or ended:
                    break
            else:
                pending.append((SIGN[op], (values[0], values[1])))
                if lives.random() < 0.1:
                    break
        reader.pgconn.finish()
        assert min(folded.values(), default=0) >= 0
        if target is not None and +folded == Counter(target):
            break
    done.set()
    thread.join()
    assert max(folded.values()) == 1
