"""Puts the values of a prepared statement's parameters into its plan."""

from __future__ import annotations

from dataclasses import replace

from risingpy.executors.expression.nodes import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.frontend.prepared import Parameters
from risingpy.optimizer.logical import (
    Aggregate,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
)
from risingpy.optimizer.rules.constant_folding import fold


def with_parameters(plan: LogicalPlan, values: Parameters) -> LogicalPlan:
    """`plan` with every Parameter replaced by a Literal of its type."""
    if not values:
        return plan
    match plan:
        case Scan():
            return plan
        case Values():
            return replace(plan, rows=tuple(tuple(bound(e, values) for e in row) for row in plan.rows))
        case Filter():
            # Drivers send small integers as int2: folded, the cast to a key's type does not hide the constant.
            return Filter(with_parameters(plan.input, values), fold(bound(plan.predicate, values)))
        case Project():
            expressions = tuple(bound(e, values) for e in plan.expressions)
            return Project(with_parameters(plan.input, values), expressions, plan.schema)
        case Aggregate() | Sort():
            return replace(plan, input=with_parameters(plan.input, values))
        case Join():
            condition = None if plan.condition is None else bound(plan.condition, values)
            left, right = with_parameters(plan.left, values), with_parameters(plan.right, values)
            return replace(plan, left=left, right=right, condition=condition)
        case Union():
            return replace(plan, inputs=tuple(with_parameters(each, values) for each in plan.inputs))
        case Limit():
            limit = None if plan.limit is None else bound(plan.limit, values)
            offset = None if plan.offset is None else bound(plan.offset, values)
            return Limit(with_parameters(plan.input, values), limit, offset)


def bound(expr: Expr, values: Parameters) -> Expr:
    """`expr` with every Parameter replaced."""
    match expr:
        case Parameter():
            return Literal(values[expr.index - 1], expr.type)
        case InputRef() | Literal():
            return expr
        case Call():
            return replace(expr, args=tuple(bound(arg, values) for arg in expr.args))
        case Cast():
            return replace(expr, arg=bound(expr.arg, values))
        case Case():
            branches = tuple((bound(when, values), bound(then, values)) for when, then in expr.branches)
            return replace(expr, branches=branches, default=bound(expr.default, values))
