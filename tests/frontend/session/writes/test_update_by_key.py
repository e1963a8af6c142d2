"""UPDATE and DELETE of one row by its key: they lock the row, and change what the log has last for it."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable

import psycopg
import pytest

from risingpy.errors import DeadlockDetected, QueryCanceled, SqlError
from tests.frontend.session.conftest import Client
from tests.held_epochs import HeldRunner
from tests.held_epochs import database as database
from tests.held_epochs import runner as runner
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

Connect = Callable[[], Client]


class Waiting:
    """A statement that another thread runs."""

    def __init__(self, client: Client, *texts: str) -> None:
        self.error: SqlError | None = None
        self._thread = threading.Thread(target=self._run, args=(client, texts))
        self._thread.start()

    def _run(self, client: Client, texts: tuple[str, ...]) -> None:
        try:
            for text in texts:
                client.run(text)
        except SqlError as error:
            self.error = error

    def is_waiting(self) -> bool:
        self._thread.join(0.3)
        return self._thread.is_alive()

    def ends(self) -> SqlError | None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.error


def test_no_statement_waits_for_an_epoch(runner: HeldRunner, connect: Connect) -> None:
    """What one session has written, the next one changes, while no epoch runs at all."""
    one, two = connect(), connect()
    one.run("CREATE TABLE t (k int PRIMARY KEY, v int, s varchar, n numeric(10, 2), UNIQUE_ varchar DEFAULT 'd')")
    one.run("CREATE MATERIALIZED VIEW total AS SELECT sum(v) AS v, count(*) AS c FROM t")
    one.run("INSERT INTO t VALUES (1, 10, 'a', 1.5), (2, 20, 'b', 2.5); FLUSH")
    runner.may_run.clear()
    for step in range(3):
        assert one.run("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v") == [(11 + 2 * step,)]
        assert two.run("UPDATE t SET v = v + 1 WHERE k = $1 RETURNING v, k", 1, oids=(23,)) == [(12 + 2 * step, 1)]
    assert two.run("UPDATE t SET s = s || 'x' || v, n = n * 2 WHERE k = 1 RETURNING s, n::text") == [("ax16", "3.00")]
    assert one.run("UPDATE t SET s = upper(s) WHERE k = 1 AND s LIKE 'ax%' RETURNING s") == [("AX16",)]
    assert one.run("UPDATE t SET v = 0 WHERE k = 1 AND s LIKE 'ax%' RETURNING s") == []
    assert one.run("UPDATE t SET v = 0 WHERE k = 1 AND v > 100") == [] and one.tag == "UPDATE 0"
    one.run("DELETE FROM t WHERE k = 2")
    assert one.tag == "DELETE 1"
    two.run("DELETE FROM t WHERE k = 2")
    assert two.tag == "DELETE 0"
    two.run("INSERT INTO t VALUES (2, 5, 'new', 0), (3, 7, 'c', 0)")
    assert one.run("DELETE FROM t WHERE k = 2 RETURNING v, s, unique_") == [(5, "new", "d")]
    assert one.run("UPDATE t SET v = NULL WHERE k = 3 RETURNING v") == [(None,)]
    assert two.run("UPDATE t SET v = v + 1 WHERE k = 3 RETURNING v") == [(None,)]
    one.run("UPDATE t SET v = 1 WHERE k = 1 + 1")
    assert one.tag == "UPDATE 0"
    assert one.run("UPDATE t SET v = 1 WHERE k = $1 RETURNING k", None, oids=(23,)) == [] and one.tag == "UPDATE 0"
    upsert = "INSERT INTO t VALUES (4, 40), (1, 0) ON CONFLICT (k) DO UPDATE SET v = t.v + 100 WHERE t.k <> 9"
    assert one.run(f"{upsert} RETURNING k, v") == [(4, 40), (1, 116)]
    assert two.run(f"{upsert} RETURNING k, v") == [(4, 140), (1, 216)]
    assert one.run("INSERT INTO t VALUES (2, 2), (4, 4) ON CONFLICT DO NOTHING RETURNING k") == [(2,)]
    runner.may_run.set()
    assert two.run("SELECT k, v, s FROM t ORDER BY k") == [
        (1, 216, "AX16"), (2, 2, None), (3, None, "c"), (4, 140, None)
    ]  # fmt: skip
    assert two.run("SELECT * FROM total") == [(358, 4)]


def test_a_transaction_changes_its_own_rows_and_undoes_it(runner: HeldRunner, connect: Connect) -> None:
    one, two = connect(), connect()
    one.run("CREATE TABLE t (k int PRIMARY KEY, v int)")
    one.run("INSERT INTO t SELECT x, 0 FROM generate_series(1, 5) AS x; FLUSH")
    runner.may_run.clear()
    two.run("UPDATE t SET v = 10 WHERE k = 1")
    one.run("BEGIN")
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v") == [(11,)]
    one.run("SAVEPOINT s")
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v") == [(12,)]
    one.run("DELETE FROM t WHERE k = 2")
    one.run("INSERT INTO t VALUES (9, 9)")
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 9 RETURNING v") == [(10,)]
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 2 RETURNING v") == []
    one.run("ROLLBACK TO s")
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v") == [(12,)]
    assert one.run("UPDATE t SET v = v + 1 WHERE k = 9 RETURNING v") == []
    one.run("COMMIT")
    assert two.run("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v") == [(13,)]
    one.run("BEGIN; UPDATE t SET v = 100 WHERE k = 3; ROLLBACK")
    runner.may_run.set()
    assert one.run("SELECT * FROM t ORDER BY k") == [(1, 13), (2, 0), (3, 0), (4, 0), (5, 0)]


def test_rows_of_a_large_statement_are_found(runner: HeldRunner, connect: Connect) -> None:
    """Their keys are not kept: an UPDATE of one of them waits for their epoch, one after it does not."""
    one, two = connect(), connect()
    one.run("CREATE TABLE t (k int PRIMARY KEY, v int)")
    one.run("FLUSH")
    runner.may_run.clear()
    one.run("INSERT INTO t SELECT x, x FROM generate_series(1, 1000) AS x")
    two.run("INSERT INTO t VALUES (5, 0)")
    assert two.run("UPDATE t SET v = v + 1 WHERE k = 5 RETURNING v") == [(1,)]
    waiting = Waiting(two, "UPDATE t SET v = v + 1 WHERE k = 6")
    assert waiting.is_waiting()
    runner.may_run.set()
    assert waiting.ends() is None
    one.run("BEGIN; INSERT INTO t SELECT x, 0 FROM generate_series(1, 1000) AS x")
    assert one.run("UPDATE t SET v = v + 7 WHERE k = 6 RETURNING v") == [(7,)]
    one.run("ROLLBACK")
    assert one.run("SELECT v FROM t WHERE k IN (5, 6, 7) ORDER BY k") == [(1,), (7,), (7,)]


def test_only_the_row_is_locked(connect: Connect) -> None:
    one, two, three = connect(), connect(), connect()
    one.run("CREATE TABLE t (k varchar PRIMARY KEY, v int)")
    one.run("INSERT INTO t VALUES ('a', 0), ('b', 0), ('c', 0)")
    one.run("BEGIN; UPDATE t SET v = 1 WHERE k = 'a'")
    assert Waiting(two, "UPDATE t SET v = 2 WHERE k = 'b'", "INSERT INTO t VALUES ('d', 0)").ends() is None
    for text in (
        "UPDATE t SET v = v + 10 WHERE k = 'a'",
        "DELETE FROM t WHERE k = 'a'",
        "INSERT INTO t VALUES ('c', 3), ('a', 20)",
        "UPDATE t SET v = v + 1",
        "INSERT INTO t SELECT x::varchar, 0 FROM generate_series(1, 1000) AS x",
        "ALTER TABLE t ADD COLUMN w int",
        "DROP TABLE t",
    ):
        waiting = Waiting(two, text)
        assert waiting.is_waiting(), text
        locks = three.run(
            "SELECT locktype, mode, granted FROM pg_locks WHERE relation = 't'::regclass ORDER BY 1, granted DESC"
        )
        assert ("relation", "RowExclusiveLock", True) in locks and not locks[-1][2], (text, locks)
        two.session.cancel()
        assert isinstance(waiting.ends(), QueryCanceled), text
        two.run("ROLLBACK")
    waiting = Waiting(two, "UPDATE t SET v = v + 10 WHERE k = 'a'")
    assert waiting.is_waiting()
    assert ("tuple", "ExclusiveLock", False) in three.run("SELECT locktype, mode, granted FROM pg_locks")
    one.run("COMMIT")
    assert waiting.ends() is None
    assert three.run("SELECT * FROM t ORDER BY k") == [("a", 11), ("b", 2), ("c", 0), ("d", 0)]
    assert three.run("SELECT * FROM pg_locks WHERE relation = 't'::regclass") == []


def test_rows_locked_crosswise_are_a_deadlock(connect: Connect) -> None:
    one, two = connect(), connect()
    one.run("CREATE TABLE t (k int PRIMARY KEY, v int)")
    one.run("INSERT INTO t VALUES (1, 0), (2, 0)")
    one.run("BEGIN; UPDATE t SET v = 1 WHERE k = 1")
    begun = threading.Event()
    failed: list[SqlError] = []

    def other() -> None:
        two.run("BEGIN; UPDATE t SET v = 2 WHERE k = 2")
        begun.set()
        try:
            two.run("UPDATE t SET v = 2 WHERE k = 1; COMMIT")
        except SqlError as error:
            failed.append(error)
            two.run("ROLLBACK")

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(10)
    time.sleep(0.2)
    try:
        one.run("UPDATE t SET v = 1 WHERE k = 2; COMMIT")
    except SqlError as error:
        failed.append(error)
        one.run("ROLLBACK")
    thread.join(20)
    assert [type(error) for error in failed] == [DeadlockDetected]
    assert failed[0].detail is not None and "a row of relation" in failed[0].detail
    values = one.run("SELECT v FROM t")
    assert values in ([(1,), (1,)], [(2,), (2,)])


def test_a_counter_has_every_increment(connect: Connect) -> None:
    """Beside statements that lock the table, rows that come and go, and an ALTER TABLE."""
    setup = connect()
    setup.run("CREATE TABLE t (k int PRIMARY KEY, v int)")
    setup.run("CREATE MATERIALIZED VIEW total AS SELECT sum(v) AS v FROM t WHERE k <= 3")
    setup.run("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
    done: list[int] = []
    errors: list[SqlError] = []

    def count(seed: int) -> None:
        client, chance = connect(), random.Random(seed)
        for step in range(40):
            key = chance.choice((1, 1, 1, 2, 3))
            texts = {
                0: f"BEGIN; UPDATE t SET v = v + 1 WHERE k = {key}; COMMIT",
                1: f"BEGIN; UPDATE t SET v = v + 100 WHERE k = {key}; ROLLBACK",
                2: "UPDATE t SET v = v + 1 WHERE k <= 3",
                3: f"DELETE FROM t WHERE k = {10 + seed}; INSERT INTO t VALUES ({10 + seed}, 0)",
                5: f"INSERT INTO t VALUES ({key}, 0), (5, 0) ON CONFLICT (k) DO UPDATE SET v = t.v + 1",
                6: f"BEGIN; INSERT INTO t VALUES ({key}, 0) ON CONFLICT (k) DO UPDATE SET v = t.v + 1; COMMIT",
                4: f"INSERT INTO t SELECT x, 0 FROM generate_series({1000 * seed}, {1000 * seed + 400}) AS x",
            }
            kind = chance.randrange(20)
            try:
                client.run(texts.get(kind, f"UPDATE t SET v = v + 1 WHERE k = {key}"))
                done.append({1: 0, 2: 3, 3: 0, 4: 0}.get(kind, 1))
            except SqlError as error:
                if error.sqlstate != "40001":  # altered while it ran
                    errors.append(error)
                    raise
                client.run("ROLLBACK")
            if seed == 1 and step == 20:
                client.run("ALTER TABLE t ADD COLUMN w int")

    threads = [threading.Thread(target=count, args=(seed,)) for seed in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert errors == [], [error.detail for error in errors]
    assert setup.run("SELECT sum(v) FROM t WHERE k <= 3") == [(sum(done),)]
    assert setup.run("SELECT v FROM total") == [(sum(done),)]


KEYS: dict[str, Callable[[int], str]] = {
    "int": str,
    "varchar": lambda i: f"'k{i}'",
    "uuid": lambda i: f"'{uuid.UUID(int=i)}'",
    "timestamptz": lambda i: f"'2024-01-{1 + i % 28:02} 10:00:00+00'",
    "numeric(10, 2)": lambda i: f"{i}.50",
    "date": lambda i: f"'2024-02-{1 + i % 28:02}'",
    "double precision": lambda i: f"{i}.25",  # no keys to lock: the table is
}


@pytest.mark.parametrize("type_", KEYS)
def test_random_histories_as_in_postgres(connect: Connect, postgres_oracle: PostgresOracle, type_: str) -> None:
    """The same statements, one after the other in three sessions, give the same answers and rows."""
    chance, key_of = random.Random(type_), KEYS[type_]
    ours = [connect() for _ in range(3)]
    with postgres_oracle.connect() as theirs:
        theirs.autocommit = True
        setup = f"CREATE TABLE h (k {type_}, j int, v int, s varchar, n numeric, PRIMARY KEY (k, j))"
        theirs.execute("DROP TABLE IF EXISTS h")
        theirs.execute(setup)
        ours[0].run(setup)
        ours[0].run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS c, sum(v) AS v, max(s) AS s FROM h")
        present: set[int] = set()
        for _ in range(80):
            number = chance.randrange(12)
            text = _statement(chance, key_of(number), number % 3, is_there=number in present)
            if text.startswith("INSERT"):
                present.add(number)
            elif text.startswith("DELETE"):
                present.discard(number)
            _compare(chance.choice(ours), theirs, text)
        rows = "SELECT k::text, j, v, s, n::text FROM h ORDER BY 1, 2"
        assert ours[1].run(rows) == theirs.execute(rows).fetchall()
        assert ours[2].run("SELECT * FROM m") == theirs.execute("SELECT count(*), sum(v), max(s) FROM h").fetchall()


def _statement(chance: random.Random, key: str, j: int, *, is_there: bool) -> str:
    if not is_there and chance.random() < 0.6:
        return f"INSERT INTO h VALUES ({key}, {j}, {chance.randrange(100)}, 'x', {chance.randrange(9)}.50) RETURNING v"
    if chance.random() < 0.1:
        return f"DELETE FROM h WHERE k = {key} AND j = {j} RETURNING v, s, n::text"
    if chance.random() < 0.1:
        return f"UPDATE h SET v = v + 1 WHERE j = {j}"
    assignment = chance.choice(
        (
            "v = v + 1",
            "v = v * 2 - 1, s = 'y'",
            "s = s || v",
            "n = n * 1.5",
            "n = n + v",
            "v = CASE WHEN v > 50 THEN v - 50 ELSE NULL END",
            "v = coalesce(v, 7)",
            "s = NULL",
            "v = length(s), n = v",
            "v = DEFAULT",
        )
    )
    more = chance.choice(("", "", " AND v > 20", " AND s IS NOT NULL", " AND n < 100"))
    return f"UPDATE h SET {assignment} WHERE j = {j} AND k = {key}{more} RETURNING j, v, s, n::text"


def _compare(ours: Client, theirs: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    expected = theirs.execute(text)
    rows = expected.fetchall() if expected.description else []
    assert ours.run(text) == rows, text
    assert ours.tag == expected.statusmessage, text
