"""LISTEN and NOTIFY over the wire: who hears what, when, and what becomes of clients that do not read."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from tests.frontend.wire.raw_client import RawClient, query

Connection = psycopg.Connection[Any]
_SOON = 5.0


@pytest.fixture
def open_connection(server: WireServer) -> Iterator[Callable[[], Connection]]:
    opened: list[Connection] = []

    def connect() -> Connection:
        made = psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)
        opened.append(made)
        return made

    yield connect
    for each in opened:
        each.close()


def raw(server: WireServer, *statements: bytes) -> RawClient:
    """A client that runs statements, and reads what it is told until then, and no more."""
    client = RawClient(server.port, hello=False)
    body = struct.pack("!I", 196608) + b"user\0root\0database\0dev\0\0"
    client.send(struct.pack("!I", len(body) + 4) + body)
    client.until("Z")
    for statement in statements:
        client.kinds(query(statement))
    return client


def heard(connection: Connection, count: int, seconds: float = _SOON) -> list[tuple[str, str]]:
    """The notifications that come, until there are `count` of them, or so long."""
    return [(each.channel, each.payload) for each in connection.notifies(timeout=seconds, stop_after=count)]


def test_an_idle_client_hears_at_once_and_from_whom(open_connection: Callable[[], Connection]) -> None:
    listener, speaker = open_connection(), open_connection()
    listener.execute("LISTEN Jobs")
    time.sleep(0.1)  # until the listener's thread has left it to the loop
    began = time.monotonic()
    speaker.execute("NOTIFY jobs, 'one'")
    [first] = list(listener.notifies(timeout=_SOON, stop_after=1))
    assert (first.channel, first.payload, first.pid) == ("jobs", "one", speaker.info.backend_pid)
    assert time.monotonic() - began < 1
    speaker.execute("NOTIFY jobs")
    speaker.execute('NOTIFY "Jobs", $$not this channel$$')
    speaker.execute("SELECT pg_notify('jobs', 'two')")
    assert heard(listener, 2) == [("jobs", ""), ("jobs", "two")]
    assert heard(listener, 1, 0.2) == []


def test_nothing_is_said_before_commit_and_after_rollback(open_connection: Callable[[], Connection]) -> None:
    listener, speaker = open_connection(), open_connection()
    listener.execute("LISTEN a")
    speaker.execute("BEGIN")
    speaker.execute("NOTIFY a, '1'")
    speaker.execute("SAVEPOINT s")
    speaker.execute("NOTIFY a, '2'")
    speaker.execute("ROLLBACK TO s")
    speaker.execute("NOTIFY a, '3'")
    speaker.execute("NOTIFY a, '1'")  # as before: said once
    assert heard(listener, 1, 0.2) == []
    speaker.execute("COMMIT")
    assert heard(listener, 2) == [("a", "1"), ("a", "3")]
    speaker.execute("BEGIN")
    speaker.execute("NOTIFY a, '4'")
    speaker.execute("ROLLBACK")
    speaker.execute("BEGIN")
    speaker.execute("NOTIFY a, '5'")
    with pytest.raises(psycopg.errors.DivisionByZero):
        speaker.execute("SELECT 1 / 0")
    speaker.execute("COMMIT")
    with pytest.raises(psycopg.errors.DivisionByZero):
        speaker.execute("SELECT pg_notify('a', (1 / (2 - g))::text) FROM generate_series(1, 2) g")
    assert heard(listener, 1, 0.2) == []


def test_a_listener_hears_when_its_own_transaction_has_ended(open_connection: Callable[[], Connection]) -> None:
    listener, speaker = open_connection(), open_connection()
    listener.execute("LISTEN a")
    listener.execute("BEGIN")
    speaker.execute("NOTIFY a, '1'")
    listener.execute("SELECT 1")
    assert heard(listener, 1, 0.2) == []
    listener.execute("NOTIFY a, '2'")
    listener.execute("COMMIT")
    assert heard(listener, 2) == [("a", "1"), ("a", "2")]


def test_listen_belongs_to_its_transaction(open_connection: Callable[[], Connection]) -> None:
    listener, speaker = open_connection(), open_connection()
    listener.execute("BEGIN")
    listener.execute("LISTEN a")
    speaker.execute("NOTIFY a, 'before'")
    listener.execute("NOTIFY a, 'own'")
    listener.execute("COMMIT")
    assert heard(listener, 1) == [("a", "own")]
    listener.execute("BEGIN")
    listener.execute("UNLISTEN a")
    listener.execute("LISTEN b")
    listener.execute("ROLLBACK")
    assert listener.execute("SELECT pg_listening_channels()").fetchall() == [("a",)]
    listener.execute("LISTEN b")
    assert listener.execute("SELECT * FROM pg_listening_channels() AS c ORDER BY c").fetchall() == [("a",), ("b",)]
    listener.execute("UNLISTEN a")
    speaker.execute("NOTIFY a")
    speaker.execute("NOTIFY b")
    assert heard(listener, 1) == [("b", "")]
    listener.execute("DISCARD ALL")
    assert listener.execute("SELECT pg_listening_channels()").fetchall() == []


def test_who_hears_of_rows_can_read_them(open_connection: Callable[[], Connection]) -> None:
    """Also in a view; and whoever has waited for a lock of the first transaction is heard after it."""
    listener, speakers = open_connection(), [open_connection() for _ in range(3)]
    listener.execute("CREATE TABLE counter (id int PRIMARY KEY, n int)")
    listener.execute("CREATE MATERIALIZED VIEW doubled AS SELECT id, 2 * n AS n FROM counter")
    listener.execute("INSERT INTO counter VALUES (1, 0)")
    listener.execute("LISTEN counted")

    def count(connection: Connection) -> None:
        for _ in range(20):
            with connection.transaction():
                [row] = connection.execute("UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n").fetchall()
                connection.execute("SELECT pg_notify('counted', %s::text)", row)

    threads = [threading.Thread(target=count, args=(each,)) for each in speakers]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    while len(seen) < 60:
        told = [int(payload) for _, payload in heard(listener, 1)]
        assert told
        seen += told
        [(now,)] = listener.execute("SELECT n FROM doubled").fetchall()
        assert now >= 2 * seen[-1]
    for thread in threads:
        thread.join()
    assert seen == list(range(1, 61))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT pg_notify('', 'x')", "channel name cannot be empty"),
        ("SELECT pg_notify(NULL, 'x')", "channel name cannot be empty"),
        ("SELECT pg_notify(repeat('c', 64), 'x')", "channel name too long"),
        ("SELECT pg_notify('c', repeat('x', 8000))", "payload string too long"),
        ("SELECT pg_notify('c', repeat('ä', 4000))", "payload string too long"),
        ("NOTIFY c, '" + "x" * 8000 + "'", "payload string too long"),
    ],
)
def test_names_and_payloads_have_limits(
    open_connection: Callable[[], Connection], statement: str, message: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=message):
        open_connection().execute(statement)


def test_what_is_just_short_enough(open_connection: Callable[[], Connection]) -> None:
    connection, notices = open_connection(), list[str]()
    connection.add_notice_handler(lambda notice: notices.append(notice.sqlstate or ""))
    connection.execute("LISTEN " + "c" * 70)
    assert notices == ["42622"]
    connection.execute("SELECT pg_notify(repeat('c', 63), repeat('ä', 3999) || 'x')")
    connection.execute("SELECT pg_notify(repeat('c', 63), NULL)")
    assert heard(connection, 2) == [("c" * 63, "ä" * 3999 + "x"), ("c" * 63, "")]


def test_without_a_connection_nobody_listens(client: Any) -> None:
    with pytest.raises(SqlError) as refused:
        client.run("LISTEN a")
    assert refused.value.sqlstate == "0A000"
    client.run("NOTIFY a")
    client.run("UNLISTEN *")


def test_views_cannot_notify(client: Any) -> None:
    client.run("CREATE TABLE t (id int)")
    with pytest.raises(SqlError):
        client.run("CREATE MATERIALIZED VIEW m AS SELECT pg_notify('a', id::text) FROM t")


def test_who_leaves_is_forgotten(open_connection: Callable[[], Connection], database: Database) -> None:
    listener, speaker = open_connection(), open_connection()
    listener.execute("LISTEN a")
    listener.close()
    channels = database.sessions.channels
    end = time.monotonic() + _SOON
    while channels.listened and time.monotonic() < end:
        time.sleep(0.01)
    assert channels.listened == frozenset()
    speaker.execute("NOTIFY a")


FULL = "SELECT pg_notify('a', repeat('x', 7900) || g) FROM generate_series(1, 4000) g"


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_client_that_does_not_read_holds_nobody_up(
    open_connection: Callable[[], Connection], server: WireServer, database: Database, in_transaction: bool
) -> None:
    deaf = raw(server, b"LISTEN a", *([b"BEGIN"] if in_transaction else []))
    listener, speaker = open_connection(), open_connection()
    listener.execute("LISTEN b")
    for number in range(4):  # the first part is on its way, and the others fill the mailbox
        began = time.monotonic()
        speaker.execute(FULL)
        speaker.execute("NOTIFY b, %s" % repr(str(number)))  # noqa: UP031 - NOTIFY takes no parameters
        assert heard(listener, 1) == [("b", str(number))]
        assert time.monotonic() - began < _SOON
    end = time.monotonic() + 20
    while len(database.sessions.channels.listened) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    assert {channel for _, channel in database.sessions.channels.listened} == {"b"}
    deaf.socket.close()


def test_a_transaction_says_so_much_at_most(open_connection: Callable[[], Connection]) -> None:
    speaker = open_connection()
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        speaker.execute(FULL.replace("4000", "6000"))
    speaker.execute(FULL)


def test_hundreds_of_idle_listeners(open_connection: Callable[[], Connection]) -> None:
    listeners = [open_connection() for _ in range(60)]
    for each in listeners:
        each.execute("LISTEN a")
    speaker = open_connection()
    for number in range(5):
        speaker.execute(f"NOTIFY a, '{number}'")
    for each in listeners:
        assert heard(each, 5) == [("a", str(number)) for number in range(5)]


def test_listeners_that_also_ask(open_connection: Callable[[], Connection]) -> None:
    """Notifications come between answers, never within; each comes once, in order, however the client is served."""
    listener, speaker = open_connection(), open_connection()
    listener.execute("CREATE TABLE kv (k int PRIMARY KEY, v int)")
    listener.execute("INSERT INTO kv SELECT g, g FROM generate_series(1, 100) g")
    listener.execute("LISTEN a")
    got: list[str] = []
    listener.add_notify_handler(lambda notification: got.append(notification.payload))
    stop = threading.Event()

    def speak() -> None:
        number = 0
        while not stop.is_set():
            speaker.execute(f"NOTIFY a, '{number}'")
            number += 1
        speaker.execute(f"NOTIFY a, 'end {number}'")

    thread = threading.Thread(target=speak)
    thread.start()
    for number in range(1, 301):
        key = number % 100 + 1
        assert listener.execute("SELECT v FROM kv WHERE k = %s", (key,), prepare=True).fetchone() == (key,)
        if number % 3 == 0:
            listener.execute("INSERT INTO kv VALUES (%s, %s)", (100 + number, number), prepare=True)
        if number % 50 == 0:
            time.sleep(0.05)
    stop.set()
    thread.join()
    end = time.monotonic() + _SOON
    while not (got and got[-1].startswith("end")) and time.monotonic() < end:
        listener.execute("SELECT 1")
    count = int(got[-1].removeprefix("end "))
    assert got[:-1] == [str(number) for number in range(count)]


def test_a_closed_socket_is_nobody_s_trouble(open_connection: Callable[[], Connection], server: WireServer) -> None:
    gone = raw(server, b"LISTEN a")
    speaker = open_connection()
    gone.socket.shutdown(socket.SHUT_RDWR)
    for _ in range(20):
        speaker.execute("NOTIFY a")
    gone.socket.close()
