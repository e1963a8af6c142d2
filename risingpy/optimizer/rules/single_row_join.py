"""Makes a semi join of a join with a single row of which no column is read above. For views only.

    Project(a.x; Inner(a.v > b.m; a, b of at most one row))  =>  Project(a.x; LeftSemi(a.v > b.m; a, b))

A comparison with a scalar subquery is such a join. As a semi join it may become a dynamic filter.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.facts import at_most_one_row
from risingpy.optimizer.join_condition import inequality
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.rules.positive_conditions import positive
from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Join, JoinKind, LogicalPlan, Project


def single_row_join(plan: LogicalPlan) -> LogicalPlan:
    """The plan with semi joins where only the existence of the single row's match counts."""
    return rewrite_plan(plan, _rewritten)


def _rewritten(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Project(Join(left, right, JoinKind.INNER, condition) as join, expressions) if condition is not None:
            width = len(left.schema)
            if any(column >= width for expr in expressions for column in columns_read(expr)):
                return plan
            condition = positive(condition)
            if inequality(condition, width) is None or not at_most_one_row(right):
                return plan
            return replace(plan, input=_semi_join(join, condition))
        case _:
            return plan


def _semi_join(join: Join, condition: Expr) -> LogicalPlan:
    return Join(join.left, join.right, JoinKind.LEFT_SEMI, condition, join.left.schema)
