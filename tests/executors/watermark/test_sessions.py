"""Sessions: their ends by the definition, under any history; with a watermark, closed sessions are forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count

from hypothesis import given

from risingpy.executors.change_chunk import columns_of, ops_of
from risingpy.optimizer.stream.over_window import plan_over_window
from risingpy.optimizer.stream.projection import projected, references
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.logical import Field, OverWindow, Scan, SortKey
from risingpy.plan.operators import StreamPlan
from risingpy.plan.ordered import StreamOverWindow
from risingpy.plan.state_tables import state_tables
from risingpy.plan.window_calls import SESSION_END, WindowCall
from risingpy.types import BIGINT
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, chunk, delta, leaf
from tests.executors.watermark.test_watermarks import (
    FIELDS,
    GROUP,
    KEY,
    TIME,
    TYPES,
    WATERMARKS,
    Step,
    Twins,
    histories,
    marked,
)

GAP = 2
LIMIT, END = len(TYPES), len(TYPES) + 1  # columns of the output: the input's, `time + gap`, the session's end
MINUTE, HOUR, DAY = 60, 3600, 86_400


def with_ends(gap: int) -> Callable[[Sequence[StreamPlan], Callable[[], int]], StreamPlan]:
    def plan_it(inputs: Sequence[StreamPlan], allocate: Callable[[], int]) -> StreamPlan:
        time, step = InputRef(TIME, BIGINT), Literal(gap, BIGINT)
        limit = Call("add", (time, step), BIGINT)
        input = projected(inputs[0], [*references(inputs[0]), limit])
        fields = (*FIELDS, Field("limit", BIGINT))
        call = WindowCall(SESSION_END, (time, InputRef(LIMIT, BIGINT), step), BIGINT)
        scan = Scan(0, "t", tuple(range(len(fields))), fields)
        query = OverWindow(scan, (GROUP,), (SortKey(TIME),), (call,), (*fields, Field(SESSION_END, BIGINT)))
        return plan_over_window(query, input, "job", allocate)

    return plan_it


def ends(rows: Relation) -> list[Row]:
    """The rows with their limits and their sessions' ends, by the definition."""
    found: list[Row] = []
    for row in rows.values():
        time = row[TIME]
        if time is None:
            found.append((*row, None, None))
            continue
        others = sorted(int(str(r[TIME])) for r in rows.values() if r[GROUP] == row[GROUP] and r[TIME] is not None)
        end = int(str(time))
        for other in others:
            if end < other < end + GAP:
                end = other
        found.append((*row, int(str(time)) + GAP, end))
    return found


def operator_of(plan: StreamPlan) -> StreamOverWindow:
    assert isinstance(plan, StreamOverWindow)
    return plan


@examples(20)  # each runs up to six epochs on two stores
@given(histories())
def test_ends_are_those_of_the_definition_and_closed_sessions_go(steps: list[Step]) -> None:
    def check(step: Step, cleaned: Output, plain: Output, benches: list[FragmentBench]) -> None:
        expected = sorted(map(str, ends(step.states[0])))
        assert sorted(map(str, plain.rows)) == expected
        assert sorted(map(str, cleaned.rows)) == expected
        if step.watermark is not None and benches[0].last is not None and benches[0].last.work:
            kept = [row[END] for row in benches[0].state()[0]]  # type: ignore[index]
            assert not any(end is not None and int(str(end)) < step.watermark - GAP for end in kept)

    twins = Twins(with_ends(GAP))
    assert operator_of(twins.roots[0]).passed is not None
    assert operator_of(twins.roots[1]).passed is None
    twins.run(steps, check)


def test_the_state_of_a_month_is_that_of_its_last_hours() -> None:
    """About 360 visitors a day, who never come back, an epoch an hour; a session ends after five minutes."""
    source = marked(leaf(TYPES, (KEY,), append_only=True), 0)
    plan = with_ends(5 * MINUTE)([source], count(1).__next__)
    chance = random.Random(7)
    most, rows = 0, 0
    with FragmentBench(plan, list(state_tables(plan))) as bench:
        for begin in range(0, 30 * DAY, HOUR):
            visits = [(chance.randrange(30), begin + chance.randrange(HOUR)) for _ in range(chance.randrange(1, 30))]
            came: list[Row] = [(rows + i, begin + who, at, 0) for i, (who, at) in enumerate(visits)]
            rows += len(came)
            bench.run(chunk([(1, row) for row in came], TYPES), watermarks={WATERMARKS[0]: begin - MINUTE})
            if begin % (12 * HOUR) == 0:
                most = max(most, len(bench.state()[0]))
    assert rows > 9000
    assert most < 60  # of two epochs: this one's rows, and those of sessions that could go on until it


def test_what_a_sweep_has_left_of_a_session_is_none() -> None:
    """A slice of a sweep may end within a session: the rows that are left keep the end that they had."""
    plan = with_ends(GAP)([marked(leaf(TYPES, (KEY,)), 0)], count(1).__next__)
    (table,) = state_tables(plan)
    order = random.Random(0)
    first: Relation = {1: (1, 0, 0, 0), 2: (2, 0, 1, 0)}
    with FragmentBench(plan, [table]) as bench:
        bench.run(delta({}, first, TYPES, order))
        with bench.store.begin(bench.epoch + 1, 0) as transaction:  # as if the sweep had reached only the last row
            bench.epoch += 1
            state = transaction.state_table(table)
            gone = chunk([(-1, (2, 0, 1, 0, 3, 1))], [*TYPES, BIGINT, BIGINT])
            state.apply_changes(ops_of(gone), columns_of(gone))
            transaction.commit()
        after: Relation = {**first, 3: (3, 0, 20, 0)}
        changes = bench.run(delta(first, after, TYPES, order), watermarks={WATERMARKS[0]: 20})
    assert changes.num_rows == 1
