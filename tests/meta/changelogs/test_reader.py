"""Readers of a changelog get whole committed epochs in order, wait without work, and go on where they were."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from risingpy.errors import CannotConnectNow, QueryCanceled
from risingpy.executors.relation import changelog_reading
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.changelogs.reader import ChangelogReader
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.stream.changelog import plan_followed
from risingpy.optimizer.stream.fragments import cut
from risingpy.plan.catalog import MaterializedView, Table
from risingpy.storage.codec.table_schema import TableSchema
from tests.executors.bench import rows_of
from tests.meta.conftest import Server


def changelog_of(server: Server, name: str) -> TableSchema:
    """Keeps the relation's changes from now on; the table of its changelog."""
    made: list[TableSchema] = []

    def change(state: MetaState) -> MetaState:
        relation = state.catalog.find(name, "public", ())
        assert isinstance(relation, Table | MaterializedView)
        allocate = IdAllocator(state.next_id)
        job_id = allocate()
        planned = plan_followed(relation, table_id=job_id, name="kept", allocate=allocate)
        job = cut(job_id, planned, state.graph(), allocate)
        made.append(job.table)
        jobs = {**state.jobs, job_id: job}
        return replace(state, jobs=jobs, graph_version=state.graph_version + 1, next_id=allocate.next_id)

    server.database.ddl.change(change)
    return made[0]


def all_changes(changelogs: ChangelogReader, table: TableSchema, after: int, most_rows: int = 1) -> Iterator[tuple]:  # type: ignore[type-arg]
    """(epoch, op, row) of everything that is there."""
    while True:
        changes = changelogs.read(table, after, most_rows=most_rows)
        if not changes.epochs:
            return
        assert changes.up_to >= changes.epochs[-1].epoch > after
        after = changes.up_to
        for each in changes.epochs:
            for op, *row in sorted(rows_of(each.rows)):
                yield each.epoch, op, tuple(row)


@pytest.mark.on_spark
def test_a_reader_sees_every_epoch_once(server: Server) -> None:
    client = server.client()
    client.run(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT);CREATE MATERIALIZED VIEW m AS SELECT v, count(*) n FROM t GROUP BY v"
    )
    client.run("INSERT INTO t VALUES (1, 1); FLUSH")
    start = server.database.reads.committed_epoch
    table = changelog_of(server, "m")
    for statement in ("INSERT INTO t VALUES (2, 1)", "UPDATE t SET v = 2 WHERE k = 1", "DELETE FROM t"):
        client.run(f"{statement}; FLUSH")
    found = list(all_changes(server.database.changelogs, table, start))
    assert [each[1:] for each in found] == [
        (-1, (1, 1)),
        (1, (1, 2)),
        *[(-1, (1, 2)), (1, (1, 1)), (1, (2, 1))],
        *[(-1, (1, 1)), (-1, (2, 1))],
    ]
    assert len({each[0] for each in found}) == 3
    assert list(all_changes(server.database.changelogs, table, found[0][0])) == found[2:]
    server.restart()
    assert list(all_changes(server.database.changelogs, table, start)) == found


@pytest.mark.on_spark
def test_the_changes_of_each_epoch_add_up_to_the_relation(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    table = changelog_of(server, "t")
    rows: Counter[tuple[object, ...]] = Counter()
    after, random_ = 0, random.Random(5)
    for _ in range(25):
        key, value = random_.randrange(8), random_.randrange(3)
        client.run(
            random_.choice([f"INSERT INTO t VALUES ({key}, {value})", f"DELETE FROM t WHERE k = {key}"]) + "; FLUSH"
        )
        for epoch, op, row in all_changes(server.database.changelogs, table, after):
            rows[row] += op
            after = epoch
        assert +rows == Counter(client.run("SELECT * FROM t"))


def test_an_epoch_of_many_blocks_comes_whole(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelog_reading, "BLOCKS_PER_READ", 2)
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR)")
    table = changelog_of(server, "t")
    for first in (0, 100):
        client.run(f"INSERT INTO t SELECT k, repeat('x', 1000000) FROM generate_series({first}, {first + 59}) k")
        client.run("FLUSH")
    epochs = [each[0] for each in all_changes(server.database.changelogs, table, 0)]
    assert list(Counter(epochs).values()) == [60, 60]
    assert epochs == sorted(epochs)


def test_a_reader_waits_for_the_next_changes_only(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (k INT PRIMARY KEY); CREATE TABLE other (k INT PRIMARY KEY)")
    table, changes = changelog_of(server, "t"), server.database.changelogs
    client.run("INSERT INTO other VALUES (1); FLUSH")
    began = time.monotonic()
    found = changes.read(table, 0, wait=0.1)
    assert found.epochs == ()
    assert found.up_to == server.database.reads.committed_epoch
    assert 0.1 <= time.monotonic() - began < 5
    threading.Timer(0.1, lambda: server.client().run("INSERT INTO t VALUES (1)")).start()
    (epoch,) = changes.read(table, found.up_to, wait=None).epochs
    assert rows_of(epoch.rows) == [(1, 1)]
    assert abs(epoch.time / 1000 - time.time()) < 60


def test_a_waiting_reader_ends_when_it_is_cancelled_and_with_the_server(server: Server) -> None:
    server.client().run("CREATE TABLE t (k INT PRIMARY KEY)")
    table, changes, cancelled = changelog_of(server, "t"), server.database.changelogs, CancelFlag()
    threading.Timer(0.05, cancelled.set).start()
    with pytest.raises(QueryCanceled):
        changes.read(table, 0, wait=None, cancelled=cancelled)
    restart = threading.Timer(0.05, server.restart)
    restart.start()
    with pytest.raises(CannotConnectNow):
        changes.read(table, 0, wait=None)
    restart.join()


def test_a_read_after_the_end_says_so(server: Server) -> None:
    server.client().run("CREATE TABLE t (k INT PRIMARY KEY)")
    table, changes = changelog_of(server, "t"), server.database.changelogs
    server.restart()
    with pytest.raises(CannotConnectNow):
        changes.read(table, 0)
