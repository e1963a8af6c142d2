"""Filter, Project, Union, Values, Dml and Source."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.relation.dml import DmlExecutor
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.plan.operators import Source, StreamFilter, StreamPlan, StreamProject, StreamUnion, StreamValues
from risingpy.plan.state_tables import marker_table
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, SqlType
from risingpy.types import NARROW_NUMERIC as NUMERIC
from tests.examples import examples
from tests.executors.bench import (
    FragmentBench,
    Input,
    Output,
    Relation,
    Row,
    chunk,
    comparable,
    delta,
    leaf,
    properties,
    rows_of,
)
from tests.executors.histories import bigints, histories, numerics, texts

TYPES = [BIGINT, BIGINT, VARCHAR, NUMERIC]
KEY, NUMBER, TEXT, AMOUNT = (InputRef(k, type_) for k, type_ in enumerate(TYPES))
rows = histories(bigints, texts, numerics)


def call(name: str, *args: Expr, type_: SqlType = BOOLEAN) -> Call:
    return Call(name, args, type_)


def big(value: int) -> Literal:
    return Literal(value, BIGINT)


def check(plan: StreamPlan, history: list[Relation], query: Callable[[Row], list[Row]]) -> int:
    """Every epoch's answer is `query` over the input's rows; returns the errors of the last epoch."""
    with FragmentBench(plan) as bench:
        output = Output((0,))
        for before, after in pairwise([{}, *history]):
            output.take(bench.run(delta(before, after, TYPES, random.Random(1))))
            assert set(output.rows) == {comparable(row) for source in after.values() for row in query(source)}
        assert bench.last is not None
        return bench.last.errors


def either(condition: Callable[[Row], bool]) -> Callable[[Row], list[Row]]:
    return lambda row: [row] if condition(row) else []


@given(history=rows)
@examples(25)
def test_filter_by_arrow(history: list[Relation]) -> None:
    predicate = call("or", call("gt", NUMBER, big(0)), call("eq", TEXT, Literal("a", VARCHAR)))
    plan = StreamFilter(leaf(TYPES), predicate, properties(TYPES, (0,)))
    check(plan, history, either(lambda row: (row[1] is not None and int(str(row[1])) > 0) or row[2] == "a"))


@given(history=rows)
@examples(15)
def test_filter_by_duckdb_and_its_errors(history: list[Relation]) -> None:
    """100 / number > 0 fails for 0: that is false, and counted."""
    predicate = call("gt", call("modulo", big(100), NUMBER, type_=BIGINT), big(0))
    plan = StreamFilter(leaf(TYPES), predicate, properties(TYPES, (0,)))
    check(plan, history, either(lambda row: row[1] not in (None, 0) and 100 % abs(int(str(row[1]))) > 0))


@given(history=rows)
@examples(25)
def test_project_drops_changes_that_cancel(history: list[Relation]) -> None:
    plan = StreamProject(leaf(TYPES), (KEY, NUMBER), properties(TYPES[:2], (0,)))
    check(plan, history, lambda row: [row[:2]])


@given(history=rows)
@examples(15)
def test_project_over_filter(history: list[Relation]) -> None:
    total = call("add", AMOUNT, AMOUNT, type_=NUMERIC)
    shown = call("concat_op", TEXT, Literal("!", VARCHAR), type_=VARCHAR)
    below = StreamFilter(leaf(TYPES), call("is_not_null", TEXT), properties(TYPES, (0,)))
    plan = StreamProject(below, (KEY, shown, total), properties([BIGINT, VARCHAR, NUMERIC], (0,)))

    def query(row: Row) -> list[Row]:
        amount = None if row[3] is None else 2 * Decimal(str(row[3]))
        return [] if row[2] is None else [(row[0], f"{row[2]}!", amount)]

    check(plan, history, query)


def test_a_failed_expression_is_null_and_counted() -> None:
    ratio = call("divide", big(10), NUMBER, type_=BIGINT)
    one_more = call("add", NUMBER, big(1), type_=BIGINT)
    plan = StreamProject(leaf(TYPES), (KEY, ratio, one_more), properties([BIGINT] * 3, (0,)))
    largest = 2**63 - 1
    inserted: list[Row] = [(1, 0, None, None), (2, 5, None, None), (3, None, None, None), (4, largest, None, None)]
    with FragmentBench(plan) as bench:
        changes = bench.run(chunk([(1, row) for row in inserted], TYPES))
        assert rows_of(changes) == [(1, 1, None, 1), (1, 2, 2, 6), (1, 3, None, None), (1, 4, 0, None)]
        assert bench.last is not None
        assert bench.last.errors == 2


def test_case_does_not_fail_for_a_branch_not_taken() -> None:
    ratio = call("divide", big(10), NUMBER, type_=BIGINT)
    safe = Case(((call("eq", NUMBER, big(0)), Literal(None, BIGINT)),), ratio, BIGINT)
    plan = StreamProject(leaf(TYPES), (KEY, safe), properties([BIGINT] * 2, (0,)))
    with FragmentBench(plan) as bench:
        changes = bench.run(chunk([(1, (1, 0, None, None)), (1, (2, 5, None, None))], TYPES))
        assert changes.column("c1").to_pylist() == [None, 2]
        assert bench.last is not None
        assert bench.last.errors == 0


@given(left=rows, right=rows)
@examples(15)
def test_union(left: list[Relation], right: list[Relation]) -> None:
    plan = StreamUnion((leaf(TYPES), leaf(TYPES)), properties([*TYPES, INTEGER], (0, 4)))
    with FragmentBench(plan) as bench:
        output = Output((0, 4))
        before: tuple[Relation, Relation] = ({}, {})
        for after in zip(left, right, strict=False):
            deltas = [delta(b, a, TYPES, random.Random(1)) for b, a in zip(before, after, strict=True)]
            output.take(bench.run(*deltas))
            expected = {(*row, ordinal) for ordinal, side in enumerate(after) for row in side.values()}
            assert set(output.rows) == {comparable(row) for row in expected}
            before = after


def test_values_once() -> None:
    types = [INTEGER, DOUBLE]
    ratio = Call("divide", (Literal(1.0, DOUBLE), Literal(0.0, DOUBLE)), DOUBLE)
    constant = ((Literal(1, INTEGER), Cast(Literal("2.5", VARCHAR), DOUBLE)), (Literal(2, INTEGER), ratio))
    marker = marker_table(9, "job")
    with FragmentBench(StreamValues(constant, properties(types, (0,)), marker), [marker]) as bench:
        assert rows_of(bench.run()) == [(1, 1, 2.5), (1, 2, None)]
        assert bench.last is not None
        assert bench.last.errors == 1
        assert bench.run().num_rows == 0
        assert bench.state() == [{(True,)}]


def test_source_picks_columns() -> None:
    plan = Source(7, (2, 0), properties([VARCHAR, BIGINT], (1,), append_only=True))
    with FragmentBench(plan) as bench:
        given_rows = chunk([(1, (1, 2, "x", None))], TYPES)
        assert rows_of(bench.run(sources={7: given_rows})) == [(1, "x", 1)]
        assert bench.run().num_rows == 0


@given(keys=st.lists(st.integers(-5, 5)), shards=st.integers(1, 4))
@examples(25)
def test_dml_goes_to_one_shard_each_in_log_order(keys: list[int], shards: int) -> None:
    logged = chunk([(1, (key, position, None, None)) for position, key in enumerate(keys)], TYPES)
    parts = [
        DmlExecutor(
            table_id=3,
            distribution=(0,),
            types=TYPES[:1],
            empty=chunk([], TYPES),
            epoch_input=Input(1, logged={3: logged}),
            shard=shard,
            shards=shards,
        ).execute([])
        for shard in range(shards)
    ]
    positions = [part.column("c1").to_pylist() for part in parts]
    assert all(found == sorted(found) for found in positions)
    assert sorted(np.concatenate([np.array(found, int) for found in positions]).tolist()) == list(range(len(keys)))
    owners = [set(part.column("c0").to_pylist()) for part in parts]
    assert sum(len(each) for each in owners) == len(set(keys))
    assert isinstance(parts[0], pa.Table)
