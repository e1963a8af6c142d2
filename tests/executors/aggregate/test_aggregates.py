"""HashAgg, SimpleAgg and LocalAgg: after every epoch the output is what the query gives over the input."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.builders.few_rows import few_executor
from risingpy.executors.change_chunk import empty_chunk
from risingpy.functions.aggregate.layout import partial_types, state_types
from risingpy.plan.aggregates import AggState, HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.logical import AggCall
from risingpy.plan.operators import StreamPlan
from risingpy.plan.state_tables import materialized_input_state, value_state
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, INTERVAL, VARCHAR, SqlType, TypeKind, numeric
from risingpy.types import NARROW_NUMERIC as NUMERIC
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, chunk, comparable, delta, leaf, properties
from tests.executors.histories import BIG, bigints, booleans, doubles, groups, histories, intervals, numerics, texts

COUNT = AggCall("count", (), BIGINT)
KEY, GROUP, VALUE, FLAG = range(4)

# argument type → (values, calls besides count(*))
CASES: dict[SqlType, tuple[st.SearchStrategy[object], list[AggCall]]] = {
    BIGINT: (bigints, [AggCall("sum", (VALUE,), numeric(38, 0)), AggCall("min", (VALUE,), BIGINT)]),
    DOUBLE: (doubles, [AggCall("sum", (VALUE,), DOUBLE), AggCall("max", (VALUE,), DOUBLE)]),
    NUMERIC: (numerics, [AggCall("sum", (VALUE,), NUMERIC), AggCall("min", (VALUE,), NUMERIC)]),
    VARCHAR: (texts, [AggCall("max", (VALUE,), VARCHAR), AggCall("count", (VALUE,), BIGINT)]),
    BOOLEAN: (booleans, [AggCall("bool_and", (VALUE,), BOOLEAN), AggCall("bool_or", (VALUE,), BOOLEAN)]),
    INTERVAL: (intervals, [AggCall("sum", (VALUE,), INTERVAL), AggCall("count", (VALUE,), BIGINT)]),
}


def expected_call(call: AggCall, rows: Sequence[Row]) -> object:
    """The aggregate over rows, by the book."""
    if call.filter is not None:
        rows = [row for row in rows if row[call.filter] is True]
    if not call.args:
        return len(rows)
    values = [row[call.args[0]] for row in rows if row[call.args[0]] is not None]
    if call.function == "count":
        return len(values)
    if not values:
        return None
    match call.function:
        case "sum":
            return _sum(call, values)
        case "min":
            return min(values, key=_order)
        case "max":
            return max(values, key=_order)
        case "bool_and":
            return all(values)
        case _:
            return any(values)


def _order(value: object) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), value)
    return value.encode() if isinstance(value, str) else value


def _sum(call: AggCall, values: Sequence[object]) -> object:
    if call.type == INTERVAL:
        return pa.MonthDayNano([sum(v[k] for v in values) for k in range(3)])  # type: ignore[index]
    if call.type == DOUBLE:
        floats = [float(str(value)) for value in values]
        if any(math.isnan(v) for v in floats) or {math.inf, -math.inf} <= set(floats):
            return math.nan
        return sum(floats) if any(math.isinf(v) for v in floats) else math.fsum(floats)
    total = sum((Decimal(str(value)) for value in values), Decimal(0))
    limit = Decimal(10) ** ((call.type.precision or 0) - (call.type.scale or 0))
    return None if abs(total) >= limit else total


def expected_groups(relation: Relation, calls: Sequence[AggCall]) -> set[object]:
    """The answer of the query with GROUP BY."""
    by_group: dict[object, list[Row]] = {}
    for row in relation.values():
        by_group.setdefault(row[GROUP], []).append(row)
    return {comparable((group, *(expected_call(c, rows) for c in calls))) for group, rows in by_group.items()}


def expected_row(relation: Relation, calls: Sequence[AggCall]) -> set[object]:
    """The answer of the query without GROUP BY."""
    return {comparable(tuple(expected_call(call, list(relation.values())) for call in calls))}


def states(
    calls: Sequence[AggCall], input: StreamPlan, types: Sequence[SqlType], group_key: tuple[int, ...]
) -> tuple[AggState, ...]:
    """As the planner lays them out; `types` are those of the rows that are aggregated."""
    kept = []
    fields = [input.properties.schema[k] for k in group_key]
    for number, call in enumerate(calls, 1):
        if call.function in ("min", "max") and not input.properties.append_only:
            kept.append(materialized_input_state(number, "job", input.properties, group_key, call, ()))
        else:
            arguments = [types[k] for k in call.args]
            kept.append(value_state(number, "job", fields, (), arguments, state_types(call, types)))
    return tuple(kept)


def hash_agg(calls: Sequence[AggCall], input: StreamPlan) -> HashAgg:
    types = [field.type for field in input.properties.schema]
    out = properties([types[GROUP], *(call.type for call in calls)], (0,))
    return HashAgg(input, (GROUP,), tuple(calls), states(calls, input, types, (GROUP,)), 0, False, out)


def simple_agg(calls: Sequence[AggCall], types: Sequence[SqlType]) -> SimpleAgg:
    input = leaf(types)
    out = properties([call.type for call in calls])
    return SimpleAgg(input, tuple(calls), states(calls, input, types, ()), 0, False, out)


def tables(plan: HashAgg | SimpleAgg) -> list[TableSchema]:
    return [state.table for state in plan.states]


def check(
    plan: HashAgg | SimpleAgg,
    types: Sequence[SqlType],
    history: Sequence[Relation],
    expected: Callable[[Relation, Sequence[AggCall]], set[object]],
) -> None:
    """Runs a history; compares each epoch's answer, and the state at the end with that of a single epoch."""
    order = random.Random(1)
    with FragmentBench(plan, tables(plan)) as bench, FragmentBench(plan, tables(plan)) as fresh:
        output = Output(plan.properties.stream_key)
        for before, after in pairwise([{}, *history]):
            output.take(bench.run(delta(before, after, types, order)))
            assert set(output.rows) == expected(after, plan.calls)
        fresh.run(delta({}, history[-1], types, order))
        assert bench.state() == fresh.state()


@pytest.mark.parametrize("argument", CASES, ids=str)
@given(data=st.data())
@examples(25)
def test_hash_agg(argument: SqlType, data: st.DataObject) -> None:
    values, calls = CASES[argument]
    types = [BIGINT, INTEGER, argument, BOOLEAN]
    every = [COUNT, *calls, AggCall("count", (VALUE,), BIGINT, filter=FLAG)]
    every.append(AggCall(calls[0].function, (VALUE,), calls[0].type, filter=FLAG))
    plan = hash_agg(every, leaf(types))
    check(plan, types, data.draw(histories(groups, values, booleans)), expected_groups)


@pytest.mark.parametrize("argument", [BIGINT, NUMERIC, VARCHAR], ids=str)
@given(data=st.data())
@examples(25)
def test_counts_and_sums(argument: SqlType, data: st.DataObject) -> None:
    """Calls for which a few rows need no columns: epochs of columns take turns with those of rows."""
    values, calls = CASES[argument]
    types = [BIGINT, INTEGER, argument, BOOLEAN]
    every = [COUNT, *(call for call in calls if call.function in ("count", "sum"))]
    every += [AggCall(call.function, call.args, call.type, filter=FLAG) for call in every]
    plan = hash_agg(every, leaf(types))
    assert few_executor(plan) is not None
    history = data.draw(histories(groups, values, booleans))
    check(plan, types, history, expected_groups)
    one_row = simple_agg(every, types)
    assert few_executor(one_row) is not None
    check(one_row, types, history, expected_row)


@pytest.mark.parametrize("argument", CASES, ids=str)
@given(data=st.data())
@examples(15)
def test_simple_agg(argument: SqlType, data: st.DataObject) -> None:
    values, calls = CASES[argument]
    types = [BIGINT, INTEGER, argument, BOOLEAN]
    every = [COUNT, *calls]
    plan = simple_agg(every, types)
    check(plan, types, data.draw(histories(groups, values, booleans)), expected_row)


@pytest.mark.parametrize("argument", [t for t in CASES if t.kind is not TypeKind.VARCHAR], ids=str)
@given(data=st.data())
@examples(15)
def test_two_phases(argument: SqlType, data: st.DataObject) -> None:
    """Two shards' LocalAggs before one HashAgg."""
    values, calls = CASES[argument]
    types = [BIGINT, INTEGER, argument, BOOLEAN]
    every = [COUNT, *(call for call in calls if call.function not in ("min", "max"))]
    local, plan = two_phases(every, types)
    order = random.Random(1)
    with FragmentBench(local) as first, FragmentBench(plan, tables(plan)) as second:
        output = Output((0,))
        for before, after in pairwise([{}, *data.draw(histories(groups, values, booleans))]):
            parts = []
            for half in (0, 1):
                own = [{k: r for k, r in state.items() if int(str(k)) % 2 == half} for state in (before, after)]
                parts.append(first.run(delta(own[0], own[1], types, order)))
            output.take(second.run(pa.concat_tables(parts)))
            assert set(output.rows) == expected_groups(after, every)


def two_phases(
    calls: Sequence[AggCall], types: Sequence[SqlType], *, append_only: bool = False
) -> tuple[LocalAgg, HashAgg]:
    partials: list[SqlType] = [types[GROUP]]
    merged = []
    for call in calls:
        own = partial_types(call, types)
        merged.append(AggCall(call.function, tuple(range(len(partials), len(partials) + len(own))), call.type))
        partials += own
    partials.append(BIGINT)
    input = leaf(types, append_only=append_only)
    local = LocalAgg(input, (GROUP,), tuple(calls), properties(partials))
    received = leaf(partials)
    kept = [
        value_state(
            number,
            "job",
            [received.properties.schema[0]],
            (),
            [types[k] for k in call.args],
            state_types(call, types),
        )
        for number, call in enumerate(calls, 1)
    ]
    out = properties([types[GROUP], *(call.type for call in calls)], (0,))
    return local, HashAgg(received, (0,), tuple(merged), tuple(kept), 0, True, out)


@given(history=histories(groups, doubles, booleans))
@examples(25)
def test_append_only_extremes(history: list[Relation]) -> None:
    """Of an input that only grows, min and max keep a value."""
    types = [BIGINT, INTEGER, DOUBLE, BOOLEAN]
    calls = [COUNT, AggCall("min", (VALUE,), DOUBLE), AggCall("max", (VALUE,), DOUBLE)]
    local, plan = two_phases(calls, types, append_only=True)
    grown: dict[object, Row] = {}
    with FragmentBench(local) as first, FragmentBench(plan) as second:
        output = Output((0,))
        for number, state in enumerate(history):
            added: dict[object, Row] = {(number, key): row for key, row in state.items()}
            output.take(second.run(first.run(chunk([(1, row) for row in added.values()], types))))
            grown.update(added)
            assert set(output.rows) == expected_groups(grown, calls)


def test_global_row_from_the_first_epoch() -> None:
    types = [BIGINT, INTEGER, BIGINT, BOOLEAN]
    calls = [COUNT, AggCall("sum", (VALUE,), numeric(38, 0))]
    plan = simple_agg(calls, types)
    with FragmentBench(plan) as bench:
        assert bench.run(empty_chunk(types)).to_pylist() == [{"op": 1, "c0": 0, "c1": None}]
        assert bench.run(empty_chunk(types)).num_rows == 0


def test_sum_beyond_its_type_is_null_until_it_fits_again() -> None:
    types = [BIGINT, INTEGER, NUMERIC, BOOLEAN]
    plan = hash_agg([COUNT, AggCall("sum", (VALUE,), NUMERIC)], leaf(types))
    large = Decimal(9) * 10**21
    rows: list[Row] = [(key, 0, large, None) for key in range(40)]
    with FragmentBench(plan) as bench:
        (change,) = bench.run(chunk([(1, row) for row in rows], types)).to_pylist()
        assert change == {"op": 1, "c0": 0, "c1": 40, "c2": None}
        assert bench.last is not None
        assert bench.last.errors == 1
        changes = bench.run(chunk([(-1, row) for row in rows[1:]], types)).to_pylist()
        assert changes[1] == {"op": 1, "c0": 0, "c1": 1, "c2": large}
        assert bench.last.errors == 0


def test_integer_sum_is_exact_beyond_64_bits() -> None:
    types = [BIGINT, INTEGER, BIGINT, BOOLEAN]
    plan = hash_agg([COUNT, AggCall("sum", (VALUE,), numeric(38, 0))], leaf(types))
    with FragmentBench(plan) as bench:
        changes = bench.run(chunk([(1, (key, 0, BIG, None)) for key in range(1000)], types))
        assert changes.column("c2").to_pylist() == [1000 * BIG]


def test_float_sum_survives_what_it_took_in() -> None:
    types = [BIGINT, INTEGER, DOUBLE, BOOLEAN]
    plan = hash_agg([COUNT, AggCall("sum", (VALUE,), DOUBLE)], leaf(types))
    with FragmentBench(plan) as bench:
        small, large, none = (1, 0, 0.1, None), (2, 0, 1e18, None), (3, 0, math.inf, None)
        bench.run(chunk([(1, small), (1, large), (1, none)], types))
        changes = bench.run(chunk([(-1, large), (-1, none)], types)).to_pylist()
        assert changes[1]["c2"] == 0.1
        assert np.isinf(changes[0]["c2"])
