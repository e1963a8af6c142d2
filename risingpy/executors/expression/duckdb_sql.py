"""Expressions as DuckDB SQL, meaning what PostgreSQL means by them.

Views and batch SELECT share this compiler, so that both give the same answers. The text runs on connections of
`duckdb_connection.connect`, whose functions it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from risingpy.errors import InternalError
from risingpy.executors.expression.functions import FUNCTIONS, python_functions
from risingpy.executors.expression.functions.wide_numbers import COMPUTED
from risingpy.executors.expression.nodes import (
    Call,
    Case,
    Cast,
    CorrelatedRef,
    Expr,
    InputRef,
    Literal,
    Parameter,
    Subquery,
)
from risingpy.executors.expression.sql_casts import cast
from risingpy.executors.expression.sql_functions import SPECIAL, TEMPLATES
from risingpy.executors.expression.sql_nested import compared_with_all
from risingpy.executors.expression.sql_text import literal, own_call, quoted
from risingpy.types import NUMERIC, TypeKind


def compile_expression(expr: Expr, column: Callable[[int], str], *, strict: bool) -> str:
    """SQL of exactly the expression's type; `column` gives the SQL of an input column.

    A strict expression raises its errors when it is evaluated (`translate_error` makes them ours); a non-strict one
    gives NULL instead.
    """
    text = _compile(expr, column)
    return text if strict or isinstance(expr, InputRef | Literal) else f"TRY({text})"


def _compile(expr: Expr, column: Callable[[int], str]) -> str:
    match expr:
        case InputRef():
            return column(expr.index)
        case Literal():
            return literal(expr.value, expr.type)
        case Call():
            return _call(expr, [_compile(arg, column) for arg in expr.args])
        case Cast():
            converted = cast(_compile(expr.arg, column), expr.arg.type, expr.type)
            return f"TRY({converted})" if expr.safe else converted
        case Case():
            return _case(expr, column)
        case Parameter():
            raise InternalError(f"parameter ${expr.index} has no value")
        case CorrelatedRef() | Subquery():
            raise InternalError("a subquery was not unnested")
        case _:
            assert_never(expr)


def _call(call: Call, args: list[str]) -> str:
    if call.type.is_wide or any(arg.type.is_wide for arg in call.args):
        numbers = zip(args, call.args, strict=True)
        args = [cast(a, e.type, NUMERIC) if e.type.kind is TypeKind.NUMERIC else a for a, e in numbers]
        if call.function in COMPUTED:
            return own_call(f"wide_{call.function}", args, call.type)
    if call.function in SPECIAL:
        return SPECIAL[call.function](call, args)
    if call.function in python_functions.CALLS:
        definition = call.args[0]
        assert isinstance(definition, Literal) and isinstance(definition.value, str)
        return own_call(call.function, [quoted(python_functions.key_of(definition.value)), *args[1:]], call.type)
    if call.function in FUNCTIONS:
        return own_call(call.function, args, call.type)
    if call.function.startswith(("any_", "all_")):
        return compared_with_all(call, args, _call)
    if call.function not in TEMPLATES:
        raise InternalError(f"the function {call.function} has no SQL")
    return TEMPLATES[call.function].format(*args, type=call.type.duckdb)


def _case(case: Case, column: Callable[[int], str]) -> str:
    branches = " ".join(
        f"WHEN {_compile(condition, column)} THEN {_compile(result, column)}" for condition, result in case.branches
    )
    return f"CASE {branches} ELSE {_compile(case.default, column)} END"
