"""Puts the values of a prepared statement's parameters into its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.optimizer.rules.long_lists import long_lists
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Call, Cast, Expr, Literal, Parameter
from risingpy.plan.logical import Filter, LogicalPlan
from risingpy.types import TypeKind

_WIDER_INTEGERS = {TypeKind.SMALLINT: (TypeKind.INTEGER, TypeKind.BIGINT), TypeKind.INTEGER: (TypeKind.BIGINT,)}

Parameters = Sequence[object | None]
"""A value per parameter: None for NULL, else as `Literal` has it."""


def with_parameters(plan: LogicalPlan, values: Parameters) -> LogicalPlan:
    """`plan` with every Parameter replaced by a Literal of its type."""
    if not values:
        return plan

    def put_in(node: LogicalPlan) -> LogicalPlan:
        node = map_expressions(node, lambda expr: bound(expr, values))
        # Drivers send small integers as int2. Folding computes the cast to the key's type, so that a constant is seen.
        return replace(node, predicate=fold(node.predicate)) if isinstance(node, Filter) else node

    return long_lists(rewrite_plan(plan, put_in))


def bound(expr: Expr, values: Parameters) -> Expr:
    """`expr` with every Parameter replaced."""
    return transform(expr, lambda e: Literal(values[e.index - 1], e.type) if isinstance(e, Parameter) else None)


def constant(expr: Expr, values: Parameters) -> Literal | None:
    """The value of an expression of constants and parameters; None if only the evaluator can compute it."""
    place = parameter_alone(expr)
    if place is not None:  # a larger integer has the same value
        return Literal(values[place - 1], expr.type)
    if isinstance(expr, Literal):
        return expr
    folded = fold(bound(expr, values))
    return folded if isinstance(folded, Literal) else None


def parameter_alone(expr: Expr) -> int | None:
    """The number of the parameter that is all of the expression, but for a cast to a larger integer; else None."""
    match expr:
        case Parameter(index):
            return index
        case Cast(Parameter(index) as parameter, type_):
            return index if type_.kind in _WIDER_INTEGERS.get(parameter.type.kind, ()) else None
    return None


def parameter_stored(expr: Expr) -> int | None:
    """As `parameter_alone`, but the parameter may also be a text for varchar(n) or character(n)."""
    match expr:
        case Cast(Call("check_length" | "check_character", (Parameter(index), Literal())), _):
            return index
    return parameter_alone(expr)


def has_parameters(expr: Expr) -> bool:
    """Whether the expression has parameters."""
    return any(isinstance(part, Parameter) for part in walk(expr))
