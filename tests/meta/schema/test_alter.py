"""ALTER TABLE next to other sessions, and across crashes: one form of the table or the other, never a mixture."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import DependentObjectsStillExist, FeatureNotSupported, SerializationFailure, SqlError
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.committer import Committer
from tests.meta.conftest import Client, Server


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


@pytest.fixture
def client(server: Server) -> Client:
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar)")
    client.run("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT b, sum(a) AS s FROM t GROUP BY b")
    return client


def test_one_of_two_sessions_wins(server: Server, client: Client) -> None:
    """Both plan on the same version; the second gets the table when the first has changed it."""
    table = server.database.reads.catalog.find("t", "public", ())
    assert table is not None
    planned = threading.Barrier(3)
    original = type(server.database.writes).table_lock

    def meet_first(self: Any, table_id: int, *given: Any, **named: Any) -> Any:
        planned.wait(10)
        return original(self, table_id, *given, **named)

    server.database.writes.table_lock = meet_first.__get__(server.database.writes)  # type: ignore[method-assign]

    def alter(sql: str) -> None:
        server.client().run(sql)

    statements = ("ALTER TABLE t ADD COLUMN c int", "ALTER TABLE t ADD COLUMN d int")
    sides = [in_thread(partial(alter, sql)) for sql in statements]
    planned.wait(10)
    for thread, _ in sides:
        thread.join(20)
    del server.database.writes.table_lock
    errors = [error for _, found in sides for error in found]
    assert len(errors) == 1
    assert isinstance(errors[0], SerializationFailure)
    assert errors[0].hint == "Run the statement again."
    assert len(client.run("SELECT * FROM t WHERE id = 1")[0]) == 4


def test_a_transaction_that_wrote_before_gets_40001_and_writes_nothing(server: Server, client: Client) -> None:
    other = server.client()
    other.run("BEGIN")
    other.run("INSERT INTO t VALUES (3, 30, 'z')")
    client.run("ALTER TABLE t DROP COLUMN b CASCADE")
    with pytest.raises(SerializationFailure):
        other.run("COMMIT")
    other.session.fail()
    assert client.run("SELECT * FROM t ORDER BY id") == [(1, 10), (2, 20)]


def test_an_update_in_a_transaction_makes_alter_wait(server: Server, client: Client) -> None:
    other = server.client()
    other.run("BEGIN")
    other.run("UPDATE t SET a = a + 1")
    thread, errors = in_thread(lambda: server.client().run("ALTER TABLE t ADD COLUMN c int DEFAULT 1"))
    thread.join(0.3)
    assert thread.is_alive()
    other.run("COMMIT")
    thread.join(10)
    assert not errors
    assert client.run("SELECT * FROM t ORDER BY id") == [(1, 11, "x", 1), (2, 21, "y", 1)]


def test_statements_planned_on_the_old_columns_are_planned_again(server: Server, client: Client) -> None:
    session = client.session
    [insert] = session.split("INSERT INTO t (id, a) VALUES (5, 50)")
    [select] = session.split("SELECT id, a FROM t WHERE id = 1")
    [star] = session.split("SELECT * FROM t")
    prepared = [session.prepare(statement, ()) for statement in (insert, select, star)]
    server.client().run("ALTER TABLE t ADD COLUMN c int DEFAULT 9")
    session.execute(prepared[0], ())
    result = session.execute(prepared[1], ())
    assert result.batches is not None
    assert next(result.batches).to_pylist() == [{"c0": 1, "c1": 10}]
    with pytest.raises(FeatureNotSupported, match="cached plan must not change result type"):
        session.execute(prepared[2], ())
    assert client.run("SELECT c FROM t WHERE id = 5") == [(9,)]


def test_a_parameter_keeps_the_type_that_it_was_sent_with(server: Server, client: Client) -> None:
    [insert] = client.session.split("INSERT INTO t (id, a) VALUES ($1, $2)")
    prepared = client.session.prepare(insert, ())
    server.client().run("ALTER TABLE t ADD COLUMN z int; DROP MATERIALIZED VIEW m")
    server.client().run("ALTER TABLE t ALTER COLUMN a TYPE varchar")
    client.session.execute(prepared, (6, 60))
    assert client.run("SELECT a FROM t WHERE id = 6") == [("60",)]


@pytest.mark.on_spark
def test_writers_under_load_lose_nothing(server: Server, client: Client) -> None:
    """Rows come and change in two threads while a third adds and drops columns: each statement counts once, whole."""
    client.run("CREATE TABLE load (id int PRIMARY KEY, g int, v int)")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT g, count(*) AS n, sum(v) AS s FROM load GROUP BY g")
    written = [0, 0]
    stop = threading.Event()

    def insert(number: int) -> None:
        mine = server.client()
        while not stop.is_set():
            first = number * 1_000_000 + written[number] * 3
            mine.run(f"INSERT INTO load (id, g, v) VALUES ({first}, 0, 1), ({first + 1}, 1, 1), ({first + 2}, 2, 1)")
            mine.run(f"UPDATE load SET v = v + 1 WHERE id = {first}")
            written[number] += 1

    def alter() -> None:
        mine = server.client()
        for number in range(12):
            mine.run(f"ALTER TABLE load ADD COLUMN x{number} int DEFAULT {number}")
            if number % 2:
                mine.run(f"ALTER TABLE load DROP COLUMN x{number - 1}")

    writers = [in_thread(lambda number=number: insert(number)) for number in range(2)]  # type: ignore[misc]
    altering, errors = in_thread(alter)
    altering.join(60)
    stop.set()
    for thread, found in writers:
        thread.join(60)
        errors += found
    assert errors == []
    client.run("FLUSH")
    total = sum(written)
    expected = [(0, total, total * 2), (1, total, total), (2, total, total)]
    assert client.run("SELECT * FROM sums ORDER BY g") == expected
    assert client.run("SELECT g, count(*), sum(v) FROM load GROUP BY g ORDER BY g") == expected
    assert client.run("SELECT count(*) FROM load WHERE x11 = 11 AND x1 = 1") == [(total * 3,)]


OLD = [(1, 10, "x"), (2, 20, "y"), (3, 30, "x")]
NEW = [(1, 10, "x", 7), (2, 20, "y", 7), (3, 30, "x", 7)]


def test_a_crash_at_any_step_leaves_the_old_table_or_the_new_one(
    server: Server, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory as it is at every step of the swap, and of the epochs around it, is opened as after a crash."""
    copies: list[Path] = []

    def copy() -> None:
        copies.append(tmp_path / f"crash{len(copies)}")
        shutil.copytree(server.data_dir, copies[-1])

    def around(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def wrapped(self: Any, *arguments: Any, **options: Any) -> Any:
            copy()
            answer = original(self, *arguments, **options)
            copy()
            return answer

        monkeypatch.setattr(owner, name, wrapped)

    around(Committer, "_write_graph")
    around(DurableState, "commit")
    around(Committer, "commit_epoch")
    client.run("INSERT INTO t VALUES (3, 30, 'x')")
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 7")
    client.run("INSERT INTO t (id, a, b) VALUES (4, 40, 'y')")
    client.run("FLUSH")
    monkeypatch.undo()
    server.stop()
    assert len(copies) >= 10
    seen = set()
    for directory in copies:
        crashed = Server(directory)
        try:
            found = crashed.client()
            found.run("FLUSH")
            rows = sorted(found.run("SELECT * FROM t"))
            assert rows in (OLD, NEW, [*NEW, (4, 40, "y", 7)])
            seen.add(len(rows[0]))
            found.run("INSERT INTO t (id, a, b) VALUES (9, 90, 'x')")
            expected = sorted(found.run("SELECT b, sum(a) FROM t GROUP BY b"))
            assert sorted(found.run("SELECT * FROM m")) == expected
        finally:
            crashed.stop()
    assert seen == {3, 4}
    server.start()


def test_ids_are_not_used_again_after_a_restart(server: Server, client: Client) -> None:
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 1")
    client.run("ALTER TABLE t DROP COLUMN c")
    server.restart()
    again = server.client()
    again.run("ALTER TABLE t ADD COLUMN c int")
    assert again.run("SELECT c FROM t") == [(None,), (None,)]


def test_altering_while_a_view_is_being_made(server: Server, client: Client) -> None:
    """A view in creation reads the table through its scan like any other: it is pointed to the new form."""
    client.run("CREATE TABLE big (x int, id int PRIMARY KEY, y int)")
    client.run("INSERT INTO big SELECT a.id, a.id, 1 FROM t a")
    held = threading.Event()
    original = server.runner.run

    def slowly(descriptor: Any, stages: Any) -> Any:
        held.wait(5)
        return original(descriptor, stages)

    server.runner.run = slowly  # type: ignore[method-assign]
    making, errors = in_thread(lambda: server.client().run("CREATE MATERIALIZED VIEW ys AS SELECT y FROM big"))
    altering, more = in_thread(lambda: server.client().run("ALTER TABLE big DROP COLUMN x"))
    held.set()
    making.join(20)
    altering.join(20)
    assert errors + more == []
    client.run("INSERT INTO big VALUES (7, 8)")
    assert sorted(client.run("SELECT y FROM ys")) == [(1,), (1,), (8,)]


def test_a_failed_table_cannot_be_altered(server: Server, client: Client) -> None:
    server.runner.faults.append(_failure(server))
    client.run("INSERT INTO t VALUES (8, 8, 'z')")
    with pytest.raises(SqlError):
        client.run("ALTER TABLE t ADD COLUMN c int")


def _failure(server: Server) -> Exception:
    from risingpy.executors.epoch.stage_runner import FragmentFailed

    table = server.database.reads.catalog.find("t", "public", ())
    assert table is not None
    return FragmentFailed(table.relation_id, 0, SqlError("broken"))


def test_all_that_depends_on_a_column_is_named(client: Client) -> None:
    client.run("CREATE TABLE d (id int PRIMARY KEY, a int, b int, g int AS (a + b))")
    client.run("CREATE MATERIALIZED VIEW reads_a AS SELECT id, a FROM d")
    client.run("CREATE VIEW over_it AS SELECT a FROM reads_a")
    client.run("CREATE INDEX by_a ON d (a)")
    with pytest.raises(DependentObjectsStillExist) as caught:
        client.run("ALTER TABLE d DROP COLUMN a")
    assert caught.value.message == "cannot drop column a of table d because other objects depend on it"
    assert (caught.value.detail or "").splitlines() == [
        "column g of table d depends on column a of table d",
        "materialized view reads_a depends on column a of table d",
        "index by_a depends on column a of table d",
        "view over_it depends on materialized view reads_a",
    ]
    client.run("ALTER TABLE d DROP COLUMN a CASCADE")
    assert client.run("SELECT * FROM d") == []
    assert client.run("SELECT name FROM rw_materialized_views WHERE name = 'reads_a'") == []
