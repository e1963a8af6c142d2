"""A view is planned outside the barrier loop: no client waits for another's planning, and no old catalog is used.

A plan that another statement has overtaken is made again: in the loop if that is cheap, else by its own statement.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from risingpy.errors import DuplicateRelation
from risingpy.meta.epochs.graph_changes import ComputeAgain
from risingpy.meta.schema import planned_ahead, relations
from risingpy.meta.schema.planned_ahead import MOST_TRIES, PlannedAhead
from risingpy.meta.state import MetaState
from risingpy.optimizer.stream.jobs import plan_materialized_view
from tests.meta.conftest import Client, Server
from tests.meta.schema.test_alter import in_thread


class SlowPlanner:
    """Planning that waits, each time it begins, until it is let go."""

    def __init__(self) -> None:
        self.began, self.may_end = threading.Semaphore(0), threading.Semaphore(0)
        self.times = 0
        self._plan = plan_materialized_view

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.times += 1
        if self.times == 1:
            self.began.release()
            assert self.may_end.acquire(timeout=10)
        return self._plan(*given, **named)


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowPlanner]:
    planner = SlowPlanner()
    monkeypatch.setattr(relations, "plan_materialized_view", planner)
    yield planner
    planner.may_end.release()


@pytest.fixture
def client(server: Server) -> Client:
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    client.run("CREATE TABLE total (n bigint)")
    return client


def test_epochs_go_on_while_a_view_is_planned(server: Server, client: Client, planner: SlowPlanner) -> None:
    creating, errors = in_thread(lambda: server.client().run("CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS s FROM t"))
    assert planner.began.acquire(timeout=10)
    client.run("INSERT INTO t VALUES (1, 10); FLUSH; INSERT INTO t VALUES (2, 20); FLUSH")
    assert client.run("SELECT count(*) FROM t") == [(2,)]
    planner.may_end.release()
    creating.join(20)
    assert errors == []
    assert client.run("SELECT s FROM m") == [(30,)]
    client.run("INSERT INTO t VALUES (3, 30); FLUSH")
    assert client.run("SELECT s FROM m") == [(60,)]
    assert planner.times == 1


def test_what_was_created_meanwhile_stays(server: Server, client: Client, planner: SlowPlanner) -> None:
    creating, errors = in_thread(lambda: server.client().run("CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS s FROM t"))
    assert planner.began.acquire(timeout=10)
    client.run("INSERT INTO t VALUES (1, 10)")
    client.run("CREATE MATERIALIZED VIEW other AS SELECT max(v) AS s FROM t")
    client.run("DROP TABLE total")
    planner.may_end.release()
    creating.join(20)
    assert errors == []
    assert planner.times == 3  # once more, by its statement: the ids are taken
    client.run("INSERT INTO t VALUES (2, 20); FLUSH")
    assert client.run("SELECT m.s, other.s FROM m, other") == [(30, 20)]
    server.restart()
    assert server.client().run("SELECT m.s, other.s FROM m, other") == [(30, 20)]


def test_a_name_that_was_taken_meanwhile_is_refused(server: Server, client: Client, planner: SlowPlanner) -> None:
    creating, errors = in_thread(lambda: server.client().run("CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS s FROM t"))
    assert planner.began.acquire(timeout=10)
    client.run("CREATE TABLE m (a int)")
    planner.may_end.release()
    creating.join(20)
    assert [type(error) for error in errors] == [DuplicateRelation]
    assert client.run("SELECT count(*) FROM m") == [(0,)]


FIRST = MetaState(shards=2)


def advanced(state: MetaState) -> tuple[MetaState, int]:
    return replace(state, next_id=state.next_id + 1), state.next_id


def test_a_cheap_change_is_computed_again_at_once() -> None:
    planned = PlannedAhead(advanced, FIRST)
    assert planned.on(FIRST)[1] == FIRST.next_id
    later = replace(FIRST, next_id=50)
    assert planned.on(later)[1] == 50


def test_a_costly_change_is_computed_by_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_ahead, "CHEAP_SECONDS", -1.0)
    planned = PlannedAhead(advanced, FIRST)
    later = replace(FIRST, next_id=50)
    with pytest.raises(ComputeAgain) as again:
        planned.on(later)
    again.value.compute()
    assert planned.on(later)[1] == 50


def test_a_change_that_is_always_overtaken_is_computed_in_the_loop_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_ahead, "CHEAP_SECONDS", -1.0)
    planned, state = PlannedAhead(advanced, FIRST), FIRST
    for number in range(1, MOST_TRIES):
        state = replace(FIRST, next_id=100 + number)
        with pytest.raises(ComputeAgain) as again:
            planned.on(state)
        again.value.compute()
    last = replace(FIRST, next_id=1000)
    assert planned.on(last)[1] == 1000


def test_statements_that_are_overtaken_succeed(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_ahead, "CHEAP_SECONDS", -1.0)
    planned, others = PlannedAhead.__init__, iter(("one", "two"))

    def overtaken(self: PlannedAhead[object], change: Any, state: MetaState) -> None:
        planned(self, change, state)
        server.client().run(f"CREATE TABLE {next(others)} (a INT)")

    monkeypatch.setattr(PlannedAhead, "__init__", overtaken)
    client.run("CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS n FROM t")
    client.run("CREATE SINK s INTO total AS SELECT n FROM m WITH (type = 'append-only', force_append_only = 'true')")
    client.run("INSERT INTO t VALUES (1, 3); FLUSH")
    assert (3,) in client.run("SELECT n FROM total")
