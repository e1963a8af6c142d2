"""Refuses to order or group by types whose values have no order: maps, and what has them inside."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.errors import SqlError
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.plan.key_types import refuse_json, refuse_unordered
from risingpy.plan.logical import Aggregate, LogicalPlan, OverWindow, Sort
from risingpy.types.system_types import is_json

_EXTREMES = ("min", "max")


def _refuse_extremes(functions: Iterable[str]) -> None:
    """Raises 42883 for min or max, which json has not, among the functions."""
    for function in functions:
        if function in _EXTREMES:
            hint = "No function matches the given name and argument types. You might need to add explicit type casts."
            raise SqlError(f"function {function}(json) does not exist", sqlstate="42883", hint=hint)


def check_order(plan: LogicalPlan) -> None:
    """Checks every GROUP BY, DISTINCT and ORDER BY of a query. Raises FeatureNotSupported for such a type.

    Raises 42883 for json, of which PostgreSQL has no order.
    """
    schema = plan.schema
    match plan:
        case Aggregate():
            where = "GROUP BY" if plan.calls else "GROUP BY or DISTINCT"
            fields = plan.input.schema
            refuse_json((fields[i].type for i in plan.group_key), "equality")
            refuse_json((fields[i].type for call in plan.calls if call.distinct for i in call.args), "equality")
            _refuse_extremes(call.function for call in plan.calls if any(is_json(fields[i].type) for i in call.args))
            refuse_json((fields[k.index].type for call in plan.calls for k in call.order_by), "ordering")
            refuse_unordered((plan.input.schema[i].type for i in plan.group_key), where)
        case OverWindow():
            fields = plan.input.schema
            refuse_json((fields[i].type for i in plan.partition_by), "equality")
            refuse_json((fields[key.index].type for key in plan.order_by), "ordering")
        case Sort():
            refuse_json((schema[key.index].type for key in plan.keys), "ordering")
            refuse_unordered((schema[key.index].type for key in plan.keys), "ORDER BY")
    for input_plan in plan_inputs(plan):
        check_order(input_plan)
