"""Drops a join with the single row without columns that a query without FROM reads.

Cross(t, Values(()))  =>  t
"""

from __future__ import annotations

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.logical import Join, JoinKind, LogicalPlan, Values

_SINGLE_ROW = Values(((),), ())


def drop_single_row(plan: LogicalPlan) -> LogicalPlan:
    """The plan without such joins; its columns are the same, for the single row has none."""
    return rewrite_plan(plan, _dropped)


def _dropped(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Join(left, right, JoinKind.CROSS) if right == _SINGLE_ROW:
            return left
        case Join(left, right, JoinKind.CROSS) if left == _SINGLE_ROW:
            return right
        case _:
            return plan
