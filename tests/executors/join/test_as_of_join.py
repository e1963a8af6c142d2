"""AsOfJoin: after every epoch each left row is joined with its nearest right row, and the state is a new build's."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.stream.join import plan_join
from risingpy.plan import logical
from risingpy.plan.expressions import Call
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import StreamPlan
from risingpy.plan.traversal import all_state_tables
from risingpy.types import BIGINT, BOOLEAN, INTEGER
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta
from tests.executors.histories import groups, histories
from tests.executors.join.test_hash_join import ID, KEY, LEFT, RIGHT, VALUE, aligned, both, equal, input_of, reference

TYPES = [BIGINT, INTEGER, INTEGER]
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
values = st.sampled_from([None, 0, 1, 2, 3])


def plan_of(kind: JoinKind, function: str) -> StreamPlan:
    left, right = (input_of(TYPES, (ID,), (KEY,)) for _ in range(2))
    schema = left.properties.schema
    inputs = [logical.Values((), schema) for _ in range(2)]
    nearest = Call(function, (reference(LEFT + VALUE), reference(RIGHT + VALUE)), BOOLEAN)
    join = logical.Join(inputs[0], inputs[1], kind, both(equal(), nearest), (*schema, *schema))
    return plan_join(join, left, right, "job", count(1).__next__, RowEstimates()).plan


def expected(kind: JoinKind, function: str, left: Relation, right: Relation) -> set[object]:
    rows: set[object] = set()
    for a in left.values():
        partner = nearest_of(a, list(right.values()), function)
        if partner is not None or kind is JoinKind.ASOF_LEFT:
            rows.add(comparable((*a, *(partner or (None,) * 3))))
    return rows


def nearest_of(row: Row, others: Sequence[Row], function: str) -> Row | None:
    """By the book: the largest value from below, or the smallest from above; among equals the first id."""
    comparisons: dict[str, Callable[[Any, Any], bool]] = {
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    fits = comparisons[function]
    matching = [
        other
        for other in others
        if None not in (row[KEY], row[VALUE], other[VALUE])
        and row[KEY] == other[KEY]
        and fits(row[VALUE], other[VALUE])
    ]
    sign = -1 if function in ("gt", "ge") else 1
    return min(matching, key=lambda other: (sign * other[VALUE], other[ID]), default=None)  # type: ignore[operator]


@pytest.mark.parametrize("kind", [JoinKind.ASOF, JoinKind.ASOF_LEFT], ids=lambda kind: kind.value)
@pytest.mark.parametrize("function", COMPARISONS)
@given(left=histories(groups, values), right=histories(groups, values))
@examples(40)
def test_as_of_join(kind: JoinKind, function: str, left: list[Relation], right: list[Relation]) -> None:
    order = random.Random(1)
    plan = plan_of(kind, function)
    tables = list(all_state_tables(plan))
    left, right = aligned(left, right)
    with FragmentBench(plan, tables) as bench, FragmentBench(plan, tables) as fresh:
        output = Output(plan.properties.stream_key)
        for (old_left, new_left), (old_right, new_right) in zip(pairwise(left), pairwise(right), strict=True):
            output.take(bench.run(delta(old_left, new_left, TYPES, order), delta(old_right, new_right, TYPES, order)))
            assert set(output.rows) == expected(kind, function, new_left, new_right)
        fresh.run(delta({}, left[-1], TYPES, order), delta({}, right[-1], TYPES, order))
        assert bench.state() == fresh.state()
