"""HashJoin: after every epoch the output is the join of the inputs; the state is that of a join made at once."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.join import output as join_output
from risingpy.executors.join import pairs as join_pairs
from risingpy.executors.join import side as join_side
from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.stream.distribution import hash_by
from risingpy.optimizer.stream.join import plan_join
from risingpy.plan import logical
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.joins import HashJoin
from risingpy.plan.logical import Field, JoinKind
from risingpy.plan.operators import Exchange, StreamPlan, StreamProject, StreamValues
from risingpy.plan.properties import Properties
from risingpy.plan.traversal import all_state_tables
from risingpy.storage.codec.table_schema import TableSchema, ValueFormat
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, INTERVAL, VARCHAR, SqlType
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, chunk, comparable, delta, rows_of
from tests.executors.histories import doubles, groups, histories, intervals, texts

ID, KEY, VALUE = range(3)
LEFT, RIGHT = 0, 3  # where each side's columns begin in a condition
KINDS = [
    JoinKind.INNER,
    JoinKind.LEFT,
    JoinKind.RIGHT,
    JoinKind.FULL,
    JoinKind.LEFT_SEMI,
    JoinKind.LEFT_ANTI,
]
SEMI = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
hot = st.sampled_from([None, 1, 1, 1, 2])
values = st.sampled_from([None, 0, 1, 2])


def input_of(types: Sequence[SqlType], key: tuple[int, ...], spread: tuple[int, ...]) -> Exchange:
    """An input of the fragment with stream key `key`, spread by `spread`."""
    fields = tuple(Field(f"f{k}", type_) for k, type_ in enumerate(types))
    properties = Properties(fields, key, hash_by(spread), append_only=False)
    below = StreamValues((), properties, TableSchema(0, "", (), (), (), (), ValueFormat.PLAIN))
    return Exchange(below, properties)


@dataclass(frozen=True)
class Case:
    """A join of rows (id, key, value) on both sides; `matches` says by the book which rows meet."""

    condition: Expr | None
    matches: Callable[[Row, Row], bool]
    key_type: SqlType = INTEGER
    left_key: tuple[int, ...] = (ID,)
    right_key: tuple[int, ...] = (ID,)
    is_equi: bool = True

    @property
    def types(self) -> list[SqlType]:
        return [BIGINT, self.key_type, INTEGER]

    def plan(self, kind: JoinKind) -> StreamPlan:
        spread = (KEY,) if self.is_equi else ()
        left, right = (input_of(self.types, key, spread) for key in (self.left_key, self.right_key))
        schema = left.properties.schema
        logically = [logical.Values((), schema) for _ in range(2)]
        both = schema if kind in SEMI else (*schema, *schema)
        join = logical.Join(logically[0], logically[1], kind, self.condition, both)
        return plan_join(join, left, right, "job", count(1).__next__, RowEstimates()).plan

    def expected(self, kind: JoinKind, left: Relation, right: Relation) -> set[object]:
        """The join's own columns, as a set: ids tell rows apart."""
        meets = [(a, b) for a, b in itertools.product(left.values(), right.values()) if self.matches(a, b)]
        met_left, met_right = {comparable(a) for a, _ in meets}, {comparable(b) for _, b in meets}
        nothing: Row = (None,) * 3
        if kind is JoinKind.LEFT_SEMI:
            return met_left
        alone = [a for a in left.values() if comparable(a) not in met_left]
        if kind is JoinKind.LEFT_ANTI:
            return {comparable(a) for a in alone}
        rows = {comparable((*a, *b)) for a, b in meets}
        if kind in (JoinKind.LEFT, JoinKind.FULL):
            rows |= {comparable((*a, *nothing)) for a in alone}
        if kind in (JoinKind.RIGHT, JoinKind.FULL):
            rows |= {comparable((*nothing, *b)) for b in right.values() if comparable(b) not in met_right}
        return rows


def reference(position: int, type_: SqlType = INTEGER) -> InputRef:
    return InputRef(position, type_)


def equal(type_: SqlType = INTEGER, *, function: str = "eq") -> Expr:
    return Call(function, (reference(LEFT + KEY, type_), reference(RIGHT + KEY, type_)), BOOLEAN)


def both(*parts: Expr) -> Expr:
    first, *others = parts
    for other in others:
        first = Call("and", (first, other), BOOLEAN)
    return first


def is_same(a: object, b: object) -> bool:
    """SQL's equality of values that are not NULL."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, pa.MonthDayNano) and isinstance(b, pa.MonthDayNano):
        return (a.months * 30 + a.days, a.nanoseconds) == (b.months * 30 + b.days, b.nanoseconds)
    return a == b


def keys_equal(a: Row, b: Row) -> bool:
    return a[KEY] is not None and b[KEY] is not None and is_same(a[KEY], b[KEY])


def value_is_less(a: Row, b: Row) -> bool:
    return a[VALUE] is not None and b[VALUE] is not None and a[VALUE] < b[VALUE]  # type: ignore[operator]


LESS = Call("lt", (reference(LEFT + VALUE), reference(RIGHT + VALUE)), BOOLEAN)
FAILS_AT_ZERO = Call(
    "gt",
    (Call("divide", (reference(LEFT + VALUE), reference(RIGHT + VALUE)), INTEGER), reference(RIGHT + ID, BIGINT)),
    BOOLEAN,
)

CASES: dict[str, tuple[Case, st.SearchStrategy[object]]] = {
    "equality": (Case(equal(), keys_equal), groups),
    "hot_key": (Case(equal(), keys_equal), hot),
    "condition": (Case(both(equal(), LESS), lambda a, b: keys_equal(a, b) and value_is_less(a, b)), hot),
    "null_safe": (
        Case(equal(function="is_not_distinct_from"), lambda a, b: a[KEY] == b[KEY]),
        groups,
    ),
    "doubles": (Case(equal(DOUBLE), keys_equal, DOUBLE), doubles),
    "intervals": (Case(equal(INTERVAL), keys_equal, INTERVAL), intervals),
    "texts": (Case(equal(VARCHAR), keys_equal, VARCHAR), texts),
    "two_keys": (
        Case(
            both(equal(), Call("eq", (reference(LEFT + VALUE), reference(RIGHT + VALUE)), BOOLEAN)),
            lambda a, b: keys_equal(a, b) and a[VALUE] is not None and a[VALUE] == b[VALUE],
        ),
        groups,
    ),
    "no_key": (Case(LESS, value_is_less, is_equi=False), groups),
    "cross": (Case(None, lambda a, b: True, is_equi=False), groups),
}


def check(case: Case, kind: JoinKind, left: Sequence[Relation], right: Sequence[Relation]) -> None:
    """Runs a history; compares each epoch's answer, and the state at the end with that of a single epoch."""
    order = random.Random(1)
    plan = case.plan(kind)
    tables = list(all_state_tables(plan))
    width = len(case.types) * (1 if kind in SEMI else 2)
    with FragmentBench(plan, tables) as bench, FragmentBench(plan, tables) as fresh:
        output = Output(plan.properties.stream_key)
        for (old_left, new_left), (old_right, new_right) in zip(pairwise(left), pairwise(right), strict=True):
            changes = bench.run(
                delta(old_left, new_left, case.types, order), delta(old_right, new_right, case.types, order)
            )
            output.take(changes)
            shown = {cast(Row, row)[:width] for row in output.rows}
            assert shown == case.expected(kind, new_left, new_right)
            assert len(output.rows) == len(shown)
        fresh.run(delta({}, left[-1], case.types, order), delta({}, right[-1], case.types, order))
        assert bench.state() == fresh.state()


def aligned(left: list[Relation], right: list[Relation]) -> tuple[list[Relation], list[Relation]]:
    """Both histories from nothing, equally long: what ends early stays as it is."""
    epochs = max(len(left), len(right))
    return tuple([{}, *each, *[each[-1]] * (epochs - len(each))] for each in (left, right))  # type: ignore[return-value]


# The right side of a semi join on equality is aggregated first; without a key that takes a fragment of its own.
COMBINATIONS = [(name, kind) for name in CASES for kind in KINDS if name != "cross" or kind not in SEMI]


@pytest.mark.parametrize(("name", "kind"), COMBINATIONS, ids=lambda value: getattr(value, "value", value))
@given(data=st.data())
@examples(12)
def test_join(name: str, kind: JoinKind, data: st.DataObject) -> None:
    case, keys = CASES[name]
    left, right = aligned(*(data.draw(histories(keys, values)) for _ in range(2)))
    check(case, kind, left, right)


def by_key(history: list[Relation]) -> list[Relation]:
    """Rows whose key is their id: at most one per key."""
    return [{id_: (id_, id_, row[VALUE]) for id_, row in state.items()} for state in history]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("unique", ["left", "right", "both"])
@given(left=histories(groups, values), right=histories(groups, values))
@examples(15)
def test_a_side_with_one_row_per_key(kind: JoinKind, unique: str, left: list[Relation], right: list[Relation]) -> None:
    left_is, right_is = unique in ("left", "both"), unique in ("right", "both")
    case = Case(
        both(equal(), LESS),
        lambda a, b: keys_equal(a, b) and value_is_less(a, b),
        left_key=(KEY,) if left_is else (ID,),
        right_key=(KEY,) if right_is else (ID,),
    )
    left, right = aligned(by_key(left) if left_is else left, by_key(right) if right_is else right)
    check(case, kind, left, right)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
@given(left=histories(hot, values, keys=12), right=histories(hot, values, keys=12))
@examples(10)
def test_hot_keys_are_worked_through_in_pieces(kind: JoinKind, left: list[Relation], right: list[Relation]) -> None:
    case, _ = CASES["condition"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_side, "ROWS_PER_PAGE", 3)
        patch.setattr(join_output, "ROWS_PER_PIECE", 4)
        check(case, kind, *aligned(left, right))


@given(
    left=st.lists(st.integers(0, 3), max_size=9), right=st.lists(st.integers(0, 3), max_size=9), limit=st.integers(1, 9)
)
def test_pairs_of_equal_keys(left: list[int], right: list[int], limit: int) -> None:
    index = join_pairs.RowsByKey.of(np_codes(right), 4)
    pieces = list(join_pairs.pairs(np_codes(left), index, limit))
    assert all(1 <= len(i) == len(j) <= limit for i, j in pieces)
    found = [pair for i, j in pieces for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert sorted(found) == [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]


def np_codes(codes: list[int]) -> join_pairs.Integers:
    return np.array(codes, np.int64)


def test_a_condition_that_fails_is_false_and_counted() -> None:
    case = Case(both(equal(), FAILS_AT_ZERO), keys_equal)
    with FragmentBench(case.plan(JoinKind.LEFT)) as bench:
        left, right = chunk([(1, (1, 1, 5))], case.types), chunk([(1, (1, 1, 0))], case.types)
        assert rows_of(bench.run(left, right)) == [(1, 1, 1, 5, None, None, None)]
        assert bench.last is not None
        assert bench.last.errors == 1


def test_a_partner_of_nulls_is_not_a_row_without_partner() -> None:
    """The row comes and finds a partner that looks like none: nothing changes for whoever reads it."""
    case = Case(None, lambda a, b: True, left_key=(ID,), right_key=(), is_equi=False)
    with FragmentBench(case.plan(JoinKind.LEFT)) as bench:
        nothing = chunk([], case.types)
        bench.run(chunk([(1, (1, 1, 5))], case.types), nothing)
        assert bench.run(nothing, chunk([(1, (None, None, None))], case.types)).num_rows == 0
        assert rows_of(bench.run(nothing, chunk([(-1, (None, None, None)), (1, (None, 2, 3))], case.types))) == [
            (-1, 1, 1, 5, None, None, None),
            (1, 1, 1, 5, None, 2, 3),
        ]


def test_minus_zero_stays_what_it_is() -> None:
    case, _ = CASES["doubles"]
    with FragmentBench(case.plan(JoinKind.INNER)) as bench:
        bench.run(chunk([(1, (1, -0.0, 5))], case.types), chunk([], case.types))
        (row,) = rows_of(bench.run(chunk([], case.types), chunk([(1, (2, 0.0, 6))], case.types)))
        assert math.copysign(1, float(str(row[2]))) == -1


def test_rows_that_cannot_match_are_not_kept() -> None:
    case, _ = CASES["equality"]
    plan = case.plan(JoinKind.FULL)
    with FragmentBench(plan, list(all_state_tables(plan))) as bench:
        bench.run(chunk([(1, (1, None, 5))], case.types), chunk([(1, (2, None, 6))], case.types))
        assert not any(bench.state())


def test_unused_plan_parts_are_not_there() -> None:
    """A projection only where columns move."""
    case, _ = CASES["equality"]
    assert isinstance(case.plan(JoinKind.INNER), HashJoin)
    assert not isinstance(case.plan(JoinKind.LEFT_SEMI), StreamProject)
