"""Views that change by time alone: when the database wakes for them, and that it sleeps otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.join.bound_over_time import first_time
from risingpy.meta.epochs import passing_time
from risingpy.meta.epochs.number import milliseconds
from risingpy.meta.epochs.passing_time import PassingTime
from risingpy.meta.epochs.runner import EpochFailed
from risingpy.optimizer.now import QUARTER_MILLISECONDS
from risingpy.plan.operators import StreamPlan
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.storage.engine.read_views import ReadView
from tests.meta.conftest import Client, Server

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMPTZ)"
RECENT = "CREATE MATERIALIZED VIEW recent AS SELECT id FROM t WHERE ts > now() - interval '1 second'"


def eventually(client: Client, query: str, rows: list[tuple[object, ...]], seconds: float = 8) -> None:
    """Waits until the query has just these rows."""
    end = time.monotonic() + seconds
    while (found := client.run(query)) != rows and time.monotonic() < end:
        time.sleep(0.02)
    assert found == rows


@pytest.mark.on_spark
def test_rows_go_and_come_as_time_passes(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("CREATE MATERIALIZED VIEW late AS SELECT id FROM t WHERE ts + interval '1 second' <= now()")
    client.run("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM recent")
    client.run("INSERT INTO t VALUES (1, now()), (2, '2000-01-01'), (3, '9000-01-01')")
    client.run("FLUSH")
    assert sorted(client.run("SELECT * FROM recent")) == [(1,), (3,)]
    assert client.run("SELECT * FROM late") == [(2,)]
    assert client.run("SELECT * FROM n") == [(2,)]
    eventually(client, "SELECT * FROM recent", [(3,)])
    assert client.run("SELECT * FROM late ORDER BY 1") == [(1,), (2,)]
    assert client.run("SELECT * FROM n") == [(1,)]


def test_without_rows_that_wait_nothing_runs(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("CREATE MATERIALIZED VIEW all_of_them AS SELECT id FROM t")
    client.run("INSERT INTO t VALUES (1, '2000-01-01'), (2, '9000-01-01'), (3, NULL)")
    client.run("FLUSH")
    before = len(server.runner.ran)
    time.sleep(1.5)
    assert len(server.runner.ran) == before


def test_while_epochs_follow_each_other_nobody_looks_for_the_next_moment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look costs some milliseconds for each filter, in the thread that runs the epochs."""
    looks = 0
    original = PassingTime.look

    def counted(self: PassingTime, view: ReadView) -> None:
        nonlocal looks
        looks += 1
        original(self, view)

    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("FLUSH")
    time.sleep(1.2)
    monkeypatch.setattr(PassingTime, "look", counted)
    began, before = time.monotonic(), server.database.reads.committed_epoch
    for number in range(40):
        client.run(f"INSERT INTO t VALUES ({number}, now() + interval '1 hour'); FLUSH")
    busy = time.monotonic() - began
    assert server.database.reads.committed_epoch > before
    assert looks <= busy  # one a second at most, and only where there was a pause
    time.sleep(1.5)
    after = looks
    assert 1 <= after <= busy + 1
    time.sleep(1.5)
    assert looks == after  # known, and nothing changes


def test_after_a_restart_the_time_that_has_passed_is_made_up_for(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("INSERT INTO t VALUES (1, now()); FLUSH")
    server.stop()
    time.sleep(1)
    server.start()
    eventually(server.client(), "SELECT * FROM recent", [])


def test_an_epoch_that_is_tried_again_has_a_time_of_its_own(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    server.runner.faults = [EpochFailed("no engine")] * 2
    client.run("INSERT INTO t VALUES (1, now() + interval '1 second'); FLUSH")
    assert client.run("SELECT * FROM recent") == [(1,)]
    eventually(client, "SELECT * FROM recent", [])


def test_another_job_that_fails_does_not_stop_the_time(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("CREATE MATERIALIZED VIEW other AS SELECT id FROM t WHERE ts < now()")
    client.run("INSERT INTO t VALUES (1, now()); FLUSH")
    other = server.database.reads.state.catalog.find("other", None, ("public",))
    assert other is not None
    server.runner.faults = [FragmentFailed(other.relation_id, 1, ValueError("wrong"))]
    eventually(client, "SELECT * FROM recent", [])


@pytest.mark.parametrize("shards", [1, 3])
def test_another_number_of_shards_keeps_the_bounds(server: Server, shards: int) -> None:
    client = server.client()
    client.run("CREATE TABLE v (id INT PRIMARY KEY, n INT); CREATE TABLE s (x INT PRIMARY KEY)")
    client.run("CREATE MATERIALIZED VIEW big AS SELECT id FROM v WHERE n > (SELECT max(x) FROM s)")
    client.run("INSERT INTO s VALUES (5); INSERT INTO v SELECT i, i FROM generate_series(1, 9) AS g(i); FLUSH")
    client.run(f"ALTER SYSTEM SET parallelism = {shards}")
    server.restart()
    client = server.client()
    client.run("INSERT INTO v VALUES (10, 10), (0, 0); INSERT INTO s VALUES (7); FLUSH")
    assert sorted(client.run("SELECT * FROM big")) == [(8,), (9,), (10,)]
    client.run("DELETE FROM s WHERE x = 7; FLUSH")
    assert sorted(client.run("SELECT * FROM big")) == [(6,), (7,), (8,), (9,), (10,)]


def test_epochs_that_only_time_asks_for_are_a_second_apart(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    client.run("INSERT INTO t SELECT i, now() + i * interval '10 milliseconds' FROM generate_series(1, 100) AS g(i)")
    client.run("FLUSH")
    before = len(server.runner.ran)
    eventually(client, "SELECT * FROM recent", [])
    ran = [milliseconds(each.epoch) for each in server.runner.ran[before - 1 :]]
    assert 2 <= len(ran) <= 4
    assert all(later - earlier >= 1000 for earlier, later in pairwise(ran))


@given(
    jumps=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 3_000)), max_size=6),
    value=st.integers(0, 200_000),
    at_value=st.booleans(),
    horizon=st.integers(1, 1 << 20),
)
def test_the_first_time(jumps: list[tuple[int, int]], value: int, at_value: bool, horizon: int) -> None:
    """Of a bound that moves with the time, and jumps now and then."""

    def bounds(times: Sequence[int]) -> list[int | None]:
        return [time * 1000 + sum(size for when, size in jumps if time >= when) for time in times]

    def beyond(time: int) -> bool:
        (bound,) = bounds([time])
        assert bound is not None
        return bound >= value if at_value else bound > value

    found = first_time(bounds, value, at_value=at_value, after=0, horizon=horizon)
    expected = next((t for t in range(1, min(horizon, 201) + 1) if beyond(t)), None)
    assert found == expected


def test_a_bound_that_may_fall_is_looked_at_every_quarter_of_an_hour(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW month AS SELECT id FROM t WHERE ts > now() - interval '1 month'")
    client.run("INSERT INTO t VALUES (1, '9000-01-01'), (2, '2000-01-01'); FLUSH")
    passing, state, view = PassingTime(), server.database.reads.state, server.database.reads.snapshot().view
    passing.follow(state.jobs, state.graph_version, view.epoch, milliseconds(view.epoch))
    passing.look(view)
    view.release()
    began = milliseconds(view.epoch)
    assert passing.next is not None
    assert began < passing.next <= began + QUARTER_MILLISECONDS
    client.run("INSERT INTO t VALUES (3, now() - interval '1 month' + interval '1 second'); FLUSH")
    assert sorted(client.run("SELECT * FROM month")) == [(1,), (3,)]
    eventually(client, "SELECT * FROM month", [(1,)])


def test_a_change_of_the_schema_looks_at_the_new_jobs_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(root: StreamPlan) -> Iterator[StreamPlan]:
        looked.append(type(root).__name__)
        return nodes_of_fragment(root)

    client = server.client()
    client.run(TABLE)
    client.run(RECENT)
    passing, before = PassingTime(), server.database.reads.state
    passing.follow(before.jobs, before.graph_version, before.committed.epoch, 0)
    client.run("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
    monkeypatch.setattr(passing_time, "nodes_of_fragment", counted)
    after = server.database.reads.state
    passing.follow(after.jobs, after.graph_version, after.committed.epoch, 0)
    (added,) = after.jobs.keys() - before.jobs.keys()
    assert len(looked) == len(after.jobs[added].fragments)
    assert passing.is_to_look(1000)  # for the filter of the view that was there before
