"""The arguments of EXECUTE: expressions over nothing, of the types of a prepared statement's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import DatatypeMismatch, SqlError, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import SessionValues, depth_limited
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.coercion import Context, can_coerce
from risingpy.frontend.parser.ast import Execute
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Expr
from risingpy.types import SqlType


@depth_limited
def bind_arguments(
    statement: Execute,
    types: Sequence[SqlType],
    catalog: Catalog,
    search_path: Sequence[str],
    *,
    session: SessionValues | None = None,
) -> tuple[Expr, ...]:
    """Each argument cast to its parameter's type. 42601 if there are too few or too many, 42804 if one does not fit."""
    arguments = statement.arguments
    if len(arguments) != len(types):
        raise SyntaxError_(
            f'wrong number of parameters for prepared statement "{statement.name}"',
            detail=f"Expected {len(types)} parameters but got {len(arguments)}.",
        )
    context = make_context(catalog, search_path, (), session)
    binder = ExpressionBinder(context, Scope(), "EXECUTE parameters")
    bound = []
    for number, (argument, wanted) in enumerate(zip(arguments, types, strict=True), 1):
        operand = binder.bind(argument.tree)
        if not can_coerce(operand.type, wanted, Context.ASSIGNMENT):
            raise DatatypeMismatch(
                f"parameter ${number} of type {operand.type.name} cannot be coerced to the expected type {wanted.name}",
                position=argument.position,
                hint="You will need to rewrite or cast the expression.",
            )
        bound.append(context.coercer.assign(operand, wanted))
    if context.parameters.types():
        raise SqlError("there is no parameter $1", sqlstate="42P02")
    return tuple(bound)
