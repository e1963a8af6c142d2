"""Cancel, statement_timeout and a lost client end a statement in every phase, and nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.state import MetaState

_SECONDS = 1.0
_SLACK = 4.0  # other tests run beside this one; without an end none of the statements would come back in a minute
_AFTER = 0.3  # the statement has begun by then

_ROWS = ", ".join(f"({i}, {i})" for i in range(400_000))
_OIDS = ", ".join(map(str, range(600_000)))
READING = {
    "tokens": f"INSERT INTO t VALUES {_ROWS}",
    "a comment": "SELECT 1" + ", 1" * 600_000,
    "a query of a system relation": f"SELECT count(*) FROM pg_class WHERE oid IN ({_OIDS})",
}
WAITING_FOR_THE_LOOP = {
    "FLUSH": "INSERT INTO t VALUES (7, 7); FLUSH",
    "CREATE TABLE": "CREATE TABLE made (x int)",
    "CREATE VIEW": "CREATE VIEW made AS SELECT * FROM t",
    "CREATE MATERIALIZED VIEW": "CREATE MATERIALIZED VIEW made AS SELECT * FROM t",
    "CREATE INDEX": "CREATE INDEX made ON t (n)",
    "CREATE SCHEMA": "CREATE SCHEMA made",
    "CREATE FUNCTION": "CREATE FUNCTION made(int) RETURNS int LANGUAGE sql AS 'SELECT $1'",
    "DROP TABLE": "DROP TABLE t CASCADE",
    "DROP SCHEMA": "DROP SCHEMA s",
    "ALTER TABLE": "ALTER TABLE t ADD COLUMN made int",
    "RENAME": "ALTER TABLE t RENAME TO made",
    "ALTER SYSTEM": "ALTER SYSTEM SET parallelism = 1",
}
WAITING_FOR_A_LOCK = {
    "UPDATE": "UPDATE t SET n = 5",
    "INSERT": "INSERT INTO t VALUES (9, 9)",
    "DROP": "DROP TABLE t CASCADE",
    "ALTER": "ALTER TABLE t ADD COLUMN made int",
}

Client = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def open_client(server: WireServer, database: Database) -> Iterator[Callable[..., Client]]:
    opened: list[Client] = []

    def open_one(**settings: str) -> Client:
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        client = psycopg.connect(
            host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True, options=options
        )
        opened.append(client)
        return client

    first = open_one()
    first.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    first.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    first.execute("CREATE SCHEMA s")
    first.execute("FLUSH")
    yield open_one
    for client in opened:
        client.close()


@contextlib.contextmanager
def busy_loop(database: Database) -> Iterator[None]:
    """The barrier loop does something else, and takes no change and runs no epoch."""
    began, ends = threading.Event(), threading.Event()

    def hold(state: MetaState) -> MetaState:
        began.set()
        ends.wait(60)
        return state

    thread = threading.Thread(target=database.ddl.change, args=(hold,))
    thread.start()
    began.wait(10)
    try:
        yield
    finally:
        ends.set()
        thread.join()


@contextlib.contextmanager
def locked_table(open_client: Callable[..., Client]) -> Iterator[None]:
    holder = open_client()
    holder.execute("BEGIN")
    holder.execute("UPDATE t SET n = n + 1")
    try:
        yield
    finally:
        holder.execute("ROLLBACK")


def _cancel(server: WireServer, client: Client) -> None:
    """What a CancelRequest does; libpq's own would wait, with the interpreter's lock, for this very process."""
    for connection, process_id in list(server._open._connections.items()):
        if process_id == client.pgconn.backend_pid:
            connection.cancel()


def _unchanged(open_client: Callable[..., Client], catalog: object, database: Database) -> None:
    client = open_client()
    assert client.execute("SELECT id, n FROM t WHERE id < 7 ORDER BY id").fetchall() == [(1, 1), (2, 2)]
    client.execute("FLUSH")
    assert set(database.reads.catalog.relations) == catalog
    assert "made" not in database.reads.catalog.schemas
    client.execute("CREATE MATERIALIZED VIEW later AS SELECT count(*) AS n FROM t")  # the next statement works
    client.execute("UPDATE t SET n = n")  # and no lock is left
    client.execute("DROP TABLE t CASCADE")


def by_cancel(open_client: Callable[..., Client], server: WireServer, sql: str) -> float:
    client = open_client()
    times: list[float] = []

    def cancel() -> None:
        times.append(time.monotonic())
        _cancel(server, client)

    timer = threading.Timer(_AFTER, cancel)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled, match="due to user request"):
        client.execute(sql)
    timer.join()
    return time.monotonic() - times[0]


def by_timeout(open_client: Callable[..., Client], server: WireServer, sql: str) -> float:
    client = open_client(statement_timeout=str(int(_AFTER * 1000)))
    began = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled, match="due to statement timeout"):
        client.execute(sql)
    return time.monotonic() - began - _AFTER


def by_losing_the_client(open_client: Callable[..., Client], server: WireServer, sql: str) -> float:
    client = open_client()
    before = len(server._open.all())
    client.pgconn.send_query(sql.encode())
    client.pgconn.flush()
    time.sleep(_AFTER)
    lost = time.monotonic()
    socket.socket(fileno=client.fileno()).close()
    while len(server._open.all()) >= before and time.monotonic() < lost + 30:
        time.sleep(0.02)
    return time.monotonic() - lost


WAYS = [by_cancel, by_timeout, by_losing_the_client]
End = Callable[[Callable[..., Client], WireServer, str], float]


@pytest.mark.parametrize("end", WAYS)
@pytest.mark.parametrize("phase", READING)
def test_while_it_is_read(
    open_client: Callable[..., Client], server: WireServer, database: Database, phase: str, end: End
) -> None:
    catalog = set(database.reads.catalog.relations)
    assert end(open_client, server, READING[phase]) < _SECONDS + _SLACK
    _unchanged(open_client, catalog, database)


@pytest.mark.parametrize("end", WAYS)
@pytest.mark.parametrize("statement", WAITING_FOR_THE_LOOP)
def test_while_it_waits_for_an_epoch(
    open_client: Callable[..., Client], server: WireServer, database: Database, statement: str, end: End
) -> None:
    catalog = set(database.reads.catalog.relations)
    with busy_loop(database):
        assert end(open_client, server, WAITING_FOR_THE_LOOP[statement]) < _SECONDS + _SLACK
    _unchanged(open_client, catalog, database)


@pytest.mark.parametrize("end", WAYS)
@pytest.mark.parametrize("statement", WAITING_FOR_A_LOCK)
def test_while_it_waits_for_a_lock(
    open_client: Callable[..., Client], server: WireServer, database: Database, statement: str, end: End
) -> None:
    catalog = set(database.reads.catalog.relations)
    with locked_table(open_client):
        assert end(open_client, server, WAITING_FOR_A_LOCK[statement]) < _SECONDS + _SLACK
    _unchanged(open_client, catalog, database)


@pytest.mark.parametrize("way", ["cancel", "timeout"])
@pytest.mark.parametrize("sent", [b"", b"3\t3\n", b"half a row"])
def test_while_a_copy_waits_for_its_client(
    open_client: Callable[..., Client], server: WireServer, database: Database, way: str, sent: bytes
) -> None:
    catalog = set(database.reads.catalog.relations)
    client = open_client(**({"statement_timeout": "300"} if way == "timeout" else {}))
    client.pgconn.exec_(b"COPY t FROM STDIN")
    if sent:
        client.pgconn.put_copy_data(sent)
        client.pgconn.flush()
    began = time.monotonic()
    if way == "cancel":
        _cancel(server, client)
    with socket.socket(fileno=os.dup(client.fileno())) as reading:
        reading.settimeout(_SECONDS + _SLACK)
        assert reading.recv(1, socket.MSG_PEEK) == b"E"  # told at once, though the client has not moved
    assert time.monotonic() - began < _SECONDS + _SLACK
    client.close()
    _unchanged(open_client, catalog, database)


def test_a_cancel_that_comes_too_late_ends_nothing(open_client: Callable[..., Client], server: WireServer) -> None:
    client = open_client()
    for _ in range(50):
        client.execute("SELECT 1")
        _cancel(server, client)
    time.sleep(_AFTER)
    assert client.execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_planning_in_the_loop_is_ended(
    open_client: Callable[..., Client], server: WireServer, database: Database
) -> None:
    """A view's job is planned between two epochs: a cancel ends that, and the loop goes on."""
    client = open_client()
    asked: list[None] = []

    def rows(table_id: int) -> int:  # the planner asks for the size of what it joins
        asked.append(None)
        _cancel(server, client)
        return 0

    database.ddl._table_rows = rows
    catalog = set(database.reads.catalog.relations)
    joins = " ".join(f"JOIN t t{i} ON t{i}.id > t0.id" for i in range(1, 5))
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(f"CREATE MATERIALIZED VIEW made AS SELECT t0.id FROM t t0 {joins}")
    assert asked
    _unchanged(open_client, catalog, database)
