"""Plans filters by a bound that changes: a subquery's one row, or the time.

    LeftSemi(l.v > r.m; l, r of one row)      =>  DynamicFilter(v > m; l, Exchange(everywhere; r))
    LeftSemi(l.ts > r.b; l, Values(now() - i)) =>  DynamicFilter(ts > b; l, Project(now - i; Now))

The left rows stay on their shards. When the bound changes, only the rows between the old bound and the new one are
read. A time needs no exchange: every shard knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.optimizer.join_condition import inequality, split_condition
from risingpy.optimizer.now import NOW, Motion, motion, reads_now
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import brings_together
from risingpy.optimizer.stream.nested_loop_join import to_every_shard
from risingpy.optimizer.stream.projection import projected, select_columns, with_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan import logical
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.joins import DynamicFilter
from risingpy.plan.key_types import has_other_forms
from risingpy.plan.logical import Field, JoinKind, SortKey
from risingpy.plan.operators import Now, StreamPlan
from risingpy.plan.state_tables import bound_table, ordered_rows
from risingpy.plan.traversal import over_now
from risingpy.types import TIMESTAMPTZ


def is_time(plan: logical.LogicalPlan) -> bool:
    """Whether the plan is one row of expressions of now() and constants."""
    match plan:
        case logical.Values((row,)):
            return any(reads_now(expr) for expr in row)
        case logical.Project(logical.Values((_,)), expressions):
            return any(reads_now(expr) for expr in expressions)
        case _:
            return False


def plan_time(plan: logical.LogicalPlan) -> StreamPlan:
    """The stream plan of a plan that `is_time`."""
    match plan:
        case logical.Values((row,)):
            now = derived(Now(underived((Field("now", TIMESTAMPTZ),))))
            return projected(now, [_over_now(expr) for expr in row])
        case logical.Project(input, expressions):
            inner = plan_time(input) if is_time(input) else plan_time(logical.Values(((NOW,),), ()))
            return projected(inner, [_over_now(expr) for expr in expressions])
        case _:
            raise ValueError("not a time")


def _over_now(expr: Expr) -> Expr:
    return transform(expr, lambda part: InputRef(0, TIMESTAMPTZ) if part == NOW else None)


def plan_dynamic_filter(
    join: logical.Join, left: StreamPlan, right: StreamPlan, job: str, allocate: Callable[[], int]
) -> StreamPlan | None:
    """The stream plan of `join`; None unless it is a join by one inequality with at most one row."""
    width = len(join.left.schema)
    condition = split_condition(join.condition, width)
    if join.kind is not JoinKind.LEFT_SEMI or condition.keys or condition.rest is None or right.properties.stream_key:
        return None
    compared = inequality(condition.rest, width)
    if compared is None or has_other_forms(compared.left.type) or compared.left.type.is_nested:
        return None
    right = projected(right, [compared.right])
    time = over_now(right)
    if time is not None and motion(time) is None:
        return None
    right = to_every_shard(right)
    columns = len(left.properties.schema)
    left, (column,) = with_columns(left, [compared.left])
    if not brings_together(left.properties.distribution, left.properties.stream_key):
        left = exchange(left, left.properties.stream_key)
    order, spread = [SortKey(column)], left.properties.distribution.columns
    rows = ordered_rows(allocate(), job, "filter", left.properties, (), order, spread)
    bound = bound_table(allocate(), job, right.properties.schema[0].type)
    forward = time is not None and motion(time) is Motion.FORWARD
    schema = left.properties.schema
    planned = derived(DynamicFilter(left, right, column, compared.comparison, rows, bound, forward, underived(schema)))
    return select_columns(planned, _kept(planned, columns))


def _kept(planned: DynamicFilter, columns: int) -> Sequence[int]:
    """The left columns, without one that was only computed for the comparison."""
    kept = list(range(columns))
    needed = (*planned.properties.stream_key, *planned.properties.distribution.columns)
    return kept + [i for i in dict.fromkeys(needed) if i not in kept]
