"""Merges two filters into one.

Filter(p; Filter(q; t))  =>  Filter(q AND p; t)
"""

from __future__ import annotations

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expressions import Call
from risingpy.plan.logical import Filter, LogicalPlan
from risingpy.types import BOOLEAN


def filter_merge(plan: LogicalPlan) -> LogicalPlan:
    """The plan without a filter on a filter. The inner condition comes first in the conjunction."""
    return rewrite_plan(plan, _merge)


def _merge(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Filter(Filter(inner, first), second):
            return Filter(inner, Call("and", (first, second), BOOLEAN))
        case _:
            return plan
