"""Calls of functions that users made: SQL ones are inlined, Python ones become calls that carry their definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.arguments import Candidate, candidate, default_of
from risingpy.frontend.binder.functions.sql_bodies import inlined, rows_array
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.polymorphic import ActualTypes, actual_types
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.python import PythonFunction, RoutineKind
from risingpy.functions.signatures import Polymorphic, Signature
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import VARCHAR, SqlType, array_of
from risingpy.types.enums.enumeration import without_enums
from risingpy.types.system_types import RECORD, is_polymorphic


def has_kind(binder: ExpressionBinder, kind: FunctionKind, name: str, schema: str | None = None) -> bool:
    """Whether there is a user's function of this name and kind."""
    context = binder.context
    return any(f.kind is kind for f in context.catalog.functions_named(name, schema, context.search_path))


def has_outputs(binder: ExpressionBinder, name: str, schema: str | None) -> bool:
    """Whether a user's function of this name has OUT arguments."""
    context = binder.context
    return any(f.modes for f in context.catalog.functions_named(name, schema, context.search_path))


def gives_records(binder: ExpressionBinder, name: str, schema: str | None) -> bool:
    """Whether a user's function of this name gives records, whose columns a call in FROM names."""
    context = binder.context
    return any(f.result == RECORD for f in context.catalog.functions_named(name, schema, context.search_path))


def as_defined(function: FunctionDesc, definitions: SqlType | None, position: int) -> FunctionDesc:
    """The function with what a column definition list says for the record that it gives."""
    if definitions is None:
        return function
    if function.result != RECORD:
        message = 'a column definition list is only allowed for functions returning "record"'
        raise SyntaxError_(message, position=position)
    return replace(function, result=definitions)


def no_definitions(position: int) -> SyntaxError_:
    """The error for a call in FROM whose columns nobody knows."""
    message = 'a column definition list is required for functions returning "record"'
    return SyntaxError_(message, position=position)


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
    return user_value(binder, function, exprs, position)


def user_value(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr], position: int) -> Expr:
    """The value that a function gives."""
    if function.language is FunctionLanguage.PYTHON:
        return python_call(function, args)
    with about_the_call(function, position):
        return inlined(binder, function, args)


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
    fitting = _fitting(context, functions, args)
    signatures = [
        Signature(name, str(i), tuple(Polymorphic.DECIDED if is_polymorphic(t) else t for t in each.types), VARCHAR)
        for i, (each, _) in enumerate(fitting)
    ]
    try:
        chosen = resolve(signatures, [arg.type for arg in args], operator=False)
    except NoMatch as no_match:
        raise no_function(shown, args, position, ambiguous=no_match.ambiguous, noun=noun) from None
    found, actual = fitting[int(chosen.function)]
    context.functions.append(found.function.function_id)
    function = with_actual_types(found.function, actual)
    return function, _in_places(binder, function, replace(found, function=function), args, position)


def _fitting(
    context: BindContext, functions: Sequence[FunctionDesc], args: Sequence[Operand]
) -> list[tuple[Candidate, ActualTypes]]:
    """The functions that can be called so, each with what its polymorphic types are then.

    Of two that take the same, one without VARIADIC is meant, or else the one with fewer defaults.
    """
    found = [each for function in functions if (each := candidate(function, args)) is not None]
    found.sort(key=lambda each: (each.expanded, len(each.function.argument_types)))
    fitting: dict[tuple[SqlType, ...], tuple[Candidate, ActualTypes]] = {}
    for each in found:
        wanted, given = list(each.types), [arg.type for arg in args]
        for place, type_ in enumerate(each.function.argument_types):
            if place not in each.places and is_polymorphic(type_):
                wanted.append(type_)
                given.append(default_of(context, each.function, place).type)
        actual = actual_types(wanted, given)
        if actual is not None:
            fitting.setdefault(each.types, (each, actual))
    return list(fitting.values())


def _in_places(
    binder: ExpressionBinder, function: FunctionDesc, found: Candidate, args: Sequence[Operand], position: int
) -> list[Expr]:
    """All arguments of a function, in its types."""
    context, last = binder.context, len(function.argument_types) - 1
    exprs: dict[int, Expr] = {}
    elements = list[Expr]()
    for arg, place, type_ in zip(args, found.places, found.types, strict=True):
        given = context.coercer.coerce(arg, type_, Context.IMPLICIT)
        exprs[place] = context.coercer.assign(Operand(given, position), type_)
        if found.expanded and place == last:
            elements.append(exprs[place])
    if found.expanded:
        exprs[last] = Call("array", tuple(elements), function.argument_types[last])
    for place in range(len(function.argument_types)):
        if place not in exprs:
            with about_the_call(function, position):
                exprs[place] = default_of(context, function, place)
    return [exprs[place] for place in range(len(function.argument_types))]


def with_actual_types(function: FunctionDesc, actual: ActualTypes) -> FunctionDesc:
    """The function as a call has it. Raises 42804 if nothing says what a polymorphic type is."""
    return replace(
        function, argument_types=tuple(map(actual.of, function.argument_types)), result=actual.of(function.result)
    )


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
