"""Short statements within transactions: the answers and rows of the long way, which one with a lock_timeout takes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from risingpy.frontend.session.short_writes import SessionShortWrite
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, all_rows, connect

_DEADLINE = 30.0
_CLIENTS, _TRANSACTIONS = 6, 12
_TABLE = "(id int PRIMARY KEY, n int, s smallint NOT NULL, v varchar(5), c char(8), at timestamp)"
_INSERT = "INSERT INTO {} (id, n, s, at) VALUES (%s, %s, 1, CURRENT_TIMESTAMP)"
_UPDATE = "UPDATE {} SET n = n + %s WHERE id = %s"
_DELETE = "DELETE FROM {} WHERE id = %s"
_SELECT = "SELECT n, v, c FROM {} WHERE id = %s"

_Step = tuple[str, tuple[object, ...]]
_TRANSACTION: tuple[_Step, ...] = (
    (_SELECT, (1,)),
    (_UPDATE, (5, 1)),
    (_SELECT, (1,)),
    (_UPDATE, (7, 1)),
    (_INSERT, (50, 1)),
    (_SELECT, (50,)),
    (_UPDATE, (2, 50)),
    (_SELECT, (50,)),
    (_DELETE, (50,)),
    (_SELECT, (50,)),
    (_UPDATE, (1, 50)),
    ("SAVEPOINT s", ()),
    (_UPDATE, (100, 2)),
    (_DELETE, (3,)),
    (_SELECT, (3,)),
    ("ROLLBACK TO s", ()),
    (_SELECT, (2,)),
    (_SELECT, (3,)),
    ("UPDATE {} SET n = n + 1 WHERE n < 40", ()),  # by the long way, with what the short one has written
    (_SELECT, (1,)),
    (_UPDATE, (1, 4)),
    ("SELECT count(*), sum(n) FROM {}", ()),
    ("UPDATE {} SET v = %s WHERE id = %s", ("long", 4)),
    ("UPDATE {} SET n = NULL WHERE id = %s", (5,)),
    (_UPDATE, (1, 5)),
    (_SELECT, (5,)),
    (_UPDATE, (1, None)),
    (_UPDATE, (1, 99)),
)
_FAILING: tuple[_Step, ...] = (
    (_UPDATE, (2147483647, 1)),
    ("UPDATE {} SET v = %s WHERE id = %s", ("too long", 1)),
    ("UPDATE {} SET s = %s WHERE id = %s", (None, 1)),
    ("INSERT INTO {} (id, n, s) VALUES (%s, 1, %s)", (60, None)),
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of the writes that went the short way in transactions."""
    found: list[int] = []
    run = SessionShortWrite.run

    def noting(self: SessionShortWrite, parameters: Sequence[object | None]) -> int:
        rows = run(self, parameters)
        found.append(rows)
        return rows

    monkeypatch.setattr(SessionShortWrite, "run", noting)
    return found


@pytest.fixture
def filled(client: Client) -> Client:
    for table in ("t", "other"):
        client.run(f"CREATE TABLE {table} {_TABLE}")
        client.run(f"INSERT INTO {table} SELECT g, g * 10, g, 'v' || g, 'c', NULL FROM generate_series(1, 9) AS g")
    client.run("FLUSH")
    return client


def _outcome(connection: Connection, text: str, values: tuple[object, ...]) -> object:
    try:
        found = connection.execute(text, values, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate
    return found.statusmessage, found.fetchall() if found.description else None


def _run(connection: Connection, table: str, steps: Sequence[_Step], end: str) -> list[object]:
    connection.execute("BEGIN")
    answers = [_outcome(connection, text.format(table), values) for text, values in steps]
    return [*answers, _outcome(connection, end, ())]


def _of(client: Client, table: str) -> list[tuple[object, ...]]:
    return [row[:-1] for row in all_rows(client, table)]  # without the time


def test_the_same_as_by_the_long_way(filled: Client, server: WireServer, short: list[int]) -> None:
    filled.run("CREATE MATERIALIZED VIEW early AS SELECT * FROM t")
    with connect(server) as one, connect(server) as two:
        two.execute("SET lock_timeout = '1h'")
        for end in ("ROLLBACK", "COMMIT", "ROLLBACK", "COMMIT"):
            before = len(short)
            mine = _run(one, "t", _TRANSACTION, end)
            taken = len(short) - before
            assert mine == _run(two, "other", _TRANSACTION, end)
            assert len(short) == before + taken  # none by the long way
            for step in _FAILING:
                steps = ((_UPDATE, (1, 2)), step, (_SELECT, (2,)))
                assert _run(one, "t", steps, end) == _run(two, "other", steps, end)
    assert taken >= 9
    filled.run("CREATE MATERIALIZED VIEW late AS SELECT * FROM t")
    assert _of(filled, "t") == _of(filled, "other") == _of(filled, "early") == _of(filled, "late")


def test_simple_texts(filled: Client, server: WireServer, short: list[int]) -> None:
    with connect(server) as connection:
        for number in range(4):
            for text in ("BEGIN", f"UPDATE t SET n = n + -{number} WHERE id = {number + 1}"):
                assert connection.pgconn.exec_(text.encode()).status == psycopg.pq.ExecStatus.COMMAND_OK
            found = connection.pgconn.exec_(f"SELECT n FROM t WHERE id = {number + 1}".encode())
            assert found.get_value(0, 0) == str((number + 1) * 10 - number).encode()
            assert connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.INTRANS
            connection.pgconn.exec_(b"COMMIT")
            assert connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert short
    assert [row[1] for row in _of(filled, "t")][:4] == [10, 19, 28, 37]


def test_what_refuses_writes(filled: Client, server: WireServer, short: list[int]) -> None:
    with connect(server) as connection:
        for _ in range(2):
            assert _run(connection, "t", [(_UPDATE, (1, 1))] * 3, "ROLLBACK")
        assert short
        connection.execute("BEGIN READ ONLY")
        assert _outcome(connection, _UPDATE.format("t"), (1, 1)) == "25006"
        assert _outcome(connection, _UPDATE.format("t"), (1, 1)) == "25P02"
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        filled.run("ALTER TABLE t ADD COLUMN late int")
        for _ in range(3):
            assert _outcome(connection, _UPDATE.format("t"), (1, 1)) == ("UPDATE 1", None)
        connection.execute("COMMIT")
    assert _of(filled, "t")[0][1] == 13


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_locks_deadlocks_and_cancel(filled: Client, server: WireServer, short: list[int]) -> None:
    with connect(server) as one, connect(server) as two, ThreadPoolExecutor(1) as pool:
        for connection in (one, two):
            _run(connection, "t", [(_UPDATE, (1, 1))] * 2, "ROLLBACK")
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        for connection, key in ((one, 1), (two, 2)):
            connection.execute("BEGIN")
            _outcome(connection, _UPDATE.format("t"), (1, key))
        later = pool.submit(_outcome, two, _UPDATE.format("t"), (1, 1))
        _wait_until(lambda: filled.run(waits) == [(1,)])
        assert _outcome(one, _UPDATE.format("t"), (1, 2)) == "40P01"
        assert later.result(_DEADLINE) == ("UPDATE 1", None)
        one.execute("ROLLBACK")
        one.execute("BEGIN")
        later = pool.submit(_outcome, one, _UPDATE.format("t"), (1, 1))
        _wait_until(lambda: filled.run(waits) == [(1,)])
        filled.run(f"SELECT pg_cancel_backend({one.info.backend_pid})")
        assert later.result(_DEADLINE) == "57014"
        for connection in (one, two):
            connection.execute("COMMIT")
    assert [row[1] for row in _of(filled, "t")][:2] == [11, 21]


def test_a_portal_that_goes_on(filled: Client, server: WireServer) -> None:
    """Rows that a client takes one by one come from where they stopped, also between short statements."""
    with connect(server) as connection:
        _run(connection, "t", [(_SELECT, (1,)), (_UPDATE, (1, 1))] * 3, "COMMIT")
        connection.execute("BEGIN")
        with connection.cursor("named") as cursor:
            cursor.execute("SELECT id FROM t ORDER BY id")
            assert cursor.fetchmany(2) == [(1,), (2,)]
            assert _outcome(connection, _UPDATE.format("t"), (1, 1)) == ("UPDATE 1", None)
            assert cursor.fetchmany(2) == [(3,), (4,)]
        connection.execute("COMMIT")


def test_balances_are_equal_at_every_read(client: Client, server: WireServer, short: list[int]) -> None:
    """TPC-B: each transaction moves three balances by the same, and says so in a fourth table."""
    for table in ("accounts", "tellers", "branches"):
        client.run(f"CREATE TABLE {table} (id int PRIMARY KEY, n int)")
        client.run(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 5) AS g")
    client.run("CREATE TABLE history (account int, delta int, at timestamp)")
    tables = ("accounts", "tellers", "branches")
    sums = ", ".join(f"(SELECT sum(n) FROM {table})" for table in tables)
    sums += ", (SELECT coalesce(sum(delta), 0) FROM history)"
    client.run("CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM branches")
    done = threading.Event()

    def work(seed: int) -> int:
        chance, moved = random.Random(seed), 0
        with connect(server) as connection:
            for _ in range(_TRANSACTIONS):
                delta, ends_well = chance.randint(-50, 50), chance.random() < 0.8
                connection.execute("BEGIN")
                for table, key in zip(tables, (chance.randint(1, 5), chance.randint(1, 2), 1), strict=True):
                    old = connection.execute(f"SELECT n FROM {table} WHERE id = %s FOR UPDATE", (key,)).fetchone()
                    connection.execute(f"UPDATE {table} SET n = n + %s WHERE id = %s", (delta, key), prepare=True)
                    new = connection.execute(f"SELECT n FROM {table} WHERE id = %s", (key,), prepare=True).fetchone()
                    assert old is not None and new == (int(str(old[0])) + delta,)
                text = "INSERT INTO history (account, delta, at) VALUES (%s, %s, CURRENT_TIMESTAMP)"
                connection.execute(text, (1, delta), prepare=True)
                connection.execute("COMMIT" if ends_well else "ROLLBACK")
                moved += delta * ends_well
        return moved

    def look() -> int:
        looks = 0
        with connect(server) as connection:
            while not done.is_set():
                found = connection.execute(f"SELECT {sums}, (SELECT n FROM total)").fetchone()
                assert found is not None and len(set(found)) == 1, found
                looks += 1
        return looks

    with ThreadPoolExecutor(_CLIENTS + 1) as pool:
        looking = pool.submit(look)
        try:
            moved = sum(pool.map(work, range(_CLIENTS)))
        finally:
            done.set()
        assert looking.result(_DEADLINE)
    assert len(short) > _CLIENTS * _TRANSACTIONS
    client.run("FLUSH")
    assert client.run(f"SELECT {sums}, (SELECT n FROM total)") == [(moved,) * 5]
