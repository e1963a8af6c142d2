"""Refuses to order or group by types whose values have no order: maps, and what has them inside."""

from __future__ import annotations

from risingpy.optimizer.rewrite import plan_inputs
from risingpy.plan.key_types import refuse_unordered
from risingpy.plan.logical import Aggregate, LogicalPlan, Sort


def check_order(plan: LogicalPlan) -> None:
    """Checks every GROUP BY, DISTINCT and ORDER BY of a query. Raises FeatureNotSupported for such a type."""
    schema = plan.schema
    match plan:
        case Aggregate():
            where = "GROUP BY" if plan.calls else "GROUP BY or DISTINCT"
            refuse_unordered((plan.input.schema[i].type for i in plan.group_key), where)
        case Sort():
            refuse_unordered((schema[key.index].type for key in plan.keys), "ORDER BY")
    for input_plan in plan_inputs(plan):
        check_order(input_plan)
