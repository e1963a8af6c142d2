"""Where plans are cut, and when the pieces run."""

from __future__ import annotations

import pytest

from risingpy.executors.epoch.exchange import FIRST_TABLE_PORT, PORTS_PER_FRAGMENT
from risingpy.optimizer.plan_size import MAX_OPERATORS
from risingpy.plan import logical, operators
from risingpy.plan.aggregates import LocalAgg
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.logical import AggCall, Aggregate, Field, Filter, LogicalPlan
from risingpy.plan.properties import DistributionKind
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.types import BIGINT, BOOLEAN, INTEGER
from tests.optimizer.conftest import PlannerBench


def counted(input: LogicalPlan) -> Aggregate:
    column = input.schema[0]
    return Aggregate(input, (0,), (AggCall("count", (), BIGINT),), (column, Field(f"{column.name}_count", BIGINT)))


@pytest.fixture
def t(bench: PlannerBench) -> Table:
    return bench.table("t", {"a": INTEGER, "b": INTEGER})


def test_a_table_is_one_fragment(bench: PlannerBench, t: Table) -> None:
    (job,) = bench.jobs
    (fragment,) = job.fragments
    assert (fragment.stage, fragment.inputs, fragment.upstream_tables) == (0, (), ())
    assert (job.job_id, job.name, job.table, job.state_tables) == (t.relation_id, "t", t.table, ())


def test_a_filter_runs_with_its_table(bench: PlannerBench, t: Table) -> None:
    job = bench.cut(bench.plan(bench.scan(t, "a")))
    (fragment,) = job.fragments
    assert (fragment.stage, fragment.upstream_tables) == (0, (t.relation_id,))


def test_an_exchange_starts_a_stage(bench: PlannerBench, t: Table) -> None:
    job = bench.cut(bench.plan(counted(bench.scan(t, "a"))))
    below, above = job.fragments
    assert (below.stage, above.stage) == (0, 1)
    assert isinstance(below.root, LocalAgg)
    assert isinstance(above.root, operators.Materialize)
    (source,) = above.inputs
    assert source.fragment_id == below.fragment_id
    assert (source.distribution.kind, source.distribution.columns) == (DistributionKind.HASH, (0,))
    assert above.upstream_tables == ()


def test_a_view_on_a_view_runs_after_it(bench: PlannerBench, t: Table) -> None:
    view = bench.view("v", counted(bench.scan(t, "a")))
    (fragment,) = bench.cut(bench.plan(bench.scan(view))).fragments
    assert (fragment.stage, fragment.upstream_tables) == (1, (view.relation_id,))
    below, above = bench.cut(bench.plan(counted(bench.scan(view, "a_count")))).fragments
    assert (below.stage, above.stage) == (1, 2)


def test_graph_depth(bench: PlannerBench, t: Table) -> None:
    assert bench.graph.depth == 1
    bench.view("v", counted(bench.scan(t, "a")))
    assert bench.graph.depth == 2


def test_inputs_of_different_stages_meet_at_the_later(bench: PlannerBench, t: Table) -> None:
    view = bench.view("v", counted(bench.scan(t, "a")))
    union = logical.Union((bench.scan(t, "a"), bench.scan(view, "a")), (Field("a", INTEGER),))
    *_, last = bench.cut(bench.plan(union)).fragments
    assert last.stage == 2
    assert {t.relation_id, view.relation_id} == {
        table for fragment in bench.cut(bench.plan(union)).fragments for table in fragment.upstream_tables
    }


def test_exchanges_are_numbered_from_left_to_right(bench: PlannerBench, t: Table) -> None:
    counts = counted(bench.scan(t, "a"))
    union = logical.Union((counts, counted(bench.scan(t, "b"))), counts.schema)
    *feeding, last = bench.cut(bench.plan(union)).fragments
    assert [source.fragment_id for source in last.inputs] == [fragment.fragment_id for fragment in feeding]
    assert sum(isinstance(node, operators.Exchange) for node in nodes_of_fragment(last.root)) == len(last.inputs) == 2


def test_a_common_part_is_one_fragment_with_several_readers(bench: PlannerBench, t: Table) -> None:
    counts = counted(bench.scan(t, "a"))
    job = bench.cut(bench.plan(logical.Union((counts, counts), counts.schema)))
    below, shared, last = job.fragments
    assert [(source.fragment_id, source.moves) for source in last.inputs] == [(shared.fragment_id, False)] * 2
    assert (below.stage, shared.stage, last.stage) == (0, 1, 1)  # rows that stay on their shard need no stage
    ids = [table.table_id for table in (job.table, *job.state_tables)]
    assert len(set(ids)) == len(ids)


def test_a_common_part_may_go_to_several_places(bench: PlannerBench, t: Table) -> None:
    counts = counted(bench.scan(t, "a"))
    by_count = Aggregate(counts, (1,), (), (counts.schema[1],))
    alone = Aggregate(counts, (), (AggCall("max", (1,), BIGINT),), (counts.schema[1],))
    fragments = bench.cut(bench.plan(logical.Union((by_count, alone), by_count.schema))).fragments
    (shared,) = {s.fragment_id for f in fragments for s in f.inputs if not s.moves}
    read = [(f.stage, s.moves, s.distribution.kind) for f in fragments for s in f.inputs if s.fragment_id == shared]
    assert read == [(1, False, DistributionKind.HASH), (2, True, DistributionKind.SINGLE)]


def test_a_job_owns_all_its_state_tables(bench: PlannerBench, t: Table) -> None:
    calls = (AggCall("max", (1,), INTEGER), AggCall("sum", (1,), BIGINT), AggCall("count", (), BIGINT))
    fields = (Field("a", INTEGER), Field("x", INTEGER), Field("s", BIGINT), Field("n", BIGINT))
    planned = bench.plan(Aggregate(bench.scan(t), (0,), calls, fields))
    job = bench.cut(planned)
    ids = [table.table_id for table in (job.table, *job.state_tables)]
    assert len(set(ids)) == len(ids) == 1 + 1 + len(calls)  # the view, the backfill's progress, one per call


def test_a_fragment_has_room_for_every_input_that_a_plan_may_have(bench: PlannerBench, t: Table) -> None:
    assert MAX_OPERATORS < FIRST_TABLE_PORT == PORTS_PER_FRAGMENT // 2
    counts = [counted(Filter(bench.scan(t, "a"), _equal_to(n))) for n in range(80)]
    job = bench.cut(bench.plan(logical.Union(tuple(counts), counts[0].schema)))
    assert max(len(fragment.inputs) for fragment in job.fragments) == 80


def _equal_to(number: int) -> Call:
    return Call("eq", (InputRef(0, INTEGER), Literal(number, INTEGER)), BOOLEAN)
