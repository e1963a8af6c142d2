"""The database through its sessions: recovery, failing jobs, atomic groups, drops."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import (
    DeadlockDetected,
    DuplicateRelation,
    NumericValueOutOfRange,
    QueryCanceled,
    SerializationFailure,
    SqlError,
    StalePlan,
)
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.epoch.task import EpochWorker
from risingpy.meta.epochs.runner import EpochFailed, EpochReport
from risingpy.meta.writing.dml_log import TableChange
from risingpy.plan.recursion.loops import Stages
from risingpy.storage.engine.meta_store import DataDirectoryInUse
from tests.idleness import assert_falls_idle
from tests.meta.conftest import Server

TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v INT)"
VIEW = "CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g"


@pytest.mark.on_spark
def test_everything_is_there_after_a_restart(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    client.run("INSERT INTO t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5)")
    client.run("FLUSH")
    server.restart()
    assert sorted(server.client().run("SELECT * FROM m")) == [(1, 2, 30), (2, 1, 5)]
    server.client().run("INSERT INTO t VALUES (4, 2, 1)")
    assert sorted(server.client().run("FLUSH; SELECT * FROM m")) == [(1, 2, 30), (2, 2, 6)]


def test_logged_rows_that_no_epoch_has_taken_are_applied_after_a_restart(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    server.runner.faults = [EpochFailed("no engine")] * 3
    client.run("INSERT INTO t VALUES (1, 1, 10)")
    server.restart()
    assert server.client().run("FLUSH; SELECT * FROM m") == [(1, 1, 10)]


def test_what_was_acknowledged_before_a_restart_is_read_after_it(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    server.runner.faults = [EpochFailed("no engine")] * 3
    client.run("INSERT INTO t VALUES (1, 1, 10)")
    server.restart(EpochFailed("starting"), EpochFailed("starting"))
    assert server.client().run("SELECT * FROM t") == [(1, 1, 10)]
    assert server.client().run("SELECT * FROM m") == [(1, 1, 10)]


def test_an_epoch_whose_engine_fails_is_tried_again(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    server.runner.faults = [EpochFailed("no engine"), EpochFailed("still none")]
    client.run("INSERT INTO t VALUES (1, 1, 10)")
    assert client.run("SELECT * FROM m") == [(1, 1, 10)]


def test_a_failing_view_stops_alone_and_its_reason_is_told(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    client.run("CREATE MATERIALIZED VIEW other AS SELECT id FROM t")
    view = next(r for r in server.database.reads.catalog.relations.values() if r.name == "m")
    server.runner.faults = [FragmentFailed(view.relation_id, 1, NumericValueOutOfRange("too much"))]
    client.run("INSERT INTO t VALUES (1, 1, 10)")
    assert client.run("SELECT * FROM other") == [(1,)]
    assert server.database.reads.catalog.relations[view.relation_id].has_stopped
    assert client.run("SELECT * FROM m") == []
    told = client.session.drain_notices()[-1].message
    assert told.startswith('materialized view "m" has stopped because of an error')
    client.run("DROP MATERIALIZED VIEW m")
    client.run(VIEW)
    assert client.run("SELECT * FROM m") == [(1, 1, 10)]


def test_a_view_that_fails_while_it_is_made_leaves_nothing(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    next_id = server.database.reads.state.next_id
    server.runner.faults = [FragmentFailed(next_id, 1, NumericValueOutOfRange("too much"))]
    with pytest.raises(NumericValueOutOfRange):
        client.run(VIEW)
    client.run(VIEW)
    assert client.run("SELECT * FROM m") == []


def test_creating_a_view_can_be_cancelled(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client()
    client.run(TABLE)
    never_ready = EpochReport(backfill={server.database.reads.state.next_id: (1, False)})

    def run(descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        time.sleep(0.01)
        return never_ready

    monkeypatch.setattr(server.runner, "run", run)
    timer = threading.Timer(0.3, client.session.cancel)
    timer.start()
    with pytest.raises(QueryCanceled):
        client.run(VIEW)
    assert [r.name for r in server.database.reads.catalog.relations.values()] == ["t"]


@pytest.fixture
def long_epoch(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Epochs wait for this."""
    may_end = threading.Event()
    original = server.runner.run

    def run(descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        may_end.wait(20)
        return original(descriptor, stages)

    monkeypatch.setattr(server.runner, "run", run)
    yield may_end
    may_end.set()


def cancelled_after(server: Server, sql: str, seconds: float) -> float:
    """Runs and cancels a statement; returns how long it then took to answer."""
    client, cancelled_at = server.client(), 0.0

    def cancel() -> None:
        nonlocal cancelled_at
        cancelled_at = time.monotonic()
        client.session.cancel()

    threading.Timer(seconds, cancel).start()
    with pytest.raises(QueryCanceled):
        client.run(sql)
    return time.monotonic() - cancelled_at


def test_cancelling_does_not_wait_for_the_running_epoch(server: Server, long_epoch: threading.Event) -> None:
    long_epoch.set()
    server.client().run(TABLE)
    server.client().run("INSERT INTO t VALUES (1, 1, 1); FLUSH")
    long_epoch.clear()
    assert cancelled_after(server, VIEW, 0.3) < 1.5
    waiting = threading.Thread(target=server.client().run, args=(VIEW,))
    waiting.start()
    long_epoch.set()
    waiting.join()  # its name is free again, whenever it is asked for
    assert [r.name for r in server.database.reads.catalog.relations.values()] == ["t", "m"]
    assert server.client().run("SELECT count(*) FROM m") == [(1,)]


@pytest.mark.parametrize("sql", ["CREATE TABLE u (a int)", "DROP TABLE t", "CREATE INDEX i ON t (a)"])
def test_a_change_that_waits_for_an_epoch_can_be_cancelled(
    server: Server, long_epoch: threading.Event, sql: str
) -> None:
    long_epoch.set()
    server.client().run("CREATE TABLE t (id int PRIMARY KEY, a int)")
    server.client().run("FLUSH")
    long_epoch.clear()
    server.client().run("INSERT INTO t VALUES (1, 1)")
    time.sleep(0.1)
    assert cancelled_after(server, sql, 0.2) < 1.5
    long_epoch.set()
    assert server.client().run("FLUSH; SELECT count(*) FROM t") == [(1,)]
    assert [r.name for r in server.database.reads.catalog.relations.values()] == ["t"]


def test_a_group_of_changes_is_in_one_epoch(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n FROM t")
    stop = threading.Event()
    seen: set[int] = set()

    def watch() -> None:
        reader = server.client()
        while not stop.is_set():
            seen.add(reader.run("SELECT n FROM total")[0][0])

    thread = threading.Thread(target=watch)
    thread.start()
    for number in range(10):
        first = number * 10
        client.run("BEGIN")
        client.run("INSERT INTO t VALUES " + ", ".join(f"({first + k}, 1, 1)" for k in range(5)))
        client.run("INSERT INTO t VALUES " + ", ".join(f"({first + k}, 1, 1)" for k in range(5, 10)))
        client.run("COMMIT")
    client.run("FLUSH")
    stop.set()
    thread.join()
    assert all(n % 10 == 0 for n in seen)


def test_a_transaction_sees_its_own_rows_and_can_be_undone(server: Server) -> None:
    client, other = server.client(), server.client()
    client.run(TABLE)
    client.run("INSERT INTO t VALUES (1, 1, 1)")
    client.run("BEGIN; INSERT INTO t VALUES (2, 1, 2); UPDATE t SET v = v + 10; DELETE FROM t WHERE id = 1")
    assert client.run("SELECT id, v FROM t") == [(2, 12)]
    assert other.run("SELECT id, v FROM t") == [(1, 1)]
    client.run("ROLLBACK")
    assert client.run("SELECT id, v FROM t") == [(1, 1)]


def test_updates_of_two_clients_are_not_lost(server: Server) -> None:
    server.client().run(TABLE + "; INSERT INTO t VALUES (1, 1, 0)")

    def add() -> None:
        client = server.client()
        for _ in range(20):
            client.run("UPDATE t SET v = v + 1 WHERE id = 1")

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.client().run("FLUSH; SELECT v FROM t") == [(60,)]


def test_rows_planned_on_another_table_version_are_refused(server: Server) -> None:
    client = server.client()
    client.run(TABLE + "; INSERT INTO t VALUES (1, 1, 1)")
    relation = next(iter(server.database.reads.catalog.relations.values()))
    rows = TableChange(relation.relation_id, relation.version + 1, None)
    with pytest.raises(SerializationFailure):
        server.database.writes.write([rows])
    client.run("DROP TABLE t")
    with pytest.raises(StalePlan):
        server.database.writes.write([rows])


@pytest.mark.on_spark
def test_the_rows_of_a_dropped_table_are_purged(server: Server) -> None:
    client = server.client()
    client.run(TABLE + ";" + VIEW)
    client.run("INSERT INTO t VALUES (1, 1, 1); FLUSH; DROP TABLE t CASCADE")
    deadline = time.monotonic() + 10
    while server.database.reads.state.purge and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.database.reads.state.purge
    client.run(TABLE)
    assert client.run("SELECT * FROM t") == []


@pytest.mark.on_spark
def test_after_drops_it_sleeps_though_views_have_more_stages_than_there_are_shards(server: Server) -> None:
    """A task of all stages once reported per stage, and not per shard, which tables had no rows left."""
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int); CREATE TABLE gone (id int PRIMARY KEY)")
    client.run("INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 100) i; INSERT INTO gone VALUES (1), (2)")
    client.run("CREATE MATERIALIZED VIEW one AS SELECT a, count(*) AS n FROM t GROUP BY a")
    client.run("CREATE MATERIALIZED VIEW two AS SELECT n, count(*) AS m FROM one GROUP BY n")
    client.run("CREATE MATERIALIZED VIEW three AS SELECT m, count(*) AS k FROM two GROUP BY m")
    assert server.database.reads.state.graph().depth > server.database.shards
    client.run("DROP TABLE gone; ALTER TABLE t DROP COLUMN b; FLUSH")
    assert_falls_idle(server.database)
    state = server.database.reads.state
    assert (state.purge, dict(state.compactions)) == (frozenset(), {})
    assert sorted(client.run("SELECT * FROM three")) == [(2, 1), (5, 1)]
    client.run("DROP MATERIALIZED VIEW three; DROP MATERIALIZED VIEW two; FLUSH")
    assert_falls_idle(server.database)
    assert server.database.reads.state.purge == frozenset()


def test_of_two_equal_names_one_wins(server: Server) -> None:
    server.client().run(TABLE)
    with pytest.raises(DuplicateRelation):
        server.client().run(TABLE)


def test_a_second_server_is_refused(server: Server) -> None:
    with pytest.raises(DataDirectoryInUse, match="in use"):
        Server(server.data_dir)


def test_row_ids_are_not_used_twice_after_a_restart(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    first = server.database.writes.next_row_ids(5)
    server.restart()
    assert server.database.writes.next_row_ids(5) >= first + 5
    server.stop()


@pytest.mark.in_process_only
def test_an_epoch_waits_for_memory_that_others_took(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view is not to blame, and goes on."""
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    run, failures = EpochWorker.run_all, [MemoryError(), FragmentFailed(1, 1, MemoryError())]

    def short_of_memory(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return run(*given)

    monkeypatch.setattr(EpochWorker, "run_all", short_of_memory)
    client.run("INSERT INTO t VALUES (1, 1, 1); FLUSH")
    assert failures == []
    assert client.run("SELECT count(*) FROM m") == [(1,)]


def test_a_loop_that_breaks_down_says_so_and_goes_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever; what needs no epoch goes on: reads of committed rows, and changes of the schema."""

    def broken(*_: object, **__: object) -> bool:
        raise RuntimeError("the wheel came off")

    client = server.client()
    client.run(TABLE)
    client.run("INSERT INTO t VALUES (-1, 1, 1); FLUSH")
    with monkeypatch.context() as patched:
        patched.setattr("risingpy.meta.epochs.scheduler.EpochScheduler.next_epoch", broken)
        with pytest.raises(SqlError, match="epochs cannot run: RuntimeError: the wheel came off"):
            client.run("INSERT INTO t VALUES (1, 1, 1); FLUSH")
        told = "RuntimeError: the wheel came off"
        assert client.run("SELECT epoch_failure FROM rw_catalog.rw_state_store") == [(told,)]
        with pytest.raises(SqlError, match="epochs cannot run"):
            client.run("SELECT count(*) FROM t")
        client.run("SET visibility_mode TO checkpoint")
        assert client.run("SELECT id FROM t") == [(-1,)]
        client.run("SET visibility_mode TO strict; CREATE TABLE other (x INT); INSERT INTO other VALUES (1)")
    deadline = time.monotonic() + 30
    while server.database.stalled is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.run("SELECT count(*) FROM t") == [(2,)]
    assert client.run("SELECT * FROM other") == [(1,)]


def test_a_stopped_table_refuses_rows(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    table = next(iter(server.database.reads.catalog.relations.values()))
    server.runner.faults = [FragmentFailed(table.relation_id, 1, NumericValueOutOfRange("too much"))]
    client.run("INSERT INTO t VALUES (1, 1, 1)")
    deadline = time.monotonic() + 10
    while server.database.reads.state.jobs and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(SqlError, match="stopped because of an error"):
        client.run("INSERT INTO t VALUES (2, 1, 1)")
    with pytest.raises(SqlError, match="stopped because of an error"):
        client.run(VIEW)


def test_of_two_transactions_that_wait_for_each_other_one_gives_way(server: Server) -> None:
    server.client().run("CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v INT)")
    server.client().run("INSERT INTO a VALUES (1, 0); INSERT INTO b VALUES (1, 0); FLUSH")
    both_hold_one = threading.Barrier(2)
    outcomes: list[str] = []

    def work(first: str, second: str) -> None:
        client = server.client()
        client.run(f"BEGIN; UPDATE {first} SET v = v + 1")
        both_hold_one.wait(timeout=10)
        try:
            client.run(f"UPDATE {second} SET v = v + 1")
            client.run("COMMIT")
            outcomes.append("committed")
        except DeadlockDetected:
            outcomes.append("gave way")  # its tables are free at once, before any ROLLBACK

    threads = [threading.Thread(target=work, args=names) for names in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(outcomes) == 2 and "gave way" in outcomes
    committed = outcomes.count("committed")
    assert server.client().run("FLUSH; SELECT a.v + b.v FROM a, b") == [(2 * committed,)]
