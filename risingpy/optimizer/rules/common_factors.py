"""Moves conditions that all branches of an OR have in common out of it.

    (a.x = b.x AND a.y = 1) OR (a.x = b.x AND b.z = 2)  =>  a.x = b.x AND (a.y = 1 OR b.z = 2)

The equality can then be a join's key.
"""

from __future__ import annotations

from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.plan.expression_trees import conjunction, conjuncts
from risingpy.plan.expressions import Call, Expr
from risingpy.plan.logical import Filter, Join, LogicalPlan
from risingpy.types import BOOLEAN


def common_factors(plan: LogicalPlan) -> LogicalPlan:
    """The plan with shared conditions moved out of each OR in filters and joins; other operators stay."""
    return rewrite_plan(plan, lambda node: _in_conditions(node) if isinstance(node, Filter | Join) else node)


def _in_conditions(node: Filter | Join) -> LogicalPlan:
    return map_expressions(node, _factored)


def _factored(predicate: Expr) -> Expr:
    parts = [part for conjunct in conjuncts(predicate) for part in _factors(conjunct)]
    return conjunction(parts) or predicate


def _factors(part: Expr) -> list[Expr]:
    branches = [conjuncts(branch) for branch in _disjuncts(part)]
    common = [e for e in branches[0] if all(e in branch for branch in branches[1:])] if len(branches) > 1 else []
    if not common:
        return [part]
    rest = [conjunction([e for e in branch if e not in common]) for branch in branches]
    different = [branch for branch in rest if branch is not None]
    return common if len(different) < len(rest) else [*common, _disjunction(different)]


def _disjuncts(expr: Expr) -> list[Expr]:
    match expr:
        case Call("or", (left, right)):
            return _disjuncts(left) + _disjuncts(right)
        case _:
            return [expr]


def _disjunction(parts: list[Expr]) -> Expr:
    """The OR of `parts` as a shallow tree."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return Call("or", (_disjunction(parts[:middle]), _disjunction(parts[middle:])), BOOLEAN)
