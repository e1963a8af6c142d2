"""DECLARE, FETCH, MOVE, CLOSE: PostgreSQL's directions, one snapshot, and rows that are computed when fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import SqlError
from risingpy.frontend.portals import RowStream
from risingpy.frontend.suspended import scrolled_rows
from risingpy.frontend.suspended.scrolled_rows import ScrolledRows
from risingpy.frontend.wire import WireServer
from tests.examples import examples
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle, missing_reason, postgres_server

ROWS = 300_000
EXISTS = 'cursor "c" already exists'


def numbers(rows: list[tuple[object, ...]]) -> list[object]:
    return [value for (value,) in rows]


@pytest.fixture
def open_cursor(client: Client) -> Callable[[str], Client]:
    """BEGIN, and a cursor c over 1 … 5."""

    def declare(options: str = "") -> Client:
        client.run("BEGIN")
        client.run(f"DECLARE c {options} CURSOR FOR SELECT i FROM generate_series(1, 5) AS g(i)")
        return client

    return declare


def test_forward(open_cursor: Callable[[], Client]) -> None:
    client = open_cursor()
    assert client.tag == "DECLARE CURSOR"
    assert numbers(client.run("FETCH c")) == [1]
    assert client.tag == "FETCH 1"
    assert numbers(client.run("FETCH 2 FROM c")) == [2, 3]
    client.run("MOVE c")
    assert client.tag == "MOVE 1"
    assert numbers(client.run("FETCH FORWARD ALL IN c")) == [5]
    assert client.run("FETCH NEXT FROM c") == []
    client.run("MOVE ALL FROM c")
    assert client.tag == "MOVE 0"
    client.run("CLOSE c")
    assert client.tag == "CLOSE CURSOR"
    client.run("COMMIT")


@pytest.mark.parametrize("options", ["", "NO SCROLL"])
@pytest.mark.parametrize("direction", ["PRIOR", "BACKWARD", "-1", "FIRST", "ABSOLUTE 1", "LAST", "RELATIVE -1", "0"])
def test_back_only_with_scroll(open_cursor: Callable[[str], Client], options: str, direction: str) -> None:
    client = open_cursor(options)
    client.run("FETCH 2 FROM c")
    with pytest.raises(SqlError, match="cursor can only scan forward") as caught:
        client.run(f"FETCH {direction} FROM c")
    assert caught.value.sqlstate == "55000"
    assert caught.value.hint == "Declare it with SCROLL option to enable backward scan."


def test_scroll(open_cursor: Callable[[str], Client]) -> None:
    client = open_cursor("INSENSITIVE SCROLL")
    for direction, expected in (
        ("LAST", [5]),
        ("PRIOR", [4]),
        ("BACKWARD 2", [3, 2]),
        ("0", [2]),
        ("RELATIVE 2", [4]),
        ("ABSOLUTE -2", [4]),
        ("ALL", [5]),
        ("BACKWARD ALL", [5, 4, 3, 2, 1]),
        ("BACKWARD", []),
        ("FIRST", [1]),
        ("ABSOLUTE 9", []),
        ("PRIOR", [5]),
        ("ABSOLUTE 0", []),
        ("NEXT", [1]),
        ("-1", []),
        ("FORWARD 3", [1, 2, 3]),
    ):
        assert numbers(client.run(f"FETCH {direction} FROM c")) == expected, direction
    moves = (("0", 1), ("BACKWARD ALL", 2), ("0", 0), ("RELATIVE 2", 1), ("ABSOLUTE 5", 1), ("LAST", 1))
    for direction, moved in moves:
        client.run(f"MOVE {direction} FROM c")
        assert client.tag == f"MOVE {moved}", direction


def test_it_keeps_its_epoch_and_its_transactions_rows(client: Client, connect: Callable[[], Client]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1), (2)")
    client.run("BEGIN; INSERT INTO t VALUES (3)")
    client.run("DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id")
    client.run("DECLARE d CURSOR FOR SELECT id FROM t ORDER BY id")
    client.run("INSERT INTO t VALUES (4)")
    connect().run("INSERT INTO t VALUES (5); FLUSH")
    assert numbers(client.run("FETCH ALL c")) == [1, 2, 3]
    client.run("DELETE FROM t")
    assert numbers(client.run("FETCH ALL d")) == [1, 2, 3]
    assert client.run("SELECT count(*) FROM t") == [(0,)]


def test_it_ends_with_its_transaction(open_cursor: Callable[[], Client]) -> None:
    for end in ("COMMIT", "ROLLBACK"):
        client = open_cursor()
        client.run(end)
        for sql in ("FETCH c", "MOVE c", "CLOSE c"):
            with pytest.raises(SqlError, match='cursor "c" does not exist') as caught:
                client.run(sql)
            assert caught.value.sqlstate == "34000"
    with pytest.raises(SqlError, match='cursor "c" does not exist'):
        open_cursor().run("COMMIT; FETCH c")


def test_with_hold(client: Client) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1), (2), (3)")
    client.run("DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id")
    assert numbers(client.run("FETCH c")) == [1]
    client.run("BEGIN; DELETE FROM t; DECLARE d SCROLL CURSOR WITH HOLD FOR SELECT id FROM t; COMMIT")
    client.run("BEGIN; DECLARE e CURSOR WITH HOLD FOR SELECT 1; FETCH c; ROLLBACK")
    with pytest.raises(SqlError, match="division by zero"):
        client.run("DECLARE f CURSOR WITH HOLD FOR SELECT 1; SELECT 1 / 0")
    for name in ("e", "f"):
        with pytest.raises(SqlError, match=f'cursor "{name}" does not exist'):
            client.run(f"FETCH {name}")
    assert numbers(client.run("FETCH ALL c")) == [3]
    assert client.run("FETCH ALL d") == []
    client.run("CLOSE ALL")
    assert (client.tag, client.run("SELECT * FROM pg_cursors")) == ("CLOSE CURSOR ALL", [])


def test_savepoints_close_what_came_after_them(open_cursor: Callable[[], Client]) -> None:
    client = open_cursor()
    client.run("FETCH c; SAVEPOINT a; FETCH c; DECLARE d CURSOR FOR SELECT 1")
    with pytest.raises(SqlError):
        client.run("SELECT nosuch")
    client.run("ROLLBACK TO a")
    assert numbers(client.run("FETCH c")) == [3]
    with pytest.raises(SqlError, match='cursor "d" does not exist'):
        client.run("FETCH d")


def test_one_that_failed_cannot_go_on(client: Client) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run(f"INSERT INTO t SELECT i FROM generate_series(1, {ROWS}) AS g(i)")
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT 1 / (id - 290000) FROM t")
    client.run("SAVEPOINT a")
    with pytest.raises(SqlError, match="division by zero"):
        client.run("MOVE ALL FROM c")
    client.run("ROLLBACK TO a")
    with pytest.raises(SqlError, match='portal "c" cannot be run') as caught:
        client.run("FETCH c")
    assert caught.value.sqlstate == "55000"


def test_others_being_cancelled_does_not_end_it(client: Client) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run(f"INSERT INTO t SELECT i FROM generate_series(1, {ROWS}) AS g(i)")
    client.run("DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id")
    assert numbers(client.run("FETCH c")) == [1]
    client.run("SET statement_timeout = 50")
    with pytest.raises(SqlError, match="statement timeout"):
        client.run("SELECT pg_sleep(10)")
    client.run("SET statement_timeout = 0")
    assert len(client.run("FETCH ALL c")) == ROWS - 1


def test_one_that_is_read_too_late(client: Client, connect: Callable[[], Client]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run(f"INSERT INTO t SELECT i FROM generate_series(1, {ROWS}) AS g(i)")
    client.run("DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t")
    client.run("FETCH c")
    other = connect()
    other.run("ALTER SYSTEM SET old_snapshot_threshold = '1ms'")
    other.run("DELETE FROM t; FLUSH")
    while other.run("SELECT 1 FROM rw_read_views WHERE outdated_seconds > 0"):
        pass
    for message in ("snapshot too old", 'portal "c" cannot be run'):
        with pytest.raises(SqlError, match=message):
            client.run("FETCH ALL c")


def test_pg_cursors(client: Client) -> None:
    client.run("BEGIN; DECLARE c BINARY NO SCROLL CURSOR FOR SELECT 1")
    client.run('DECLARE "D" SCROLL CURSOR WITH HOLD FOR SELECT relname FROM pg_class')
    assert client.run(
        "SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time <= clock_timestamp()"
        " FROM pg_cursors"
    ) == [
        ("c", "DECLARE c BINARY NO SCROLL CURSOR FOR SELECT 1", False, True, False, True),
        ("D", 'DECLARE "D" SCROLL CURSOR WITH HOLD FOR SELECT relname FROM pg_class', True, False, True, True),
    ]
    client.run('CLOSE "D"')
    assert client.run("SELECT name FROM pg_cursors") == [("c",)]


@pytest.mark.parametrize(
    ("sql", "state", "message", "position"),
    [
        ("DECLARE c CURSOR FOR SELECT 1", "25P01", "DECLARE CURSOR can only be used in transaction blocks", None),
        ("BEGIN; DECLARE c CURSOR FOR TABLE t", "42P01", 'relation "t" does not exist', 35),
        ("BEGIN; DECLARE c CURSOR FOR VALUES (1); DECLARE c CURSOR FOR VALUES (2)", "42P03", EXISTS, None),
        ("FETCH nosuch", "34000", 'cursor "nosuch" does not exist', None),
        ("DECLARE c SCROLL NO SCROLL CURSOR FOR SELECT 1", "42P11", "cannot specify both SCROLL and NO SCROLL", 18),
        ("BEGIN; DECLARE c CURSOR FOR SELECT nosuch", "42703", 'column "nosuch" does not exist', 36),
        ("BEGIN; DECLARE c CURSOR FOR DELETE FROM t", "42601", 'syntax error at or near "DELETE"', 29),
        ("DECLARE c FOR SELECT 1", "42601", 'syntax error at or near "FOR"', 11),
        ("FETCH FORWARD FROM", "42601", "syntax error at end of input", 19),
        ("FETCH ABSOLUTE x FROM c", "42601", 'syntax error at or near "x"', 16),
    ],
)
def test_errors(client: Client, sql: str, state: str, message: str, position: int | None) -> None:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    assert (caught.value.sqlstate, caught.value.message) == (state, message)
    assert position is None or caught.value.position == position


def test_rows_come_as_they_are_asked_for(client: Client) -> None:
    """The first row of an endless product comes at once."""
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run(f"INSERT INTO t SELECT i FROM generate_series(1, {ROWS}) AS g(i)")
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT a.id FROM t AS a, t AS b")
    assert len(client.run("FETCH 100000 FROM c")) == 100_000
    client.run("ROLLBACK")


# Against the same rows in a list


@given(
    batches=st.lists(st.integers(0, 4), max_size=4),
    steps=st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 6)), max_size=12),
)
def test_scrolled_rows(batches: list[int], steps: list[tuple[bool, int | None]]) -> None:
    starts = [sum(batches[:index]) for index in range(len(batches))]
    made = [pa.record_batch([pa.array(range(s + 1, s + n + 1))], ["n"]) for s, n in zip(starts, batches, strict=True)]
    rows, count, place = ScrolledRows(iter(made)), sum(batches), 0
    for forward, limit in steps:
        wanted = count + 1 if limit is None else limit
        if forward:
            expected = list(range(place + 1, min(place + wanted, count) + 1))
            place = min(place + wanted, count + 1)
        else:
            expected = list(range(place - 1, max(place - wanted, 1) - 1, -1))
            place = max(place - wanted, 0)
        taken = rows.take(limit) if forward else rows.back(limit)
        assert [n for batch in taken for n in batch.column(0).to_pylist()] == expected
        assert (rows.place, rows.at_end) == (place, place > count)
    rows.close()


def test_many_scrolled_rows_lie_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrolled_rows, "KEPT_BYTES", 1000)
    rows = ScrolledRows(pa.record_batch([pa.array(range(s, s + 500))], ["n"]) for s in range(0, 5000, 500))
    assert sum(batch.num_rows for batch in rows.take(None)) == 5000
    assert [n for batch in rows.back(None) for n in batch.column(0).to_pylist()] == list(range(4999, -1, -1))
    rows.close()


def test_a_stream_knows_where_it_stands() -> None:
    rows = RowStream(iter(()))
    assert (rows.place, list(rows.take(1)), rows.place, rows.at_end) == (0, [], 1, True)


@pytest.fixture(scope="module")
def oracle() -> Iterator[PostgresOracle]:
    if missing_reason() is not None:
        pytest.skip(missing_reason() or "")
    with postgres_server() as server:
        yield server


VERBS = st.sampled_from(["FETCH", "MOVE"])
DIRECTIONS = st.one_of(
    st.sampled_from(["NEXT", "PRIOR", "FIRST", "LAST", "ALL", "FORWARD", "BACKWARD", "FORWARD ALL", "BACKWARD ALL"]),
    st.builds("{} {}".format, st.sampled_from(["", "FORWARD", "BACKWARD", "RELATIVE"]), st.integers(-4, 4)),
    st.builds("ABSOLUTE {}".format, st.integers(-7, 7)),
)


def test_directions_are_postgresqls(oracle: PostgresOracle, client: Client) -> None:
    with oracle.connect() as postgres:

        @examples(60)
        @given(rows=st.integers(0, 5), walk=st.lists(st.tuples(VERBS, DIRECTIONS), max_size=9))
        def compare(rows: int, walk: list[tuple[str, str]]) -> None:
            begin = f"BEGIN; DECLARE c SCROLL CURSOR FOR SELECT i FROM generate_series(1, {rows}) AS g(i)"
            client.run(begin)
            postgres.execute(begin)
            try:
                for verb, direction in walk:
                    ours = client.run(f"{verb} {direction} FROM c")
                    theirs = postgres.execute(f"{verb} {direction} FROM c")
                    assert ours == (theirs.fetchall() if verb == "FETCH" else []), (verb, direction)
                    assert client.tag == theirs.statusmessage
            finally:
                client.run("ROLLBACK")
                postgres.execute("ROLLBACK")

        compare()


# Through drivers


@pytest.fixture
def connection(server: WireServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as opened:
        opened.execute("CREATE TABLE t (id int PRIMARY KEY, name varchar)")
        opened.execute("INSERT INTO t SELECT i, 'n' || i FROM generate_series(1, 1000) AS g(i)")
        opened.execute("FLUSH")
        yield opened


def test_psycopgs_server_side_cursors(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction(), connection.cursor(name="c") as cursor:
        cursor.itersize = 300
        cursor.execute("SELECT id, name FROM t WHERE id <= %s ORDER BY id", [900])
        assert cursor.description is not None and [column.name for column in cursor.description] == ["id", "name"]
        assert list(cursor) == [(i, f"n{i}") for i in range(1, 901)]
    with connection.transaction(), connection.cursor(name="c", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM t ORDER BY id", binary=True)
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
        cursor.scroll(-2)
        assert cursor.fetchone() == (2,)
        cursor.scroll(10, mode="absolute")
        assert cursor.fetchone() == (11,)
    held = connection.cursor(name="h", withhold=True)
    held.execute("SELECT count(*) FROM t")
    assert held.fetchall() == [(1000,)]
    held.close()
    assert connection.execute("SELECT * FROM pg_cursors").fetchall() == []
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        connection.cursor(name="c").execute("SELECT 1")


def test_a_binary_cursor_over_the_simple_protocol(connection: psycopg.Connection[Any]) -> None:
    pgconn = connection.pgconn
    pgconn.exec_(b"BEGIN; DECLARE c BINARY CURSOR FOR SELECT id FROM t WHERE id = 258")
    fetched = pgconn.exec_(b"FETCH c")
    assert (fetched.fformat(0), fetched.get_value(0, 0)) == (1, b"\0\0\1\2")
    pgconn.exec_(b"ROLLBACK")


def test_asyncpgs_cursors(server: WireServer, connection: psycopg.Connection[Any]) -> None:
    async def use() -> None:
        client = await asyncpg.connect(host="127.0.0.1", port=server.port, user="root", database="dev")
        async with client.transaction():
            rows = client.cursor("SELECT id FROM t WHERE id > $1 ORDER BY id", 3, prefetch=7)
            assert [row["id"] async for row in rows] == list(range(4, 1001))
            cursor = await client.cursor("SELECT id FROM t ORDER BY id")
            assert await cursor.forward(10) == 10
            assert [row["id"] for row in await cursor.fetch(5)] == [11, 12, 13, 14, 15]
            assert (await cursor.fetchrow())["id"] == 16
            portal = next(row["name"] for row in await client.fetch("SELECT name FROM pg_cursors"))
            assert [row["id"] for row in await client.fetch(f"FETCH 2 FROM {portal}")] == [17, 18]
            async with client.transaction():
                await client.execute("DELETE FROM t WHERE id = 16")
            assert (await cursor.fetchrow())["id"] == 19
        await client.close()

    asyncio.run(use())


def test_a_prepared_fetch_is_of_the_cursor_of_the_moment(server: WireServer) -> None:
    """psycopg prepares what it sends for the sixth time."""
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", prepare_threshold=0) as sent:
        for query, row in (("SELECT 1, 'a'", (1, "a")), ("SELECT 'b'", ("b",)), ("SELECT 2.5, 1, 2", None)):
            sent.execute(f"DECLARE c CURSOR FOR {query}".encode())
            found = sent.execute("FETCH c").fetchone()
            assert found == row or (row is None and found is not None and len(found) == 3)
            assert sent.execute("FETCH c").fetchone() is None
            sent.execute("CLOSE c")
