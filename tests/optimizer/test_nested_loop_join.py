"""Which side of a join without an equality goes to every shard."""

from __future__ import annotations

import pytest

from risingpy.optimizer.stream.nested_loop_join import side_that_is_everywhere
from risingpy.plan import logical
from risingpy.plan.expressions import Call, InputRef
from risingpy.plan.joins import HashJoin
from risingpy.plan.logical import AggCall, Field, JoinKind
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.types import BIGINT, BOOLEAN
from tests.optimizer.conftest import PlannerBench

COLUMNS = {"k": BIGINT, "g": BIGINT}


def join(kind: JoinKind, left: logical.LogicalPlan, right: logical.LogicalPlan) -> logical.Join:
    """ON left.k < the right side's first column."""
    width = len(left.schema)
    semi = kind in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
    fields = left.schema if semi else (*left.schema, *right.schema)
    named = tuple(Field(f"c{i}", field.type) for i, field in enumerate(fields))
    below = Call("lt", (InputRef(0, BIGINT), InputRef(width, BIGINT)), BOOLEAN)
    return logical.Join(left, right, kind, below, named)


def count_of(query: logical.LogicalPlan) -> logical.Aggregate:
    return logical.Aggregate(query, (), (AggCall("count", (), BIGINT),), (Field("count", BIGINT),))


def everywhere(planner: PlannerBench, query: logical.LogicalPlan, sizes: dict[int, int]) -> int | None:
    """Which side of the query's join is on every shard, with tables of so many rows."""
    planned = planner.plan(query, table_rows=lambda table: sizes.get(table, 0))
    nodes = [node for fragment in planner.cut(planned).fragments for node in nodes_of_fragment(fragment.root)]
    (found,) = [node for node in nodes if isinstance(node, HashJoin)]
    return side_that_is_everywhere(found)


@pytest.mark.parametrize(
    ("kind", "small_left", "small_right"),
    [
        (JoinKind.INNER, 0, 1),
        (JoinKind.LEFT, None, 1),
        (JoinKind.RIGHT, 0, None),
        (JoinKind.FULL, None, None),
        (JoinKind.LEFT_SEMI, None, 1),
        (JoinKind.LEFT_ANTI, None, 1),
    ],
)
def test_the_smaller_side_is_on_every_shard_unless_its_rows_show_their_matches(
    bench: PlannerBench, kind: JoinKind, small_left: int | None, small_right: int | None
) -> None:
    a, b = (bench.table(name, COLUMNS, ["k"]) for name in ("a", "b"))
    query = join(kind, bench.scan(a), bench.scan(b))
    assert everywhere(bench, query, {a.relation_id: 10, b.relation_id: 20}) == small_left
    assert everywhere(bench, query, {a.relation_id: 20, b.relation_id: 10}) == small_right


def test_a_single_row_is_on_every_shard(bench: PlannerBench) -> None:
    a = bench.table("a", COLUMNS, ["k"])
    row, table = count_of(bench.scan(a)), bench.scan(a)
    assert everywhere(bench, join(JoinKind.INNER, row, table), {}) == 0
    assert everywhere(bench, join(JoinKind.INNER, table, row), {}) == 1
    assert everywhere(bench, join(JoinKind.LEFT, row, table), {}) is None
    assert everywhere(bench, join(JoinKind.INNER, row, row), {}) is None
