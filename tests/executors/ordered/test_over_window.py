"""OverWindow: after every epoch the output is what the window functions give over the input, as DuckDB computes it."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from risingpy.functions.evaluation.duckdb_connection import connect
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.functions.evaluation.window_sql import window_sql
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field, SortKey
from risingpy.plan.ordered import StreamOverWindow
from risingpy.plan.properties import Distribution, DistributionKind, Properties
from risingpy.plan.state_tables import ordered_rows
from risingpy.plan.window_calls import BoundKind, Frame, FrameBound, FrameExclusion, FrameUnits, WindowCall
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import BIGINT, DOUBLE, INTEGER, VARCHAR, SqlType, numeric
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta, leaf
from tests.executors.histories import groups, histories, texts

TYPES = [BIGINT, BIGINT, INTEGER, VARCHAR]
KEY, GROUP, VALUE, TEXT = range(4)
values = st.sampled_from([None, 0, 1, 1, 2, 3, 5, 2147483647, -2147483648])
rows = histories(groups, values, texts, keys=8, epochs=4)

CONNECTION = connect()
FUNCTIONS = OwnFunctions(CONNECTION)
PRECEDING, FOLLOWING = BoundKind.PRECEDING, BoundKind.FOLLOWING
START, CURRENT, END = (
    FrameBound(kind) for kind in (BoundKind.UNBOUNDED_PRECEDING, BoundKind.CURRENT_ROW, BoundKind.UNBOUNDED_FOLLOWING)
)


def column(index: int) -> Expr:
    return InputRef(index, TYPES[index])


def bound(kind: BoundKind, rows: int) -> FrameBound:
    return FrameBound(kind, Literal(rows, BIGINT))


FRAMES = [
    Frame(),
    Frame(FrameUnits.RANGE, CURRENT, END),
    Frame(FrameUnits.ROWS, bound(PRECEDING, 1), CURRENT),
    Frame(FrameUnits.ROWS, bound(PRECEDING, 2), bound(FOLLOWING, 1), FrameExclusion.CURRENT_ROW),
    Frame(FrameUnits.ROWS, bound(FOLLOWING, 1), bound(FOLLOWING, 2)),
    Frame(FrameUnits.ROWS, START, CURRENT),
    Frame(FrameUnits.ROWS, START, END),
    Frame(FrameUnits.RANGE, bound(PRECEDING, 1), bound(FOLLOWING, 1)),
    Frame(FrameUnits.GROUPS, bound(PRECEDING, 1), CURRENT, FrameExclusion.GROUP),
]
# `by_rank` functions mean the same whatever the order of peers; for the others the key orders rows that are equal.
BY_RANK = [
    WindowCall(name, (), type_)
    for name, type_ in (
        ("rank", BIGINT), ("dense_rank", BIGINT), ("percent_rank", DOUBLE), ("cume_dist", DOUBLE)
    )
]  # fmt: skip
BY_ROW = [
    WindowCall("row_number", (), BIGINT),
    WindowCall("ntile", (Literal(3, INTEGER),), INTEGER),
    WindowCall("lag", (column(TEXT),), VARCHAR),
    WindowCall("lag", (column(VALUE), Literal(2, INTEGER), Literal(-7, INTEGER)), INTEGER),
    WindowCall("lag", (column(TEXT), column(VALUE)), VARCHAR),
    WindowCall("lead", (column(TEXT), Literal(1, INTEGER), Literal("none", VARCHAR)), VARCHAR),
    WindowCall("lead", (column(VALUE),), INTEGER, ignore_nulls=True),
    *(
        WindowCall(name, (column(TEXT), *more), VARCHAR, frame)
        for name, more in (("first_value", ()), ("last_value", ()), ("nth_value", (Literal(2, INTEGER),)))
        for frame in FRAMES[:7]
    ),
]
AGGREGATES = [
    WindowCall(name, args, type_, frame)
    for name, args, type_ in (
        ("count", (), BIGINT),
        ("sum", (column(VALUE),), BIGINT),
        ("avg", (column(VALUE),), numeric(38, 16)),
        ("max", (column(TEXT),), VARCHAR),
        ("approx_count_distinct", (column(VALUE),), BIGINT),
    )
    for frame in FRAMES
]
windows = st.tuples(
    st.sampled_from([(), (GROUP,)]),
    st.sampled_from([(SortKey(VALUE),), (SortKey(VALUE, descending=True, nulls_first=True),)]),
    st.lists(st.sampled_from([*BY_RANK, *BY_ROW, *AGGREGATES]), min_size=1, max_size=4),
)


def over_window(
    partition_by: tuple[int, ...], order_by: tuple[SortKey, ...], calls: list[WindowCall]
) -> StreamOverWindow:
    input = leaf(TYPES)
    fields = [*input.properties.schema, *(Field(f"w{i}", call.type) for i, call in enumerate(calls))]
    out = Properties(tuple(fields), (*partition_by, KEY), Distribution(DistributionKind.SINGLE), append_only=False)
    keyed = Properties(tuple(fields), (KEY,), out.distribution, append_only=False)
    table = ordered_rows(1, "job", "over_window", keyed, partition_by, order_by, ())
    return StreamOverWindow(input, partition_by, order_by, tuple(calls), table, out)


def expected(relation: Relation, plan: StreamOverWindow) -> set[object]:
    """The answer over the whole relation. The key orders what the window's order leaves open."""
    if not relation:
        return set()
    given_rows = list(relation.values())
    columns = [_column_of(call, given_rows, plan) for call in plan.calls]
    return {comparable((*row, *(c[i] for c in columns))) for i, row in enumerate(given_rows)}


def _column_of(call: WindowCall, given_rows: list[Row], plan: StreamOverWindow) -> list[object]:
    if call.function in ("first_value", "last_value", "nth_value") and call.frame.units is FrameUnits.RANGE:
        return [_value_of(call, row, given_rows, plan) for row in given_rows]
    by_rank = call in BY_RANK or (call not in BY_ROW and call.frame.units is not FrameUnits.ROWS)
    keys: list[tuple[str, str, SqlType]] = [(f"c{k.index}", _direction(k), INTEGER) for k in plan.order_by]
    if not by_rank:
        keys.append(("c0", "ASC", BIGINT))
    text = window_sql(call, lambda k: f"c{k}", [f"c{k}" for k in plan.partition_by], keys)
    columns = [pa.array([row[k] for row in given_rows], type_.arrow) for k, type_ in enumerate(TYPES)]
    t = pa.table([*columns, pa.array(range(len(given_rows)))], names=["c0", "c1", "c2", "c3", "i"])
    FUNCTIONS.make_known(text)
    answer = CONNECTION.from_arrow(t).query("t", f"SELECT i, {text} AS r FROM t ORDER BY i")
    assert answer is not None
    return list(answer.to_arrow_table().column("r").cast(call.type.arrow).to_pylist())


def _direction(key: SortKey) -> str:
    return f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _value_of(call: WindowCall, row: Row, given_rows: list[Row], plan: StreamOverWindow) -> object:
    """A value function over the rows up to the last peer, or from the first peer on."""

    def place(each: Row) -> tuple[object, ...]:
        (key,) = plan.order_by
        value = each[key.index]
        if value is None:
            return (0 if key.nulls_first else 2, 0)
        return (1, -int(str(value)) if key.descending else int(str(value)))

    mine = [r for r in given_rows if all(r[k] == row[k] for k in plan.partition_by)]
    mine.sort(key=lambda r: (place(r), r[KEY]))
    backwards = call.frame.start.kind is BoundKind.UNBOUNDED_PRECEDING
    seen = [r for r in mine if (place(r) <= place(row) if backwards else place(r) >= place(row))]
    index = {"first_value": 0, "last_value": len(seen) - 1, "nth_value": 1}[call.function]
    return seen[index][TEXT] if index < len(seen) else None


def check(plan: StreamOverWindow, history: list[Relation]) -> None:
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output(plan.properties.stream_key)
        for number, (before, after) in enumerate(pairwise([{}, *history])):
            output.take(bench.run(delta(before, after, TYPES, random.Random(number))))
            assert set(output.rows) == expected(after, plan)
            assert bench.state() == [set(output.rows)]


@given(history=rows, window=windows)
@examples(300)
def test_over_window(history: list[Relation], window: Any) -> None:
    check(over_window(*window), history)


NEAR = [
    BY_ROW[0],
    *(call for call in BY_ROW if call.function in ("lag", "lead")),
    *(call for call in [*BY_ROW, *AGGREGATES] if call.frame in FRAMES[2:5]),
]
many_rows = histories(groups, values, texts, keys=30, epochs=4)


@given(
    history=many_rows,
    partition_by=st.sampled_from([(), (GROUP,)]),
    order=st.sampled_from([(SortKey(VALUE),), (SortKey(TEXT, descending=True), SortKey(VALUE))]),
    calls=st.lists(st.sampled_from(NEAR), min_size=1, max_size=3),
    changed=st.data(),
)
@examples(300)
def test_neighbours_are_enough(
    history: list[Relation], partition_by: Any, order: Any, calls: list[WindowCall], changed: st.DataObject
) -> None:
    """Few rows change of many: the others' results are still those of the whole partition."""
    full: Relation = {k: row for state in history for k, row in state.items()}
    states = [full]
    for _ in history:
        drawn = changed.draw(st.dictionaries(st.integers(0, 30), st.tuples(groups, values, texts), max_size=3))
        gone = changed.draw(st.sets(st.integers(0, 30), max_size=2))
        added: Relation = {k: (k, *row) for k, row in drawn.items()}
        after = {**states[-1], **added}
        states.append({k: row for k, row in after.items() if k not in gone})
    check(over_window(partition_by, order, calls), states)


def test_a_change_in_a_large_partition_reads_neighbours(monkeypatch: Any) -> None:
    read: list[int] = []
    scan = StateTable.scan_around

    def counted(*args: Any) -> pa.Table:
        found = scan(*args)
        read.append(found.num_rows)
        return found

    monkeypatch.setattr(StateTable, "scan_around", counted)
    plan = over_window((), (SortKey(VALUE),), [BY_ROW[2], next(c for c in AGGREGATES if c.frame == FRAMES[3])])
    many: Relation = {k: (k, 0, 10 * k, "x") for k in range(1000)}
    with FragmentBench(plan) as bench:
        bench.run(delta({}, many, TYPES, random.Random(1)))
        after = {**many, 500: (500, 0, 5000, "y")}
        changes = bench.run(delta(many, after, TYPES, random.Random(1)))
    assert read[1] == 7  # the row, and three on either side
    assert changes.num_rows == 4  # itself, and the one behind, whose lag it is


def test_only_rows_with_another_result_come_out() -> None:
    plan = over_window((GROUP,), (SortKey(VALUE),), [BY_ROW[0], BY_ROW[2]])
    many: Relation = {k: (k, k % 2, 10 * k, str(k)) for k in range(100)}
    with FragmentBench(plan) as bench:
        bench.run(delta({}, many, TYPES, random.Random(1)))
        last: Row = (100, 0, 985, "new")
        changes = bench.run(delta(many, {**many, 100: last}, TYPES, random.Random(1)))
    assert changes.num_rows == 1 + 0  # behind the last row of its partition: nothing moves
