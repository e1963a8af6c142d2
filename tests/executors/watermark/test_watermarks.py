"""Watermarks: what is emitted on window close is the plain answer below the bound; cleaned state changes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.stream.aggregation import plan_aggregate
from risingpy.optimizer.stream.dedup import plan_distinct
from risingpy.optimizer.stream.join import plan_join
from risingpy.optimizer.stream.look_ahead import look_ahead
from risingpy.optimizer.stream.over_window import plan_over_window
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.top_n import TopRows, plan_top_n
from risingpy.optimizer.stream.window_close import sorted_by_watermark
from risingpy.plan import operators
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.joins import HashJoin
from risingpy.plan.logical import AggCall, Aggregate, Field, Join, JoinKind, OverWindow, Scan, SortKey
from risingpy.plan.operators import Exchange, StreamPlan
from risingpy.plan.properties import WatermarkBound, WatermarkColumn
from risingpy.plan.state_tables import state_tables
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.plan.window_calls import BoundKind, Frame, FrameBound, FrameUnits, WindowCall
from risingpy.types import BIGINT, BOOLEAN, INTEGER
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, chunk, delta, leaf

KEY, GROUP, TIME, VALUE = range(4)
TYPES = [BIGINT, INTEGER, BIGINT, INTEGER]
FIELDS = tuple(Field(name, type_) for name, type_ in zip(("key", "grp", "time", "value"), TYPES, strict=True))
WATERMARKS = (101, 102)  # one an input
SCAN = Scan(0, "t", tuple(range(len(TYPES))), FIELDS)
DISTINCT = AggCall("count", (VALUE,), BIGINT, distinct=True)
CALLS = (AggCall("count", (), BIGINT), AggCall("sum", (VALUE,), BIGINT), AggCall("min", (VALUE,), INTEGER), DISTINCT)


Plan = Callable[[Sequence[StreamPlan], Callable[[], int]], StreamPlan]


def aggregated(inputs: Sequence[StreamPlan], allocate: Callable[[], int], *, emit: bool = False) -> StreamPlan:
    query = Aggregate(SCAN, (GROUP, TIME), CALLS, ())
    return plan_aggregate(query, inputs[0], "job", allocate, emit_on_window_close=emit)


def first_two(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
    return plan_top_n(inputs[0], TopRows((SortKey(VALUE),), 2, group_key=(GROUP, TIME)), "job", allocate)


def first_one(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
    return plan_top_n(inputs[0], TopRows((SortKey(VALUE),), 1, group_key=(GROUP, TIME)), "job", allocate)


def distinct(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
    return plan_distinct(inputs[0], (GROUP, TIME), "job", allocate)


def joined(kind: JoinKind) -> Plan:
    def plan_it(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        width = len(TYPES)
        parts = [Call("eq", (InputRef(i, TYPES[i]), InputRef(width + i, TYPES[i])), BOOLEAN) for i in (GROUP, TIME)]
        values = Call("le", (InputRef(VALUE, INTEGER), InputRef(width + VALUE, INTEGER)), BOOLEAN)
        condition = Call("and", (Call("and", (parts[0], parts[1]), BOOLEAN), values), BOOLEAN)
        schema = FIELDS if kind in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI) else (*FIELDS, *FIELDS)
        join = Join(SCAN, SCAN, kind, condition, schema)
        return plan_join(join, inputs[0], inputs[1], "job", allocate, RowEstimates()).plan

    return plan_it


def near(kind: JoinKind) -> Plan:
    """An interval join: times that are at most 2 apart."""

    def plan_it(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        left, right = InputRef(TIME, BIGINT), InputRef(len(TYPES) + TIME, BIGINT)
        two = Literal(2, BIGINT)
        condition: Expr = Call("eq", (InputRef(GROUP, INTEGER), InputRef(len(TYPES) + GROUP, INTEGER)), BOOLEAN)
        for part in (
            Call("ge", (left, Call("subtract", (right, two), BIGINT)), BOOLEAN),
            Call("le", (left, Call("add", (right, two), BIGINT)), BOOLEAN),
        ):
            condition = Call("and", (condition, part), BOOLEAN)
        schema = FIELDS if kind in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI) else (*FIELDS, *FIELDS)
        join = Join(SCAN, SCAN, kind, condition, schema)
        return plan_join(join, inputs[0], inputs[1], "job", allocate, RowEstimates()).plan

    return plan_it


def marked(input: Exchange, number: int) -> Exchange:
    """The input with a watermark on its time."""
    bound = WatermarkBound(WATERMARKS[number], InputRef(0, BIGINT), BIGINT)
    return replace(input, properties=replace(input.properties, watermarks=(WatermarkColumn(TIME, (bound,)),)))


@dataclass(frozen=True)
class Step:
    """An epoch: its watermark, and each input's rows after it."""

    watermark: int | None
    states: tuple[Relation, ...]


@st.composite
def histories(draw: st.DrawFn, *, inputs: int = 1, append_only: bool = False) -> list[Step]:
    """Rows whose time the watermark has passed stay as they are, and none is added; NULL is never passed."""
    states: list[dict[object, Row]] = [{} for _ in range(inputs)]
    watermark: int | None = None
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        watermark = draw(st.none() | st.integers(0, 8)) if watermark is None else watermark + draw(st.integers(0, 3))
        least = 0 if watermark is None else watermark
        times = st.none() | st.integers(least, least + 4)
        for state in states:
            rows = draw(
                st.dictionaries(
                    st.integers(0, 30), st.none() | st.tuples(st.sampled_from([None, 0, 1]), times, st.integers(0, 3))
                )
            )
            for key, row in rows.items():
                old = state.get(key)
                if old is not None and (append_only or (old[TIME] is not None and int(str(old[TIME])) < least)):
                    continue
                if row is None:
                    state.pop(key, None)
                else:
                    state[key] = (key, *row)
        steps.append(Step(watermark, tuple(dict(state) for state in states)))
    return steps


class Twins:
    """One plan over inputs with watermarks, and over the same inputs without."""

    def __init__(self, make: Plan, *, inputs: int = 1, append_only: bool = False, plain: Plan | None = None) -> None:
        leaves = [leaf(TYPES, (KEY,), append_only=append_only) for _ in range(inputs)]
        with_watermarks = [marked(each, number) for number, each in enumerate(leaves)]
        self.roots = make(with_watermarks, count(1).__next__), (plain or make)(leaves, count(1).__next__)

    def run(self, steps: list[Step], check: Callable[[Step, Output, Output, list[FragmentBench]], None]) -> None:
        order = random.Random(0)
        tables = [[table for node in nodes_of_fragment(root) for table in state_tables(node)] for root in self.roots]
        outputs = [Output(root.properties.stream_key) for root in self.roots]
        with FragmentBench(self.roots[0], tables[0]) as cleaned, FragmentBench(self.roots[1], tables[1]) as plain:
            before: tuple[Relation, ...] = tuple({} for _ in steps[0].states)
            for step in steps:
                watermarks = {} if step.watermark is None else dict.fromkeys(WATERMARKS, step.watermark)
                changes = [delta(a, b, TYPES, order) for a, b in zip(before, step.states, strict=True)]
                for bench, output in zip((cleaned, plain), outputs, strict=True):
                    output.take(bench.run(*changes, watermarks=watermarks))
                check(step, outputs[0], outputs[1], [cleaned, plain])
                before = step.states


def times_in(bench: FragmentBench, tables: Sequence[int]) -> set[object]:
    """The first key column of the rows that are kept."""
    rows = bench.state()
    return {row[table.key[0].index] for k, table in enumerate(bench._tables) if k in tables for row in rows[k]}  # type: ignore[index]


def is_passed(step: Step, time: object) -> bool:
    return step.watermark is not None and time is not None and int(str(time)) < step.watermark


def same_and_clean(step: Step, cleaned: Output, plain: Output, benches: list[FragmentBench]) -> None:
    assert sorted(map(str, cleaned.rows)) == sorted(map(str, plain.rows))
    if benches[0].last is not None and benches[0].last.work:  # it had something to do, and so has cleaned up
        kept = times_in(benches[0], range(len(benches[0]._tables)))
        assert not any(is_passed(step, time) for time in kept)


@examples(20)  # each runs up to six epochs on two stores
@given(histories())
def test_groups(steps: list[Step]) -> None:
    Twins(aggregated).run(steps, same_and_clean)


@examples(20)  # each runs up to six epochs on two stores
@given(histories())
@pytest.mark.parametrize("make", [first_two, first_one])
def test_first_rows(make: Plan, steps: list[Step]) -> None:
    Twins(make).run(steps, same_and_clean)


@examples(20)  # each runs up to six epochs on two stores
@given(histories(append_only=True))
@pytest.mark.parametrize("make", [first_two, first_one, distinct])
def test_of_what_only_grows(make: Plan, steps: list[Step]) -> None:
    Twins(make, append_only=True).run(steps, same_and_clean)


@examples(20)  # each runs up to six epochs on two stores
@given(histories(inputs=2))
@pytest.mark.parametrize(
    "kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI]
)
def test_joins(kind: JoinKind, steps: list[Step]) -> None:
    Twins(joined(kind), inputs=2).run(steps, same_and_clean)


def near_rows_are_kept(step: Step, cleaned: Output, plain: Output, benches: list[FragmentBench]) -> None:
    assert sorted(map(str, cleaned.rows)) == sorted(map(str, plain.rows))
    if step.watermark is not None and benches[0].last is not None and benches[0].last.work:
        late = replace(step, watermark=step.watermark - 2)
        for table, rows in zip(benches[0]._tables, benches[0].state(), strict=True):
            if "_degree_" not in table.name:
                assert not any(is_passed(late, row[TIME]) for row in rows)  # type: ignore[index]


@examples(20)  # each runs up to six epochs on two stores
@given(histories(inputs=2))
@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.LEFT_ANTI])
def test_interval_joins(kind: JoinKind, steps: list[Step]) -> None:
    twins = Twins(near(kind), inputs=2)
    (join,) = [node for node in nodes_of_fragment(twins.roots[0]) if isinstance(node, HashJoin)]
    assert join.left_side.passed is not None
    assert join.right_side.passed is not None
    twins.run(steps, near_rows_are_kept)


@examples(20)  # each runs up to six epochs on two stores
@given(histories())
def test_groups_emitted_on_close(steps: list[Step]) -> None:
    def check(step: Step, closed: Output, plain: Output, benches: list[FragmentBench]) -> None:
        final = [row for row in plain.rows if is_passed(step, row[1])]  # type: ignore[index]
        assert sorted(map(str, closed.rows)) == sorted(map(str, final))
        assert not any(is_passed(step, time) for time in times_in(benches[0], range(len(benches[0]._tables))))

    def emitting(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        return aggregated(inputs, allocate, emit=True)

    Twins(emitting, plain=aggregated).run(steps, check)


@examples(20)  # each runs up to six epochs on two stores
@given(histories())
def test_sort_lets_final_rows_go(steps: list[Step]) -> None:
    def check(step: Step, closed: Output, plain: Output, benches: list[FragmentBench]) -> None:
        final = [row for row in plain.rows if is_passed(step, row[TIME])]  # type: ignore[index]
        assert sorted(map(str, closed.rows)) == sorted(map(str, final))
        held = {str(row) for row in benches[0].state()[0]}
        assert held == {str(row) for row in step.states[0].values() if not is_passed(step, row[TIME])}

    def held_back(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        return sorted_by_watermark(inputs[0], TIME, "job", allocate)

    Twins(held_back, plain=lambda inputs, allocate: inputs[0]).run(steps, check)


def ahead(units: FrameUnits, offset: int) -> WindowCall:
    end = FrameBound(BoundKind.FOLLOWING, Literal(offset, BIGINT))
    return WindowCall("sum", (InputRef(VALUE, INTEGER),), BIGINT, Frame(units, FrameBound(BoundKind.CURRENT_ROW), end))


WINDOW_CALLS = {
    "lag": [WindowCall("lag", (InputRef(VALUE, INTEGER),), INTEGER)],
    "rank": [WindowCall("rank", (), BIGINT)],
    "lead": [WindowCall("lead", (InputRef(VALUE, INTEGER), Literal(2, INTEGER)), INTEGER)],
    "rows": [ahead(FrameUnits.ROWS, 1), WindowCall("row_number", (), BIGINT)],
    "groups": [ahead(FrameUnits.GROUPS, 1)],
    "range": [ahead(FrameUnits.RANGE, 2)],
    "mixed": [ahead(FrameUnits.ROWS, 2), ahead(FrameUnits.RANGE, 1), ahead(FrameUnits.RANGE, 3)],
}


def window_functions(calls: list[WindowCall], *, emit: bool) -> Plan:
    def plan_it(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        schema = (*FIELDS, *(Field(call.function, call.type) for call in calls))
        query = OverWindow(SCAN, (GROUP,), (SortKey(TIME),), tuple(calls), schema)
        return plan_over_window(query, inputs[0], "job", allocate, emit_on_window_close=emit)

    return plan_it


def are_final(calls: Sequence[WindowCall], row: Row, rows: Sequence[Row], step: Step) -> bool:
    """By the definition: time is so far on as the calls look, and so many rows for which it is, too, are behind."""
    reaches = [reach for reach in map(look_ahead, calls) if reach is not None]
    assert len(reaches) == len(calls)
    distance = max(0 if reach.distance is None else int(str(reach.distance.value)) for reach in reaches)
    behind = [
        int(str(each[TIME]))
        for each in rows
        if each[GROUP] == row[GROUP]
        and is_passed(step, later(each[TIME], distance))
        and (each[TIME], each[KEY]) > (row[TIME], row[KEY])
    ]
    groups = set(behind) - {row[TIME]}
    enough = all(len(behind) >= reach.rows and len(groups) >= reach.groups for reach in reaches)
    return enough and is_passed(step, later(row[TIME], distance))


def later(time: object, distance: int) -> object:
    return None if time is None else int(str(time)) + distance


@pytest.mark.parametrize("calls", WINDOW_CALLS.values(), ids=WINDOW_CALLS)
@examples(20)  # each runs up to six epochs on two stores
@given(steps=histories(append_only=True))
def test_window_functions_emitted_when_final(calls: list[WindowCall], steps: list[Step]) -> None:
    def check(step: Step, closed: Output, plain: Output, benches: list[FragmentBench]) -> None:
        rows = [cast(Row, row) for row in plain.rows]
        final = [row for row in rows if is_passed(step, row[TIME]) and are_final(calls, row, rows, step)]
        assert sorted(map(str, closed.rows)) == sorted(map(str, final))

    twins = Twins(window_functions(calls, emit=True), append_only=True, plain=window_functions(calls, emit=False))
    assert twins.roots[0].properties.append_only
    twins.run(steps, check)


@given(st.lists(st.lists(st.none() | st.integers(-5, 20), max_size=6), max_size=5))
def test_late_rows_are_dropped(epochs: list[list[int | None]]) -> None:
    back = Call("subtract", (InputRef(0, BIGINT), InputRef(1, BIGINT)), BIGINT)
    types = [BIGINT, BIGINT]
    source = leaf(types, (0,), append_only=True)
    root = derived(operators.WatermarkFilter(source, 0, back, WATERMARKS[0], underived(source.properties.schema)))
    assert root.properties.watermarks[0].column == 0
    watermark: int | None = None
    with FragmentBench(root) as bench:
        for times in epochs:
            known = {} if watermark is None else {WATERMARKS[0]: watermark}
            output = bench.run(chunk([(1, (time, 3)) for time in times], types), watermarks=known)
            in_time = [time for time in times if watermark is None or (time is not None and time >= watermark)]
            assert output.column("c0").to_pylist() == in_time
            reached = [time - 3 for time in in_time if time is not None]
            assert bench.last is not None
            assert bench.last.reached == ({WATERMARKS[0]: max(reached)} if reached else {})
            watermark = max([*reached, *([] if watermark is None else [watermark])], default=None)


def test_a_range_is_deleted_in_pieces() -> None:
    source = marked(leaf(TYPES, (KEY,)), 0)
    root = sorted_by_watermark(source, TIME, "job", count(1).__next__)
    (schema,) = state_tables(root)
    with FragmentBench(root, [schema]) as bench:
        bench.run(chunk([(1, (key, None, time, 0)) for key, time in enumerate([5, None, 3, 4, -1, 9])], TYPES))
        for left in (5, 4, 3, 3):
            with bench.store.begin(bench.epoch + 1, 0) as transaction:
                bench.epoch += 1
                transaction.state_table(schema).delete_below(pa.array([5], pa.int64()), 1)
                transaction.commit()
            assert len(bench.state()[0]) == left
