"""Aggregates that keep their input, in order or by value: after every epoch the output is what the query gives."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.stream.aggregation import plan_aggregate
from risingpy.plan.logical import AggCall, Aggregate, Field, Scan, SortKey
from risingpy.plan.operators import StreamPlan
from risingpy.plan.state_tables import state_tables
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, numeric
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta, leaf
from tests.executors.histories import booleans, doubles, groups, histories, texts

KEY, GROUP, VALUE, TEXT, FRACTION, FLAG = range(6)
TYPES = [BIGINT, INTEGER, INTEGER, VARCHAR, DOUBLE, BOOLEAN]
BY_VALUE = (SortKey(VALUE), SortKey(KEY))
integers = st.sampled_from([None, 0, 1, 2, -5, 7])

Expected = Callable[[list[Row]], object]


def values(rows: list[Row], column: int) -> list[Any]:
    return [row[column] for row in rows if row[column] is not None]


def flagged(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[FLAG] is True]


def in_order(rows: list[Row], *, descending: bool = False) -> list[Row]:
    """By value and key, NULLs last, or first in descending order."""
    ordered = sorted(rows, key=lambda row: (row[VALUE] is None, row[VALUE] or 0, row[KEY]))
    return ordered[::-1] if descending else ordered


def bits(rows: list[Row], combine: Callable[[int, int], int], start: int) -> object:
    result = start
    for value in values(rows, VALUE):
        result = combine(result, value)
    return result if values(rows, VALUE) else None


def most_frequent(rows: list[Row]) -> object:
    found = Counter(values(rows, VALUE))
    return min(found, key=lambda value: (-found[value], value)) if found else None


def only(rows: list[Row], column: int) -> object:
    return rows[0][column] if rows else None


# Each call and what it must give over a group's rows.
CASES: list[tuple[AggCall, Expected]] = [
    (AggCall("count", (VALUE,), BIGINT, distinct=True), lambda rows: len(set(values(rows, VALUE)))),
    (
        AggCall("sum", (VALUE,), BIGINT, distinct=True),
        lambda rows: sum(set(values(rows, VALUE))) if values(rows, VALUE) else None,
    ),
    (
        AggCall("count", (VALUE,), BIGINT, distinct=True, filter=FLAG),
        lambda rows: len(set(values(flagged(rows), VALUE))),
    ),
    (AggCall("count", (TEXT,), BIGINT, distinct=True), lambda rows: len(set(values(rows, TEXT)))),
    (AggCall("first_value", (TEXT,), VARCHAR, order_by=BY_VALUE), lambda rows: only(in_order(rows), TEXT)),
    (
        AggCall("last_value", (TEXT,), VARCHAR, order_by=BY_VALUE),
        lambda rows: only(in_order(rows, descending=True), TEXT),
    ),
    (
        AggCall("first_value", (TEXT,), VARCHAR, filter=FLAG, order_by=BY_VALUE),
        lambda rows: only(in_order(flagged(rows)), TEXT),
    ),
    (AggCall("mode", (VALUE,), INTEGER, order_by=(SortKey(VALUE),)), most_frequent),
    (
        AggCall("string_agg", (TEXT, TEXT), VARCHAR, distinct=True, order_by=(SortKey(TEXT),)),
        lambda rows: (
            "".join(t if not k else t + t for k, t in enumerate(sorted(set(values(rows, TEXT)), key=str.encode)))
            if values(rows, TEXT)
            else None
        ),
    ),
    (AggCall("bit_and", (VALUE,), INTEGER), lambda rows: bits(rows, lambda a, b: a & b, -1)),
    (AggCall("bit_or", (VALUE,), INTEGER), lambda rows: bits(rows, lambda a, b: a | b, 0)),
    (AggCall("bit_xor", (VALUE,), INTEGER), lambda rows: bits(rows, lambda a, b: a ^ b, 0)),
    (AggCall("max", (FRACTION,), DOUBLE), lambda rows: max(values(rows, FRACTION), key=_order, default=None)),
]


def _order(value: float) -> tuple[bool, float]:
    return math.isnan(value), value


def planned(calls: Sequence[AggCall], group_key: tuple[int, ...]) -> tuple[StreamPlan, list[TableSchema]]:
    """As the planner makes it, over an input that is on one shard."""
    ids = count(1)
    fields = tuple(Field(f"f{k}", type_) for k, type_ in enumerate(TYPES))
    scan = Scan(1, "t", tuple(range(len(TYPES))), fields)
    output = (*(fields[k] for k in group_key), *(Field(call.function, call.type) for call in calls))
    plan = plan_aggregate(Aggregate(scan, group_key, tuple(calls), output), leaf(TYPES), "job", lambda: next(ids))
    return plan, [table for node in nodes_of_fragment(plan) for table in state_tables(node)]


def check(
    calls: Sequence[AggCall], history: Sequence[Relation], expected: Sequence[Expected], *, grouped: bool
) -> None:
    plan, tables = planned(calls, (GROUP,) if grouped else ())
    order = random.Random(1)
    with FragmentBench(plan, tables) as bench, FragmentBench(plan, tables) as fresh:
        output = Output(plan.properties.stream_key)
        for before, after in pairwise([{}, *history]):
            output.take(bench.run(delta(before, after, TYPES, order)))
            by_group: dict[object, list[Row]] = {} if grouped else {None: []}
            for row in after.values():
                by_group.setdefault(row[GROUP] if grouped else None, []).append(row)
            wanted = {(*((key,) if grouped else ()), *(e(rows) for e in expected)) for key, rows in by_group.items()}
            shown = {row[: len(calls) + grouped] for row in output.rows}  # type: ignore[index]
            assert shown == {comparable(row) for row in wanted}
        fresh.run(delta({}, history[-1], TYPES, order))
        assert bench.state() == fresh.state()


rows = histories(groups, integers, texts, doubles, booleans)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0].function}")
@given(history=rows)
@examples(25)
def test_each_call(case: int, history: list[Relation]) -> None:
    call, expected = CASES[case]
    check([call], history, [expected], grouped=True)


@given(history=rows)
@examples(40)
def test_all_calls_together(history: list[Relation]) -> None:
    """Calls with the same distinct arguments share a dedup table."""
    check([call for call, _ in CASES], history, [expected for _, expected in CASES], grouped=True)


@given(history=rows)
@examples(25)
def test_without_groups(history: list[Relation]) -> None:
    check([call for call, _ in CASES], history, [expected for _, expected in CASES], grouped=False)


def test_distinct_calls_share_a_table() -> None:
    _, tables = planned([call for call, _ in CASES[:4]], (GROUP,))
    assert sum("distinct" in table.name for table in tables) == 2


def test_average_of_distinct_values() -> None:
    plan, tables = planned([AggCall("avg", (VALUE,), numeric(38, 16), distinct=True)], (GROUP,))
    assert sum("distinct" in table.name for table in tables) == 1
    assert plan.properties.schema[1].type == numeric(38, 16)
