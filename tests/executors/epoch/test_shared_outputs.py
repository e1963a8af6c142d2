"""Equal operators of several views run once; each view reports what it would have done alone."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from risingpy.executors.epoch.loaded_graph import LoadedGraph
from risingpy.executors.epoch.shared_outputs import SharedOutput, SharedOutputs
from risingpy.plan import logical
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.graph import StreamGraph
from risingpy.plan.logical import Field
from risingpy.plan.operator_work import OperatorPosition, OperatorWork, added
from risingpy.types import BIGINT
from tests.executors.epoch.test_stage_runner import COLUMNS, Database, counts, greater
from tests.optimizer.conftest import PlannerBench


def ratio(scan: logical.LogicalPlan, name: str = "g") -> logical.Project:
    """1 / g where k > 3, by the name of `name`, and k."""
    quotient = Call("divide", (Literal(1, BIGINT), InputRef(1, BIGINT)), BIGINT)
    fields = (Field("k", BIGINT), Field(name, BIGINT))
    return logical.Project(logical.Filter(scan, greater(0, 3)), (InputRef(0, BIGINT), quotient), fields)


def work_of(database: Database, planner: PlannerBench, view: int) -> Mapping[OperatorPosition, OperatorWork]:
    """The work of a view's operators in the last epoch, by fragment from the first one of the view on."""
    (job,) = (job for job in planner.jobs if job.job_id == view)
    numbers = {fragment.fragment_id: place for place, fragment in enumerate(job.fragments)}
    done: dict[OperatorPosition, OperatorWork] = {}
    for report in database.reports:
        for (fragment, number), work in report.work.items():
            if fragment in numbers:
                at = numbers[fragment], number
                done[at] = OperatorWork(*added(done.get(at, OperatorWork()), work))
    return done


def test_the_second_view_takes_over_what_the_first_has_computed() -> None:
    with Database(1) as database:
        planner = database.planner
        a = planner.table("a", COLUMNS, ["k"])
        plan = ratio(planner.scan(a))
        first, second = (planner.view(name, counts(plan)) for name in ("first", "second"))
        for _ in range(3):
            if database.run({}):
                break
        database.run({a.relation_id: [(1, (k, k % 2, None)) for k in range(10)]})
        for view in (first, second):
            assert sum(report.errors.get(view.relation_id, 0) for report in database.reports) == 3
        assert database.rows(first) == database.rows(second) != []
        own, taken = (work_of(database, planner, view.relation_id) for view in (first, second))
        rows = [{at: work[:2] for at, work in done.items()} for done in (own, taken)]
        assert rows[0] == rows[1]
        # What is before the exchange has run for the first view only; the second phase has a state for each view.
        assert {at[0] for at, work in own.items() if work.nanoseconds} == {0, 1}
        assert {at[0] for at, work in taken.items() if work.nanoseconds} == {1}


def graph_of(planner: PlannerBench) -> LoadedGraph:
    return LoadedGraph(StreamGraph(1, 1, tuple(planner.jobs)))


def test_only_equal_operators_over_one_table_are_shared() -> None:
    planner = PlannerBench()
    a, b = (planner.table(name, COLUMNS, ["k"]) for name in ("a", "b"))
    planner.view("alone", ratio(planner.scan(a)))
    planner.view("other_table", ratio(planner.scan(b)))
    assert not graph_of(planner).shared_outputs
    planner.view("other_filter", logical.Filter(planner.scan(a), greater(0, 4)))
    over_scan = graph_of(planner).shared_outputs
    planner.view("other_name", ratio(planner.scan(a), "quotient"))
    shared = graph_of(planner).shared_outputs
    assert shared.keys() - over_scan.keys()
    assert set(shared.values()) == {2}


def test_an_output_is_kept_until_its_last_use() -> None:
    shared = SharedOutputs({b"key": 3})
    assert shared.take(b"key") is None
    output = SharedOutput(pa.table({"op": [1]}), 0, {})
    shared.keep(b"key", output)
    assert [shared.take(b"key"), shared.take(b"key"), shared.take(b"key")] == [output, output, None]
    with pytest.raises(KeyError):
        shared.keep(b"other", output)
