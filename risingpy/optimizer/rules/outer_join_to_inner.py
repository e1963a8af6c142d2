"""Makes inner joins of outer joins whose NULL-extended rows an operator above drops.

Filter(b.x > 1; Left(a, b))            =>  Filter(b.x > 1; Inner(a, b))
Inner(b.x = c.x; Left(a, b), c)        =>  Inner(b.x = c.x; Inner(a, b), c)
Filter(a.x > 1; Full(a, b))            =>  Filter(a.x > 1; Left(a, b))
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.facts import rejected_nulls, strict_columns
from risingpy.optimizer.rewrite import plan_inputs, with_inputs
from risingpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project, Sort, Union

Columns = frozenset[int]
_NOTHING: Columns = frozenset()
# The kind of a join after rows without a left side are dropped, and after rows without a right side are.
_WITH_LEFT = {JoinKind.RIGHT: JoinKind.INNER, JoinKind.FULL: JoinKind.LEFT}
_WITH_RIGHT = {JoinKind.LEFT: JoinKind.INNER, JoinKind.FULL: JoinKind.RIGHT}
_INNER = (JoinKind.INNER, JoinKind.CROSS)


def outer_join_to_inner(plan: LogicalPlan) -> LogicalPlan:
    """The plan with outer joins weakened as far as the conditions above allow; its rows are the same."""
    return _simplified(plan, _NOTHING)


def _simplified(plan: LogicalPlan, dropped: Columns) -> LogicalPlan:
    """`plan` above which every row is dropped that has a NULL in one of the columns `dropped`."""
    match plan:
        case Filter():
            return replace(plan, input=_simplified(plan.input, dropped | rejected_nulls(plan.predicate)))
        case Project():
            below = _NOTHING.union(*(strict_columns(plan.expressions[i]) for i in dropped))
            return replace(plan, input=_simplified(plan.input, below))
        case Aggregate():
            keys = frozenset(plan.group_key[i] for i in dropped if i < len(plan.group_key))
            return replace(plan, input=_simplified(plan.input, keys))
        case Sort():
            return replace(plan, input=_simplified(plan.input, dropped))
        case Union():
            return replace(plan, inputs=tuple(_simplified(each, dropped) for each in plan.inputs))
        case Join():
            return _join(plan, dropped)
        case _:
            return with_inputs(plan, [_simplified(each, _NOTHING) for each in plan_inputs(plan)])


def _join(plan: Join, dropped: Columns) -> LogicalPlan:
    split = len(plan.left.schema)
    kind = plan.kind
    if any(i < split for i in dropped):
        kind = _WITH_LEFT.get(kind, kind)
    if any(i >= split for i in dropped):
        kind = _WITH_RIGHT.get(kind, kind)
    matched = _NOTHING if plan.condition is None else rejected_nulls(plan.condition)
    # If a side's rows never come out without a match, the join's own condition drops rows of it, too.
    left = matched if kind in (*_INNER, JoinKind.RIGHT, JoinKind.LEFT_SEMI) else _NOTHING
    right = _NOTHING if kind in (JoinKind.RIGHT, JoinKind.FULL) else matched
    if kind not in (JoinKind.RIGHT, JoinKind.FULL):
        left |= dropped
    if kind in (*_INNER, JoinKind.RIGHT):
        right |= dropped
    return replace(
        plan,
        left=_simplified(plan.left, frozenset(i for i in left if i < split)),
        right=_simplified(plan.right, frozenset(i - split for i in right if i >= split)),
        kind=kind,
    )
