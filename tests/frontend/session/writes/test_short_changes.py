"""UPDATEs and DELETEs of one row that a group takes along: what the long way makes of the row, one after the other."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.group_commit import RowChange, SmallWrite
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, all_rows, connect, noted

_CLIENTS, _STATEMENTS, _KEYS = 8, 60, 5
_DEADLINE = 30.0


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[SmallWrite | TransactionRows]:
    """The changes of single rows that were given to groups."""
    return noted(monkeypatch, RowChange)


@pytest.fixture
def filled(client: Client) -> Client:
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int, b bigint, s smallint NOT NULL, v varchar(5), x varchar, "
        "at timestamp, m numeric(10, 2))"
    )
    client.run(
        "INSERT INTO t SELECT g, g * 10, 5000000000 + g, g, 'v' || g, NULL, timestamp '2026-11-25' + g * interval '1 d'"
        ", g + 0.25 FROM generate_series(1, 9) AS g"
    )
    client.run("FLUSH")
    return client


_STATEMENTS_AND_VALUES: tuple[tuple[str, tuple[object, ...], bool], ...] = (
    ("UPDATE t SET n = n + 1 WHERE id = %s", (1,), True),
    ("UPDATE t SET n = n - %s, b = b * 2 WHERE id = %s", (4, 2), True),
    ("UPDATE t SET v = %s, x = v WHERE id = %s", ("new", 3), True),
    ("UPDATE t SET v = %s WHERE id = %s", ("too long", 3), False),
    ("UPDATE t SET v = NULL, n = NULL WHERE id = %s", (4,), True),
    ("UPDATE t SET n = n + 1 WHERE id = %s", (4,), True),
    ("UPDATE t SET s = %s WHERE id = %s", (None, 5), False),
    ("UPDATE t SET s = s + 1 WHERE id = %s", (5,), False),
    ("UPDATE t SET n = 2147483647 WHERE id = %s", (6,), True),
    ("UPDATE t SET n = n + 1 WHERE id = %s", (6,), False),
    ("UPDATE t SET m = m + 1 WHERE id = %s", (7,), False),
    ("UPDATE t SET at = at + interval '1 d' WHERE id = %s", (7,), False),
    ("UPDATE t SET n = 1 WHERE id = %s", (99,), True),
    ("UPDATE t SET n = 1 WHERE id = %s", (None,), False),
    ("DELETE FROM t WHERE id = %s", (8,), True),
    ("DELETE FROM t WHERE id = %s", (8,), True),
    ("UPDATE t SET n = 1 WHERE id = %s", (8,), True),
    ("INSERT INTO t (id, n, s) VALUES (%s, 1, 1)", (8,), False),
    ("UPDATE t SET n = n + 1 WHERE id = %s", (8,), True),
    ("UPDATE t SET n = n + 1 WHERE id = %s AND n > 100", (9,), False),
)


def _outcome(connection: Connection, text: str, values: tuple[object, ...]) -> str | None:
    try:
        return connection.execute(text, values, prepare=True).statusmessage
    except psycopg.Error as error:
        return error.sqlstate


def test_the_same_as_by_the_long_way(filled: Client, server: WireServer, taken: list[object]) -> None:
    filled.run(
        "CREATE TABLE other (id int PRIMARY KEY, n int, b bigint, s smallint NOT NULL, v varchar(5), x varchar, "
        "at timestamp, m numeric(10, 2))"
    )
    filled.run("INSERT INTO other SELECT * FROM t")
    filled.run("CREATE MATERIALIZED VIEW early AS SELECT * FROM t")
    with connect(server) as connection:
        for text, values, is_short in _STATEMENTS_AND_VALUES:
            for _ in range(3):
                before = len(taken)
                short = _outcome(connection, text, values)
                if is_short:
                    assert len(taken) >= before
                in_other = text.replace("UPDATE t", "UPDATE other").replace("FROM t", "FROM other")
                with connection.transaction(force_rollback=False):
                    connection.execute("SAVEPOINT here")
                    long = _outcome(connection, in_other.replace("INTO t", "INTO other"), values)
                    if long is not None and len(long) == 5:
                        connection.execute("ROLLBACK TO here")
                assert short == long, text
        assert len(taken) > len(_STATEMENTS_AND_VALUES)
    filled.run("CREATE MATERIALIZED VIEW late AS SELECT * FROM t")
    assert all_rows(filled, "t") == all_rows(filled, "other") == all_rows(filled, "early") == all_rows(filled, "late")


def test_a_key_that_all_count_up(filled: Client, server: WireServer, taken: list[object]) -> None:
    """Each client also reads what it has written, or later."""
    filled.run("CREATE MATERIALIZED VIEW early AS SELECT sum(n) AS n FROM t WHERE id = 1")
    failures: list[object] = []

    def work() -> None:
        try:
            with connect(server) as connection:
                seen = -1
                for _ in range(_STATEMENTS):
                    said = connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (1,), prepare=True)
                    row = connection.execute("SELECT n FROM t WHERE id = %s", (1,), prepare=True).fetchone()
                    if said.statusmessage != "UPDATE 1" or row is None or not int(str(row[0])) > seen:
                        failures.append((said.statusmessage, row, seen))
                        return
                    seen = int(str(row[0]))
        except Exception as error:
            failures.append(error)

    _in_threads(work)
    assert not failures
    assert len(taken) > _CLIENTS * _STATEMENTS / 2
    filled.run("CREATE MATERIALIZED VIEW late AS SELECT sum(n) AS n FROM t WHERE id = 1")
    wanted = [(10 + _CLIENTS * _STATEMENTS,)]
    filled.run("FLUSH")
    assert filled.run("SELECT n FROM t WHERE id = 1") == wanted
    assert all_rows(filled, "early") == all_rows(filled, "late") == wanted


def test_a_mix_on_few_keys(filled: Client, server: WireServer) -> None:
    """Every row that came and every row that went is accounted for: by what each statement said that it has found."""
    filled.run("CREATE TABLE few (id int PRIMARY KEY, n int)")
    filled.run("CREATE MATERIALIZED VIEW early AS SELECT count(*) AS c, sum(n) AS n FROM few")
    failures: list[object] = []
    net: list[int] = []  # deletes count, of rows that somebody else's INSERT … DO NOTHING has made
    numbers = iter(range(_CLIENTS))

    def work() -> None:
        try:
            chosen, rows = random.Random(next(numbers)), 0
            with connect(server) as connection:
                for _ in range(_STATEMENTS):
                    key = chosen.randrange(_KEYS)
                    match chosen.randrange(4):
                        case 0:
                            text = "INSERT INTO few VALUES (%s, 0) ON CONFLICT DO NOTHING"
                            rows += connection.execute(text, (key,), prepare=True).rowcount
                        case 1:
                            rows -= connection.execute("DELETE FROM few WHERE id = %s", (key,), prepare=True).rowcount
                        case 2:
                            with connection.transaction():
                                connection.execute("UPDATE few SET n = n - 1 WHERE id = %s", (key,))
                                connection.execute("UPDATE few SET n = n + 1 WHERE id = %s", (key,))
                        case _:
                            connection.execute("UPDATE few SET n = n + 0 WHERE id = %s", (key,), prepare=True)
            net.append(rows)
        except Exception as error:
            failures.append(error)

    _in_threads(work)
    assert not failures
    filled.run("CREATE MATERIALIZED VIEW late AS SELECT count(*) AS c, sum(n) AS n FROM few")
    rows = all_rows(filled, "few")
    assert len(rows) == sum(net)
    assert all(n == 0 for _, n in rows)
    assert all_rows(filled, "early") == all_rows(filled, "late") == [(len(rows), 0 if rows else None)]


def test_who_has_the_row_is_waited_for(filled: Client, server: WireServer, database: Database) -> None:
    with connect(server) as holder, connect(server) as waiting, connect(server) as other:
        for connection, key in ((waiting, 1), (other, 2)):
            for _ in range(3):
                connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (key,), prepare=True)
        with holder.transaction():
            holder.execute("UPDATE t SET n = n + 100 WHERE id = 1")
            thread = threading.Thread(
                target=lambda: waiting.execute("UPDATE t SET n = n + 1 WHERE id = %s", (1,), prepare=True)
            )
            thread.start()
            deadline = time.monotonic() + _DEADLINE
            while not any(each.waits_since for each in database.writes.locks.seen()):
                assert time.monotonic() < deadline
                time.sleep(0.005)
            other.execute("UPDATE t SET n = n + 1 WHERE id = %s", (2,), prepare=True)  # it does not wait with it
            waiting_for_it = connect(server)
            with waiting_for_it, pytest.raises(psycopg.errors.LockNotAvailable):
                waiting_for_it.execute("SET lock_timeout = 50")
                for _ in range(3):
                    waiting_for_it.execute("DELETE FROM t WHERE id = %s", (1,), prepare=True)
        thread.join(_DEADLINE)
        assert not thread.is_alive()
    filled.run("FLUSH")
    assert filled.run("SELECT n FROM t WHERE id < 3 ORDER BY id") == [(114,), (24,)]
    assert not database.writes.locks.seen()


def test_another_form_of_the_table(filled: Client, server: WireServer) -> None:
    with connect(server) as connection:
        for change in ("ADD COLUMN late int DEFAULT 7", "DROP COLUMN x", "ADD CONSTRAINT few CHECK (n <> 14)"):
            connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (1,), prepare=True)
            filled.run(f"ALTER TABLE t {change}")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (1,), prepare=True)
        assert connection.execute("SELECT n, late FROM t WHERE id = %s", (1,)).fetchone() == (13, 7)


def _in_threads(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * _DEADLINE)
    assert not any(thread.is_alive() for thread in threads)
