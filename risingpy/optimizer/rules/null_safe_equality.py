"""Replaces IS NOT DISTINCT FROM by `=` if one side is never NULL.

Join(a.x IS NOT DISTINCT FROM b.y; a, b)  =>  Join(a.x = b.y; a, b)    where a.x, or b.y, is never NULL
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.facts import is_not_null, not_null_columns
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expression_trees import conjunction, conjuncts
from risingpy.plan.expressions import Call, Expr
from risingpy.plan.logical import Filter, Join, LogicalPlan


def null_safe_equality(plan: LogicalPlan) -> LogicalPlan:
    """The plan with `=` where no NULL can make a difference, so that the equality can be a join's key."""
    return rewrite_plan(plan, _plainer)


def _plainer(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Join(condition=condition) if condition is not None:
            split = len(plan.left.schema)
            right = frozenset(split + i for i in not_null_columns(plan.right))
            return replace(plan, condition=_compared(condition, not_null_columns(plan.left) | right))
        case Filter():
            return replace(plan, predicate=_compared(plan.predicate, not_null_columns(plan.input)))
        case _:
            return plan


def _compared(condition: Expr, known: frozenset[int]) -> Expr:
    parts = conjuncts(condition)
    plainer = [_equality(part, known) for part in parts]
    return condition if plainer == parts else conjunction(plainer) or condition


def _equality(part: Expr, known: frozenset[int]) -> Expr:
    match part:
        case Call("is_not_distinct_from", (a, b)) if is_not_null(a, known) or is_not_null(b, known):
            return Call("eq", (a, b), part.type)
        case _:
            return part
