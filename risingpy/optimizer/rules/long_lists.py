"""Makes one array constant of the items of a long IN list. Parameters in it have become constants before this rule.

Filter(x IN (1, 2, …, 1000); a)  =>  Filter(in_list(x, ARRAY[1, 2, …, 1000]); a)
"""

from __future__ import annotations

from risingpy.functions.evaluation.literal_lists import listed
from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.plan.expressions import Call, Expr, operands, with_operands
from risingpy.plan.logical import LogicalPlan, Values


def long_lists(plan: LogicalPlan) -> LogicalPlan:
    """The plan with each long list as one constant; a short list, or one with an item that varies, stays."""
    return rewrite_plan(plan, _with_lists)


def _with_lists(plan: LogicalPlan) -> LogicalPlan:
    return plan if isinstance(plan, Values) else map_expressions(plan, _listed)  # the rows of an INSERT may be many


def _listed(expr: Expr) -> Expr:
    parts = operands(expr)
    changed = [_listed(part) for part in parts]
    if any(new is not old for new, old in zip(changed, parts, strict=True)):
        expr = with_operands(expr, changed)
    return listed(expr) if isinstance(expr, Call) and expr.function == "in" else expr
