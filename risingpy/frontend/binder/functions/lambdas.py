"""Calls that are given a function: `array_transform(a, |x| x * 2)`, `map_filter(m, |k, v| v > 0)`; RisingWave's.

What the bars name is, inside, a call of `lambda_parameter`, whose argument is its name in the generated SQL. Columns
can be read too.
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.parser.nested_parser import LambdaExpression
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BOOLEAN, UNKNOWN, VARCHAR, SqlType, TypeKind, array_of

_TAKEN = {"array_transform": TypeKind.ARRAY, "map_filter": TypeKind.MAP}
LAMBDA_FUNCTIONS = frozenset(_TAKEN)


def bind_lambda_call(binder: ExpressionBinder, tree: exp.Anonymous, name: str) -> Expr:
    """Raises UndefinedFunction, or SqlError (42P13) for another number of parameters than the function gives."""
    position = position_of(tree)
    arguments = tree.expressions
    if len(arguments) != 2 or not isinstance(arguments[1], LambdaExpression):
        plain = [a for a in arguments if not isinstance(a, LambdaExpression)]
        raise no_function(name, [binder.bind(argument) for argument in plain], position)
    value = binder.bind(arguments[0])
    if value.type.kind is not _TAKEN[name]:
        raise no_function(name, [value, Operand(Literal(None, UNKNOWN), position)], position)
    written = arguments[1]
    body = _body(binder, written, value.type)
    if name == "array_transform":
        return Call(name, (value.expr, body, _variable(binder)), array_of(body.type))
    if body.type != BOOLEAN:
        message = f"the lambda of {name} must give boolean, not {body.type.name}"
        raise DatatypeMismatch(message, position=position_of(written))
    return Call(name, (value.expr, body, _variable(binder)), value.type)


def _variable(binder: ExpressionBinder) -> Literal:
    """The name of what goes through the array: another one in each lambda around."""
    return Literal(f"each{binder.lambda_depth}", VARCHAR)


def _body(binder: ExpressionBinder, written: LambdaExpression, given: SqlType) -> Expr:
    """What the lambda computes of an element, or of a map's key and value."""
    names = [name_of(identifier) for identifier in written.expressions]
    variable = str(_variable(binder).value)
    parts = [variable] if given.kind is TypeKind.ARRAY else [f"{variable}['key']", f"{variable}['value']"]
    if len(names) != len(parts):
        message = f"a lambda with {len(parts)} parameter{'s' * (len(parts) > 1)} is expected here"
        raise SqlError(message, sqlstate="42P13", position=position_of(written))
    around = binder.lambda_parameters
    own = {
        name: Call("lambda_parameter", (Literal(part, VARCHAR),), type_)
        for name, part, type_ in zip(names, parts, given.items, strict=True)
    }
    binder.lambda_parameters = {**around, **own}
    binder.lambda_depth += 1
    try:
        return binder.settled(written.this)
    finally:
        binder.lambda_parameters = around
        binder.lambda_depth -= 1
