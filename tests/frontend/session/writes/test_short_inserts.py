"""INSERTs that a group takes along: the same rows and answers as by the long way, and all else is left to that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.writing.coming_rows import TransactionRows, Written
from risingpy.meta.writing.group_commit import NewRows, RowChange, SmallWrite
from risingpy.meta.writing.table_locks import HeldRows, LockMode
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, all_rows, connect, noted, rows_of
from tests.frontend.wire import raw_client as raw

_CLIENTS, _STATEMENTS = 8, 40
_DEADLINE = 30.0


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[SmallWrite | TransactionRows]:
    """The writes that were given to groups."""
    return noted(monkeypatch, NewRows, RowChange)


def _insert(connection: Connection, text: str, values: tuple[object, ...] = (), times: int = 3) -> list[str | None]:
    """So often that it is prepared, and at rest in the loop."""
    return [connection.execute(text, values, prepare=True).statusmessage for _ in range(times)]


def test_rows_of_all_types_are_those_of_the_long_way(client: Client, server: WireServer, taken: list[object]) -> None:
    columns = (
        "k int, b boolean, s smallint, l bigint, r real, d double precision, m numeric(10, 2), t varchar, "
        "v varchar(5), c char(5), y bytea, u uuid, da date, ti time, ts timestamp, tz timestamptz, j jsonb"
    )
    types = [part.split(maxsplit=1)[1] for part in columns.replace("(10, 2)", "(10;2)").split(", ")]
    marks = ", ".join(f"%s::{each}" for each in types).replace("(10;2)", "(10, 2)")
    row: tuple[str, ...] = ("1", "t", "-5", "9000000000", "1.5", "-2.25", "12.30", "Grüße", "short", "ab", "\\x00ff")
    row += ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "2026-11-25", "03:04:05.6", "2026-11-25 03:04:05")
    row += ("2026-11-25 03:04:05+01", '{"a": 1}')
    for table in ("long", "short"):
        client.run(f"CREATE TABLE {table} ({columns})")
    plain = ", ".join(["%s"] * len(types))
    with connect(server) as connection:
        assert _insert(connection, f"INSERT INTO short VALUES ({plain})", row) == ["INSERT 0 1"] * 3
        assert _insert(connection, f"INSERT INTO short VALUES ({plain})", (None,) * len(row)) == ["INSERT 0 1"] * 3
        assert taken
        before = len(taken)
        with connection.transaction():
            for values in (row, row, row, *[(None,) * len(row)] * 3):
                connection.execute(f"INSERT INTO long SELECT {marks}", values)
        assert len(taken) == before
    assert all_rows(client, "short") == all_rows(client, "long")
    assert len(all_rows(client, "short")) == 6


def test_defaults_numbers_and_times(client: Client, server: WireServer, taken: list[object]) -> None:
    client.run("CREATE TABLE t (id serial PRIMARY KEY, v varchar DEFAULT 'none', at timestamptz DEFAULT now(), n int)")
    with connect(server) as connection:
        _insert(connection, "INSERT INTO t (n) VALUES (%s)", (7,))
        assert taken
        assert connection.execute("SELECT lastval(), currval('t_id_seq')").fetchone() == (3, 3)
        _insert(connection, "INSERT INTO t (id, v) VALUES (%s, %s)", (10, "ten"))
        _insert(connection, "INSERT INTO t (v, n) VALUES (%s, 1), (%s, 2)", ("a", "b"), times=1)
    rows = sorted(rows_of(client, "SELECT id, v, n, at > now() - interval '1 hour' FROM t"))
    defaulted = [(number, "none", 7) for number in (1, 2, 3)]
    assert [row[:3] for row in rows] == [*defaulted, (10, "ten", None), (11, "a", 1), (12, "b", 2)]
    assert all(row[3] for row in rows if row[1] != "ten")


def test_simple_texts_that_recur(client: Client, server: WireServer, taken: list[object]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v varchar)")
    with connect(server) as connection:
        for number in range(6):
            said = connection.pgconn.exec_(f"INSERT INTO t VALUES ({number}, 'row {number}')".encode())
            assert said.command_status == b"INSERT 0 1"
    assert taken
    assert all_rows(client, "t") == [(number, f"row {number}") for number in range(6)]


@pytest.mark.parametrize(
    ("column", "value", "state"),
    [
        ("n int NOT NULL", None, "23502"),
        ("n varchar(3)", "four", "22001"),
        ("n int CHECK (n < 5)", 9, "23514"),
        ("n int UNIQUE", 1, "23505"),
        ("n int REFERENCES other", 5, "23503"),
    ],
)
def test_refused_rows_have_their_errors(
    client: Client, server: WireServer, column: str, value: object, state: str
) -> None:
    client.run("CREATE TABLE other (id int PRIMARY KEY)")
    client.run("INSERT INTO other VALUES (1)")
    client.run(f"CREATE TABLE t (id serial PRIMARY KEY, {column})")
    with connect(server) as connection:
        good = "1" if "varchar" in column else 1
        times = 1 if "UNIQUE" in column else 3
        _insert(connection, "INSERT INTO t (n) VALUES (%s)", (good,), times)
        for _ in range(3):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute("INSERT INTO t (n) VALUES (%s)", (value,), prepare=True)
            assert refused.value.sqlstate == state
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (times,)


def test_another_form_of_the_table(client: Client, server: WireServer) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v varchar)")
    with connect(server) as connection:
        _insert(connection, "INSERT INTO t VALUES (%s, %s)", (1, "a"))
        client.run("ALTER TABLE t ADD COLUMN n int DEFAULT 5")
        _insert(connection, "INSERT INTO t VALUES (%s, %s)", (2, "b"))
        client.run("CREATE UNIQUE INDEX of_v ON t (v)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO t VALUES (%s, %s)", (3, "b"), prepare=True)
        client.run("DROP TABLE t")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("INSERT INTO t VALUES (%s, %s)", (4, "d"), prepare=True)


def test_a_right_that_is_gone(client: Client, server: WireServer) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    client.run("CREATE ROLE writer LOGIN")
    client.run("GRANT INSERT ON t TO writer")
    with connect(server) as connection:
        connection.execute("SET ROLE writer")
        _insert(connection, "INSERT INTO t VALUES (%s)", (1,))
        client.run("REVOKE INSERT ON t FROM writer")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO t VALUES (%s)", (2,), prepare=True)


@pytest.mark.parametrize("alone", [False, True])
def test_it_waits_for_who_has_the_row_or_the_table(
    client: Client, server: WireServer, database: Database, alone: bool
) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v varchar)")
    client.run("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    with connect(server) as holder, connect(server) as waiting, connect(server) as other:
        for connection, key in ((waiting, 11), (other, 12)):
            _insert(connection, "INSERT INTO t VALUES (%s, 'x')", (key,))
        with holder.transaction():
            text = "UPDATE t SET v = v || '!'" if alone else "UPDATE t SET v = 'held' WHERE id = 1"
            holder.execute(text)
            thread = threading.Thread(target=_insert, args=(waiting, "INSERT INTO t VALUES (%s, 'x')", (1,), 1))
            thread.start()
            deadline = time.monotonic() + _DEADLINE
            while not any(each.waits_since for each in database.writes.locks.seen()):
                assert time.monotonic() < deadline
                time.sleep(0.005)
            if not alone:  # others do not wait with it
                _insert(other, "INSERT INTO t VALUES (%s, 'x')", (12,))
            assert thread.is_alive()
        thread.join(_DEADLINE)
        assert not thread.is_alive()
    assert (1, "x") in all_rows(client, "t")
    assert not database.writes.locks.seen()


def test_a_write_is_read_at_once_by_all(client: Client, server: WireServer) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    with connect(server) as writer, connect(server) as reader:
        reader.execute("SET visibility_mode = 'strict'")
        for number in range(40):
            writer.execute("INSERT INTO t VALUES (%s, %s)", (number % 3, number), prepare=True)
            read = "SELECT v FROM t WHERE id = %s"
            assert reader.execute(read, (number % 3,), prepare=True).fetchone() == (number,)
            assert writer.execute(read, (number % 3,), prepare=True).fetchone() == (number,)


def test_many_clients(client: Client, server: WireServer, database: Database, taken: list[object]) -> None:
    client.run("CREATE TABLE early (id serial PRIMARY KEY, owner int, n int)")
    client.run("CREATE TABLE bare (owner int, n int)")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT owner, count(*) AS c, sum(n) AS n FROM early GROUP BY owner")
    failures: list[BaseException] = []

    def work(owner: int) -> None:
        try:
            with connect(server) as connection, connect(server) as helper:
                for number in range(_STATEMENTS):
                    table = ("early", "bare")[number % 2]
                    text = f"INSERT INTO {table} (owner, n) VALUES (%s, %s)"
                    assert connection.execute(text, (owner, number), prepare=True).statusmessage == "INSERT 0 1"
                    if number % 10 == 0:  # nothing runs that it could end
                        helper.execute("SELECT pg_cancel_backend(%s)", (connection.info.backend_pid,))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(owner,)) for owner in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * _DEADLINE)
    assert not failures
    assert len(taken) > _CLIENTS * _STATEMENTS / 2
    client.run("CREATE MATERIALIZED VIEW late AS SELECT owner, count(*) AS c, sum(n) AS n FROM early GROUP BY owner")
    half = _STATEMENTS // 2
    wanted = [(owner, half, sum(range(0, _STATEMENTS, 2))) for owner in range(_CLIENTS)]
    assert all_rows(client, "sums") == all_rows(client, "late") == sorted(wanted, key=repr)
    assert rows_of(client, "SELECT count(*), count(DISTINCT id) FROM early") == [(_CLIENTS * half,) * 2]
    assert rows_of(client, "SELECT count(*), sum(n) FROM bare") == [
        (_CLIENTS * half, _CLIENTS * sum(range(1, _STATEMENTS, 2)))
    ]


def test_what_comes_while_it_is_under_way(client: Client, server: WireServer, taken: list[object]) -> None:
    """A client that does not wait for its answers gets all of them, in their order."""
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    with raw.RawClient(server.port, hello=False) as sender:
        packet = (196608).to_bytes(4) + b"user\0root\0database\0dev\0\0"
        sender.send((len(packet) + 4).to_bytes(4) + packet)
        sender.until("Z")
        sender.send(raw.parse(b"s", b"INSERT INTO t VALUES ($1, 1)") + raw.SYNC)
        sender.until("Z")
        for number in range(0, 60, 3):
            for key in range(number, number + 3):
                sender.send(raw.bind(b"", b"s", [b"%d" % key]) + raw.execute() + raw.SYNC)
            assert [kind for kind, _ in sender.until("Z", 3)] == ["2", "C", "Z"] * 3
            time.sleep(0.03)  # it is in the loop again
    assert len(taken) > 1
    assert rows_of(client, "SELECT count(*), sum(v) FROM t") == [(60, 60)]


def test_an_end_in_the_middle(client: Client, server: WireServer, database: Database) -> None:
    """A client that is ended, or goes, while its write is under way: the write stands, and nothing is left of it."""
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    with connect(server) as gone, connect(server) as ended, connect(server) as other:
        for connection in (gone, ended):
            _insert(connection, "INSERT INTO t VALUES (%s)", (0,))
        gone.pgconn.send_query_prepared(_prepared_name(gone), [b"1"])
        gone.pgconn.finish()
        ended.pgconn.send_query_prepared(_prepared_name(ended), [b"2"])
        found = other.execute("SELECT pg_terminate_backend(%s, 5000)", (ended.info.backend_pid,)).fetchone()
        assert found == (True,)
        ended.pgconn.finish()
        deadline = time.monotonic() + _DEADLINE
        while len(database.sessions.activities()) > 2:  # the test's own, and `other`
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert not database.writes.locks.seen()
    assert {(0,)} <= set(all_rows(client, "t")) <= {(0,), (1,), (2,)}


def _prepared_name(connection: Connection) -> bytes:
    found = connection.execute("SELECT name FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'").fetchone()
    assert found is not None
    return str(found[0]).encode()


def test_a_group_gives_back_what_it_cannot_write(client: Client, database: Database) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    table = database.reads.catalog.find("t", None, ("public",))
    results: dict[object, Written | None] = {}
    ready = threading.Event()

    def write(number: object) -> SmallWrite:
        def done(written: Written | None) -> Callable[[], None]:
            results[number] = written
            return ready.set

        return NewRows(table, lambda: [[number, 1]], done)  # type: ignore[arg-type]

    commit = database.writes.group_commit
    held = database.writes.row_locks(table.relation_id, [(1,)])  # type: ignore[union-attr]
    for number in (0, 1, 2):
        commit.add(write(number))
    commit.begin()
    assert ready.wait(_DEADLINE)
    assert results[1] is None and results[0] and results[2] == results[0] and results[0].lsn
    for each in held:
        each.release()
    ready.clear()
    commit.add(write("no number"))
    commit.begin()
    assert ready.wait(_DEADLINE)
    assert results["no number"] is None
    assert not database.writes.locks.seen()
    with database.writes.locks.held((table.relation_id,), LockMode.ALONE):  # type: ignore[union-attr]
        pass
    assert all_rows(client, "t") == [(0, 1), (2, 1)]


def test_what_is_durable_is_never_given_back(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    table = database.reads.catalog.find("t", None, ("public",))
    results: list[Written | None] = []
    ready = threading.Event()
    release = HeldRows.release

    def failing(self: HeldRows) -> None:
        release(self)
        raise MemoryError

    def broken(written: Written | None) -> Callable[[], None]:
        raise RuntimeError("the connection of this write is no more")

    def done(written: Written | None) -> Callable[[], None]:
        results.append(written)
        return ready.set

    monkeypatch.setattr(HeldRows, "release", failing)
    commit = database.writes.group_commit
    commit.add(NewRows(table, lambda: [[1, 1]], broken))  # type: ignore[arg-type]
    commit.add(NewRows(table, lambda: [[2, 1]], done))  # type: ignore[arg-type]
    commit.begin()
    assert ready.wait(_DEADLINE)
    assert results[0] is not None and results[0].lsn == database.writes.last_lsn
    monkeypatch.undo()
    assert all_rows(client, "t") == [(1, 1), (2, 1)]
