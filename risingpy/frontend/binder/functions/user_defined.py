"""Calls of functions that users made: SQL ones are inlined, Python ones become calls that carry their definition.

    CREATE FUNCTION f(a int) … AS 'SELECT a + 1';   f(x * 2)   =>   (x * 2) + 1

So a plan needs no catalog, and a view keeps the function as it was when the view was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.parser.parse import parse
from risingpy.functions.python import PythonFunction, RoutineKind
from risingpy.functions.signatures import Signature
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import Call, Case, Expr, Literal
from risingpy.types import BOOLEAN, VARCHAR, array_of

_ONE_EXPRESSION = frozenset(("kind", "expressions", "hint", "distinct", "limit", "operation_modifiers"))


def has_kind(binder: ExpressionBinder, kind: FunctionKind, name: str, schema: str | None = None) -> bool:
    """Whether there is a user's function of this name and kind."""
    context = binder.context
    return any(f.kind is kind for f in context.catalog.functions_named(name, schema, context.search_path))


def bind_user_function(
    binder: ExpressionBinder, schema: str | None, name: str, args: Sequence[Operand], position: int
) -> Expr:
    """The call of a user's scalar function. Raises UndefinedFunction."""
    function, exprs = chosen_function(binder, schema, name, args, position)
    if function.kind is not FunctionKind.SCALAR:
        message = f"{function.kind.value} {function.shown} is not allowed in {binder.clause}"
        raise FeatureNotSupported(message, position=position)
    if function.language is FunctionLanguage.PYTHON:
        return python_call(function, exprs)
    try:
        return inlined(binder, function, exprs)
    except SqlError as error:
        error.position = position  # not one in the function's body
        raise


def chosen_function(
    binder: ExpressionBinder, schema: str | None, name: str, args: Sequence[Operand], position: int
) -> tuple[FunctionDesc, list[Expr]]:
    """The user's function that a call means, and its arguments in its types. Raises UndefinedFunction."""
    context = binder.context
    functions = context.catalog.functions_named(name, schema, context.search_path)
    shown = name if schema is None else f"{schema}.{name}"
    signatures = [Signature(f.name, str(f.function_id), f.argument_types, f.result) for f in functions]
    try:
        chosen = resolve(signatures, [arg.type for arg in args], operator=False)
    except NoMatch as no_match:
        raise no_function(shown, args, position, ambiguous=no_match.ambiguous) from None
    function = context.catalog.functions[int(chosen.function)]
    context.functions.append(function.function_id)
    exprs = [
        context.coercer.assign(Operand(context.coercer.coerce(arg, type_, Context.IMPLICIT), position), type_)
        for arg, type_ in zip(args, function.argument_types, strict=True)
    ]
    return function, exprs


def inlined(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr]) -> Expr:
    """The body of an SQL function with `args` in the places of its arguments. Raises 42P13 for a wrong result type."""
    numbered = [ScopeColumn(f"${number}", arg) for number, arg in enumerate(args, 1)]
    named = [ScopeColumn(name, arg) for name, arg in zip(function.argument_names, args, strict=True) if name]
    columns = tuple(numbered + named)
    scope = Scope((ScopeTable(function.name, None, columns),), columns)
    body = ExpressionBinder(binder.context, scope, "a function's body")
    result = body.bind(body_expression(function.body))
    if not can_coerce(result.type, function.result, Context.ASSIGNMENT):
        message = f"return type mismatch in function declared to return {function.result.kind.value}"
        raise InvalidFunctionDefinition(message, detail=f"Actual return type is {result.type.kind.value}.")
    expr = binder.context.coercer.assign(result, function.result)
    if not function.strict or not args:
        return expr
    has_null: Expr = Call("is_null", (args[0],), BOOLEAN)
    for arg in args[1:]:
        has_null = Call("or", (has_null, Call("is_null", (arg,), BOOLEAN)), BOOLEAN)
    return Case(((has_null, Literal(None, expr.type)),), expr, expr.type)


def body_expression(body: str) -> exp.Expr:
    """The expression of `SELECT expression`, its `$1` as columns. Raises FeatureNotSupported for any other body."""
    return _read_body(body).copy()


@lru_cache(maxsize=256)
def _read_body(body: str) -> exp.Expr:
    statements = parse(body)
    query = statements[0].statement if len(statements) == 1 else None
    tree = query.query.tree if isinstance(query, Select) else None
    extra = {key for key, value in tree.args.items() if value} - _ONE_EXPRESSION if isinstance(tree, exp.Select) else ()
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or extra or tree.args.get("distinct"):
        raise FeatureNotSupported("a function's body other than SELECT of one expression is not supported")
    expression: exp.Expr = tree.expressions[0]

    def as_column(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Parameter):
            return node
        column = exp.Column(this=exp.Identifier(this=f"${node.name}", quoted=True))
        column.meta.update(node.meta)
        return column

    return (expression.this if isinstance(expression, exp.Alias) else expression).transform(as_column)


_ROUTINES = {
    FunctionKind.SCALAR: RoutineKind.SCALAR,
    FunctionKind.TABLE: RoutineKind.TABLE,
    FunctionKind.AGGREGATE: RoutineKind.AGGREGATE,
}


def definition_text(function: FunctionDesc) -> str:
    """What a call of a Python function carries with it."""
    kind = _ROUTINES[function.kind]
    types, flags = (function.argument_types, function.result), (function.strict, function.batch)
    return PythonFunction(function.name, function.body, *types, kind, *flags, function.retracts).to_text()


def python_call(function: FunctionDesc, args: Sequence[Expr]) -> Expr:
    """A call of a Python function; that of a table function gives the array of its rows."""
    name, result = "python_function", function.result
    if function.kind is FunctionKind.TABLE:
        name, result = "python_rows", array_of(result)
    if not function.immutable:
        name = f"volatile_{name}"
    return Call(name, (Literal(definition_text(function), VARCHAR), *args), result)
