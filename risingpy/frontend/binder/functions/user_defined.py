"""Calls of functions that users made: SQL ones are inlined, Python ones become calls that carry their definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.arguments import default_of, places
from risingpy.frontend.binder.functions.sql_bodies import inlined, rows_array
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.python import PythonFunction, RoutineKind
from risingpy.functions.signatures import Signature
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import VARCHAR, array_of
from risingpy.types.enums.enumeration import without_enums


def has_kind(binder: ExpressionBinder, kind: FunctionKind, name: str, schema: str | None = None) -> bool:
    """Whether there is a user's function of this name and kind."""
    context = binder.context
    return any(f.kind is kind for f in context.catalog.functions_named(name, schema, context.search_path))


def has_outputs(binder: ExpressionBinder, name: str, schema: str | None) -> bool:
    """Whether a user's function of this name has OUT arguments."""
    context = binder.context
    return any(f.modes for f in context.catalog.functions_named(name, schema, context.search_path))


def bind_user_function(
    binder: ExpressionBinder, schema: str | None, name: str, args: Sequence[Operand], position: int
) -> Expr:
    """The call of a user's scalar function. Raises UndefinedFunction."""
    function, exprs = chosen_function(binder, schema, name, args, position)
    if function.kind is FunctionKind.PROCEDURE:
        hint = "To call a procedure, use CALL."
        raise SqlError(f"{function.shown} is a procedure", sqlstate="42809", hint=hint, position=position)
    if function.kind is not FunctionKind.SCALAR:
        message = f"{function.kind.value} {function.shown} is not allowed in {binder.clause}"
        raise FeatureNotSupported(message, position=position)
    if function.language is FunctionLanguage.PYTHON:
        return python_call(function, exprs)
    with about_the_call(function, position):
        return inlined(binder, function, exprs)


def user_rows(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr], call: exp.Expr) -> Expr:
    """The array of the rows that a table function gives."""
    if function.language is FunctionLanguage.PYTHON:
        return python_call(function, args)
    with about_the_call(function, position_of(call)):
        return rows_array(binder, function, args, call)


@contextmanager
def about_the_call(function: FunctionDesc, position: int) -> Iterator[None]:
    """Lets errors of a body stand where the call does, and name the function: their positions are in another text."""
    try:
        yield
    except SqlError as error:
        error.position = position
        error.where = error.where or f'SQL function "{function.name}"'
        raise


def chosen_function(
    binder: ExpressionBinder,
    schema: str | None,
    name: str,
    args: Sequence[Operand],
    position: int,
    *,
    noun: str = "function",
) -> tuple[FunctionDesc, list[Expr]]:
    """The user's function that a call means, and all its arguments in its types. Raises UndefinedFunction."""
    context = binder.context
    functions = context.catalog.functions_named(name, schema, context.search_path)
    shown = name if schema is None else f"{schema}.{name}"
    fitting = [(f, found) for f in functions if (found := places(f, args)) is not None]
    fitting.sort(key=lambda each: len(each[0].argument_types))  # of two that fit alike, the one with fewer defaults
    signatures = [
        Signature(f.name, str(f.function_id), tuple(f.argument_types[place] for place in found), f.result)
        for f, found in fitting
    ]
    try:
        chosen = resolve(signatures, [arg.type for arg in args], operator=False)
    except NoMatch as no_match:
        raise no_function(shown, args, position, ambiguous=no_match.ambiguous, noun=noun) from None
    function, found = next(each for each in fitting if str(each[0].function_id) == chosen.function)
    context.functions.append(function.function_id)
    exprs: dict[int, Expr] = {}
    for arg, place in zip(args, found, strict=True):
        type_ = function.argument_types[place]
        given = context.coercer.coerce(arg, type_, Context.IMPLICIT)
        exprs[place] = context.coercer.assign(Operand(given, position), type_)
    for place in range(len(function.argument_types)):
        if place not in exprs:
            with about_the_call(function, position):
                exprs[place] = default_of(context, function, place)
    return function, [exprs[place] for place in range(len(function.argument_types))]


_ROUTINES = {
    FunctionKind.SCALAR: RoutineKind.SCALAR,
    FunctionKind.TABLE: RoutineKind.TABLE,
    FunctionKind.AGGREGATE: RoutineKind.AGGREGATE,
}


def definition_text(function: FunctionDesc) -> str:
    """What a call of a Python function carries with it."""
    kind = _ROUTINES[function.kind]
    arguments, result = tuple(map(without_enums, function.argument_types)), without_enums(function.result)
    types, flags = (arguments, result), (function.strict, function.batch)
    return PythonFunction(function.name, function.body, *types, kind, *flags, function.retracts).to_text()


def python_call(function: FunctionDesc, args: Sequence[Expr]) -> Expr:
    """A call of a Python function; that of a table function gives the array of its rows. Enums are texts to it."""
    name, result = "python_function", function.result
    if function.kind is FunctionKind.TABLE:
        name, result = "python_rows", array_of(result)
    if not function.immutable:
        name = f"volatile_{name}"
    given = [arg if without_enums(arg.type) == arg.type else Cast(arg, without_enums(arg.type)) for arg in args]
    call = Call(name, (Literal(definition_text(function), VARCHAR), *given), without_enums(result))
    return call if call.type == result else Cast(call, result)
