"""Joins with a single row. In views, one of which no column is read above becomes a semi join.

    Project(a.x; Inner(a.v > b.m; a, b of at most one row))  =>  Project(a.x; LeftSemi(a.v > b.m; a, b))

A comparison with a scalar subquery is such a join. As a semi join it may become a dynamic filter.

In queries, what is computed of the other side is computed after the join: with EXISTS that reads nothing of the row, as
in PostgreSQL, there may be no rows, and no error in what is computed of them.

    Cross(Project(10 / a.x; a), b of at most one row)  =>  Project(10 / a.x; Cross(a, b))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from risingpy.optimizer.facts import at_most_one_row
from risingpy.optimizer.join_condition import inequality
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.rules.positive_conditions import positive
from risingpy.plan.expression_trees import columns_read, shifted
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Join, JoinKind, LogicalPlan, Project


def single_row_join(plan: LogicalPlan) -> LogicalPlan:
    """The plan with semi joins where only the existence of the single row's match counts."""
    return rewrite_plan(plan, _rewritten)


def computed_after_join(plan: LogicalPlan) -> LogicalPlan:
    """The plan with projections above crosses with a single row, where they compute something."""
    return rewrite_plan(plan, _lifted)


def _lifted(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Join(Project(rows, computed), right, JoinKind.CROSS) if _computes(computed) and at_most_one_row(right):
            width = len(rows.schema)
            others = [InputRef(width + place, field.type) for place, field in enumerate(right.schema)]
            joined = Join(rows, right, JoinKind.CROSS, None, (*rows.schema, *right.schema))
            return Project(_lifted(joined), (*computed, *others), plan.schema)
        case Join(left, Project(rows, computed), JoinKind.CROSS) if _computes(computed) and at_most_one_row(left):
            width = len(left.schema)
            others = [InputRef(place, field.type) for place, field in enumerate(left.schema)]
            joined = Join(left, rows, JoinKind.CROSS, None, (*left.schema, *rows.schema))
            return Project(_lifted(joined), (*others, *(shifted(each, width) for each in computed)), plan.schema)
        case _:
            return plan


def _computes(expressions: Iterable[Expr]) -> bool:
    return not all(isinstance(each, InputRef | Literal) for each in expressions)


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
