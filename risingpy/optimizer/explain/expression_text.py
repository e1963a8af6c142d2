"""Expressions as EXPLAIN prints them: close to SQL, with the input's column names.

Call("gt", (InputRef(2), Literal(0)))  =>  (dep_delay > 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa

from risingpy.functions.python.definition import definition_of
from risingpy.functions.signatures import SCALAR_SIGNATURES
from risingpy.functions.topics.python_functions import CALLS as PYTHON_CALLS
from risingpy.functions.volatile import NAMES_OF_SEEDED
from risingpy.plan.expressions import Call, Case, Cast, CorrelatedRef, Expr, InputRef, Literal, Parameter, Subquery
from risingpy.sql_quoting import quoted_text
from risingpy.types import NUMERIC, TypeKind
from risingpy.types.clocks.nano_moments import NanoMoment
from risingpy.types.forms import format_text
from risingpy.types.interval import format_value as format_interval
from risingpy.types.wide_numeric import of_key

_INFIX = {s.function: s.name for s in SCALAR_SIGNATURES if len(s.args) == 2 and not s.name[0].isalpha()}
_ZONED = frozenset(s.function for s in SCALAR_SIGNATURES if s.zoned) & _INFIX.keys()
_INFIX |= {"and": "AND", "or": "OR", "is_distinct_from": "IS DISTINCT FROM"}
_INFIX |= {"is_not_distinct_from": "IS NOT DISTINCT FROM", "ne": "<>", "like": "LIKE", "ilike": "ILIKE"}
_INFIX |= {"not_like": "NOT LIKE", "not_ilike": "NOT ILIKE"}
_PREFIX = {s.function: s.name for s in SCALAR_SIGNATURES if len(s.args) == 1 and not s.name[0].isalpha()}
for _function in ("abs", "sqrt", "cbrt", "starts_with"):  # better known by their names than by @, |/, ||/, ^@
    _PREFIX.pop(_function, None)
    _INFIX.pop(_function, None)
_PREFIX |= {"not": "NOT "}
_POSTFIX = {s.function: s.name.replace("_", " ") for s in SCALAR_SIGNATURES if s.name.startswith("IS_")}


def expression_text(expression: Expr, columns: Sequence[str]) -> str:
    """`columns` are the names of the input's columns, by position."""
    match expression:
        case InputRef():
            return columns[expression.index]
        case Literal():
            return _literal_text(expression)
        case Parameter():
            return f"${expression.index}"
        case Cast():
            return f"{expression_text(expression.arg, columns)}::{expression.type}"
        case Call(function, (Literal(str(definition)), *given)) if function in PYTHON_CALLS:
            return _call_text(definition_of(definition).name, [expression_text(arg, columns) for arg in given])
        case Call("lambda_parameter", (Literal(str(name)),)):
            return name
        case Call("array_transform" | "map_filter" | "let", (value, body, Literal(str(name)))):
            inside = f"|{name}| {expression_text(body, columns)}"
            return _call_text(expression.function, [expression_text(value, columns), inside])
        case Call(function) if function in NAMES_OF_SEEDED:
            return f"{NAMES_OF_SEEDED[function]}()"
        case Call("numeric_key", (number,)):
            return expression_text(number, columns)
        case Call("in_list", (operand, Literal(tuple(values), type_))):
            items = [expression_text(_number_of_key(Literal(value, type_.element)), ()) for value in values]
            return f"({expression_text(operand, columns)} IN ({', '.join(items)}))"
        case Call() if any(isinstance(arg, Call) and arg.function == "numeric_key" for arg in expression.args):
            shown = [expression_text(_number_of_key(arg), columns) for arg in expression.args]
            return _call_text(expression.function, shown)
        case Call():
            return _call_text(expression.function, [expression_text(arg, columns) for arg in expression.args])
        case Case():
            branches = " ".join(
                f"WHEN {expression_text(condition, columns)} THEN {expression_text(result, columns)}"
                for condition, result in expression.branches
            )
            return f"CASE {branches} ELSE {expression_text(expression.default, columns)} END"
        case CorrelatedRef():
            return f"outer${expression.index}"
        case Subquery():
            args = ", ".join(expression_text(arg, columns) for arg in expression.args)
            return f"{expression.kind.value}(subquery{f' of {args}' if args else ''})"
        case _:
            assert_never(expression)


def _number_of_key(expression: Expr) -> Expr:
    """A constant numeric key as the number that it stands for."""
    match expression:
        case Literal(bytes(key)):
            return Literal(of_key(key), NUMERIC)
        case _:
            return expression


def _literal_text(literal: Literal) -> str:
    match literal.value:
        case None:
            return "NULL"
        case int() | tuple() if literal.type.leaf.enum is not None:
            return f"'{format_text(literal.type, literal.value)}'::{literal.type}"
        case bool():
            return "true" if literal.value else "false"
        case NanoMoment():
            return f"'{format_text(literal.type, literal.value)}'::{literal.type}"
        case int() | float():
            return str(literal.value)
        case str():
            return quoted_text(literal.value)
        case pa.MonthDayNano():
            return f"'{format_interval(literal.type, literal.value, 'UTC')}'::{literal.type}"
        case bytes() if literal.type.is_wide or literal.type.kind is TypeKind.INT256:
            return format_text(literal.type, literal.value)
        case bytes() if (
            literal.type.is_range
            or literal.type.is_multirange
            or literal.type.kind in (TypeKind.VECTOR, TypeKind.INET, TypeKind.CIDR)
        ):
            return f"'{format_text(literal.type, literal.value)}'::{literal.type}"
        case bytes():
            return f"'\\x{literal.value.hex()}'::bytea"
        case _:
            return f"'{literal.value}'::{literal.type}" if not literal.type.is_numeric else str(literal.value)


def _call_text(function: str, args: list[str]) -> str:
    if function in _ZONED and len(args) == 3 and args[2] == "'UTC'":
        args = args[:2]
    if function in _INFIX and len(args) == 2:
        return f"({args[0]} {_INFIX[function]} {args[1]})"
    if function in _PREFIX and len(args) == 1:
        return f"({_PREFIX[function]}{args[0]})"
    if function in _POSTFIX and len(args) == 1:
        return f"({args[0]} {_POSTFIX[function]})"
    if function == "in":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    return f"{function}({', '.join(args)})"
