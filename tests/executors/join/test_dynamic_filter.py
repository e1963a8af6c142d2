"""DynamicFilter: after every epoch its output is the left rows that pass the bound, whether it rises or falls."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.joins import DynamicFilter
from risingpy.plan.logical import SortKey
from risingpy.plan.operators import Now, StreamPlan, StreamProject
from risingpy.plan.state_tables import bound_table, ordered_rows
from risingpy.types import BIGINT, DOUBLE, INTERVAL, TIMESTAMPTZ, VARCHAR, SqlType
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta, leaf, properties
from tests.executors.histories import bigints, doubles, histories, texts

COMPARISONS: dict[str, Callable[[object, object], bool]] = {
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}
KINDS: dict[str, tuple[SqlType, st.SearchStrategy[object]]] = {
    "bigint": (BIGINT, bigints),
    "double": (DOUBLE, doubles),
    "text": (VARCHAR, texts),
    "long text": (VARCHAR, st.sampled_from([None, "a", *("a" * 700 + tail for tail in ("", "b", "c"))])),
}
HOUR = timedelta(hours=1)
START = datetime(2026, 3, 29, tzinfo=UTC)


def dynamic_filter(right: StreamPlan, type_: SqlType, comparison: str, *, only_forward: bool) -> DynamicFilter:
    """Left rows: key, the compared column, something else."""
    types = [BIGINT, type_, BIGINT]
    left = leaf(types)
    rows = ordered_rows(1, "job", "filter", left.properties, (), [SortKey(1)], ())
    bound = bound_table(2, "job", type_)
    return DynamicFilter(left, right, 1, comparison, rows, bound, only_forward, properties(types, (0,)))


def order_of(value: object) -> object:
    """PostgreSQL's order: NaN is greater than every number."""
    return (value != value, value) if isinstance(value, float) else value


def passing(rows: Relation, comparison: str, bound: object) -> set[object]:
    return {
        comparable(row)
        for row in rows.values()
        if row[1] is not None and bound is not None and COMPARISONS[comparison](order_of(row[1]), order_of(bound))
    }


def together(left: list[Relation], right: list[Relation]) -> list[tuple[Relation, Relation]]:
    """Both histories from nothing on, the shorter one standing still at its end."""
    length = max(len(left), len(right))
    pad = [[{}, *history, *[history[-1]] * (length - len(history))] for history in (left, right)]
    return list(zip(*pad, strict=True))


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@examples(60)
def test_the_bound_of_a_row(kind: str, comparison: str, data: st.DataObject) -> None:
    type_, values = KINDS[kind]
    left = data.draw(histories(values, bigints, keys=8, epochs=5))
    right = data.draw(histories(values, keys=1, epochs=5))
    plan = dynamic_filter(leaf([type_], ()), type_, comparison, only_forward=False)
    order = random.Random(1)
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output((0,))
        for (old_left, old_right), (new_left, new_right) in pairwise(together(left, right)):
            before, after = ({key: (row[1],) for key, row in rows.items()} for rows in (old_right, new_right))
            changes = delta(before, after, [type_], order)
            output.take(bench.run(delta(old_left, new_left, [BIGINT, type_, BIGINT], order), changes))
            bound = new_right[0][1] if new_right else None
            assert set(output.rows) == passing(new_left, comparison, bound)
            kept = {comparable(row) for row in new_left.values() if row[1] is not None}
            assert bench.state() == [kept]


moments = st.integers(-3, 6).map(lambda hours: START + hours * HOUR) | st.none()


@pytest.mark.parametrize("comparison", COMPARISONS)
@given(left=histories(moments, bigints, keys=8, epochs=6), steps=st.lists(st.integers(0, 2), min_size=6, max_size=6))
@examples(150)
def test_the_bound_of_the_time(comparison: str, left: list[Relation], steps: list[int]) -> None:
    """`f1 comparison now() - 1 hour`: no row is kept that will stay where it is."""
    now = Now(properties([TIMESTAMPTZ]))
    hour = Literal(pa.MonthDayNano([0, 0, 3_600_000_000_000]), INTERVAL)
    earlier = Call("timestamptz_minus", (InputRef(0, TIMESTAMPTZ), hour, Literal("UTC", VARCHAR)), TIMESTAMPTZ)
    bounds = StreamProject(now, (earlier,), properties([TIMESTAMPTZ]))
    plan = dynamic_filter(bounds, TIMESTAMPTZ, comparison, only_forward=True)
    order = random.Random(1)
    time = START
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output((0,))
        for (before, after), hours in zip(pairwise([{}, *left, *[left[-1]] * 2]), steps, strict=False):
            time += hours * HOUR
            epoch = max(bench.epoch + 1, int(time.timestamp() * 1000) << COUNTER_BITS)
            output.take(bench.run(delta(before, after, [BIGINT, TIMESTAMPTZ, BIGINT], order), epoch=epoch))
            assert set(output.rows) == passing(after, comparison, time - HOUR)
            assert bench.state() == [may_move(after, comparison, time - HOUR)]


# What happens before an epoch: its first try fails, and it is tried again, perhaps with another number; perhaps another
# process runs it.
Troubles = st.tuples(st.sampled_from(["none", "none", "same number", "other number"]), st.booleans())
FORWARD: dict[str, Callable[[Expr], Expr]] = {
    "earlier": lambda now: Call(
        "timestamptz_minus",
        (now, Literal(pa.MonthDayNano([0, 0, 3_600_000_000_000]), INTERVAL), Literal("UTC", VARCHAR)),
        TIMESTAMPTZ,
    ),
    "truncated": lambda now: Call(
        "date_trunc_at", (Literal("hour", VARCHAR), now, Literal("UTC", VARCHAR)), TIMESTAMPTZ
    ),
}
near = st.integers(-12, 24).map(lambda quarters: START + quarters * HOUR / 4) | st.none()


@pytest.mark.parametrize("form", FORWARD)
@pytest.mark.parametrize("comparison", COMPARISONS)
@given(
    left=histories(near, bigints, keys=8, epochs=10),
    steps=st.lists(st.integers(0, 90), min_size=12, max_size=12),
    troubles=st.lists(Troubles, min_size=12, max_size=12),
)
@examples(80)
def test_the_bound_stays_while_it_passes_no_row(
    comparison: str, form: str, left: list[Relation], steps: list[int], troubles: list[tuple[str, bool]]
) -> None:
    """What a process remembers of a filter holds, or is not used, whoever ran the epochs before."""
    now = Now(properties([TIMESTAMPTZ]))
    bounds = StreamProject(now, (FORWARD[form](InputRef(0, TIMESTAMPTZ)),), properties([TIMESTAMPTZ]))
    plan = dynamic_filter(bounds, TIMESTAMPTZ, comparison, only_forward=True)
    order = random.Random(1)
    time = START
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output((0,))
        turns = zip(pairwise([{}, *left, left[-1], left[-1]]), steps, troubles, strict=False)
        for (before, after), minutes, (trouble, moves) in turns:
            time += timedelta(minutes=minutes)
            bound = time - HOUR if form == "earlier" else time.replace(minute=0)
            epoch = max(bench.epoch + 1, int(time.timestamp() * 1000) << COUNTER_BITS)
            changes = delta(before, after, [BIGINT, TIMESTAMPTZ, BIGINT], order)
            if trouble != "none":
                bench.fail(changes, epoch=epoch)
                epoch += trouble == "other number"
            if moves:
                bench.change_process()
            output.take(bench.run(changes, epoch=epoch))
            assert set(output.rows) == passing(after, comparison, bound)
            assert bench.state() == [may_move(after, comparison, bound)]


def test_an_epoch_that_passes_no_row_writes_nothing() -> None:
    """Sixty filters over one table cost an epoch no more than their rows do."""
    now = Now(properties([TIMESTAMPTZ]))
    bounds = StreamProject(now, (FORWARD["earlier"](InputRef(0, TIMESTAMPTZ)),), properties([TIMESTAMPTZ]))
    plan = dynamic_filter(bounds, TIMESTAMPTZ, ">", only_forward=True)
    types, order = [BIGINT, TIMESTAMPTZ, BIGINT], random.Random(1)
    rows: dict[object, Row] = {}
    with FragmentBench(plan, [plan.bound]) as bench:
        for second in range(5):
            before = dict(rows)
            rows[second] = (second, START + timedelta(seconds=second), 0)
            epoch = int(START.timestamp() * 1000 + second * 1000) << COUNTER_BITS
            assert bench.run(delta(before, rows, types, order), epoch=epoch).num_rows == 1
            # The bound was moved for the first row only, which is the nearest one for an hour.
            assert bench.state() == [{(0, START - HOUR)}]
        assert bench.run(delta(rows, rows, types, order), epoch=epoch + (1800_000 << COUNTER_BITS)).num_rows == 0
        assert bench.state() == [{(0, START - HOUR)}]
        assert bench.run(delta(rows, rows, types, order), epoch=epoch + (3600_000 << COUNTER_BITS)).num_rows == 5


def may_move(rows: Relation, comparison: str, bound: datetime) -> set[object]:
    """The rows that a later bound lets in or takes out."""

    def waits(row: Row) -> bool:
        value = row[1]
        if not isinstance(value, datetime):
            return False
        return value > bound if comparison in ("<=", ">") else value >= bound

    return {comparable(row) for row in rows.values() if waits(row)}
