"""Evaluates expressions on a row of Python values (`storage.codec.python_values`), as PostgreSQL does.

For what most views of small epochs have: columns, constants, comparisons, logic and arithmetic of integers. To evaluate
them on a row takes a microsecond; each of Arrow's calls takes several, however few the rows. An expression that has
anything else is not compiled, and one that fails for a row raises `NotInPython`: the evaluator of columns knows what
follows from that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.storage.codec.python_values import PythonRow, python_type
from risingpy.types import SqlType, TypeKind

OfRow = Callable[[PythonRow], Any]

_BITS = {TypeKind.SMALLINT: 16, TypeKind.INTEGER: 32, TypeKind.BIGINT: 64}
# Whose values, as Python has them, are ordered as they are.
_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP_NS)
_ORDERED = frozenset((*_BITS, *_MOMENTS, TypeKind.BOOLEAN, TypeKind.VARCHAR))
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class NotInPython(Exception):
    """A row of which Python does not know the value."""


def compile_python(expr: Expr) -> OfRow | None:
    """A function from a row to the expression's value; None if Python does not compute it."""
    match expr:
        case InputRef():
            index = expr.index
            return lambda row: row[index]
        case Literal():
            return _constant(expr)
        case Call():
            return _call(expr)
        case Cast():
            return _cast(expr)
        case Case():
            return _case(expr)
        case _:
            return None


def _constant(expr: Literal) -> OfRow | None:
    type_ = python_type(expr.type.arrow)
    if type_ is None:
        return None
    (value,) = type_.read(pa.array([expr.value], expr.type.arrow))
    return lambda row: value


def _compiled(exprs: Sequence[Expr]) -> list[OfRow] | None:
    found = [compile_python(each) for each in exprs]
    return None if None in found else [each for each in found if each is not None]


def _call(call: Call) -> OfRow | None:
    args = _compiled(call.args)
    if args is None or any(arg.type.system for arg in call.args):
        return None
    kinds = {arg.type.kind for arg in call.args}
    name = call.function
    if name in _COMPARISONS and len(args) == 2:
        compare = _COMPARISONS[name]
        return _strict(compare, args) if kinds <= _ORDERED and (len(kinds) == 1 or kinds <= _BITS.keys()) else None
    if name in _LOGIC and kinds == {TypeKind.BOOLEAN}:
        return _LOGIC[name](args)
    if name in _OF_NULLS and len(args) == 1:
        wanted, (arg,) = _OF_NULLS[name], args
        return lambda row: (arg(row) is None) is wanted
    if name == "coalesce" and len({arg.type.arrow for arg in call.args}) == 1:
        return lambda row: next((value for value in (arg(row) for arg in args) if value is not None), None)
    if name in _ARITHMETIC and call.type.kind in _BITS and kinds == {call.type.kind}:
        return _in_range(call.type, _strict(_ARITHMETIC[name], args))
    if name in _CASES and kinds == {TypeKind.VARCHAR} and len(args) == 1:
        return _strict(_CASES[name], args)
    return None


def _strict(function: Callable[..., Any], args: Sequence[OfRow]) -> OfRow:
    """NULL of a NULL."""
    if len(args) == 2:
        first, second = args

        def of_two(row: PythonRow) -> Any:
            left, right = first(row), second(row)
            return None if left is None or right is None else function(left, right)

        return of_two
    (only,) = args

    def of_one(row: PythonRow) -> Any:
        value = only(row)
        return None if value is None else function(value)

    return of_one


def _in_range(type_: SqlType, function: OfRow) -> OfRow:
    bound = 1 << (_BITS[type_.kind] - 1)

    def checked(row: PythonRow) -> Any:
        value = function(row)
        if value is not None and not -bound <= value < bound:
            raise NotInPython("out of range")
        return value

    return checked


def _quotient(left: int, right: int) -> int:
    """Towards zero."""
    if not right:
        raise NotInPython("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """With the sign of `left`."""
    return left - _quotient(left, right) * right


_ARITHMETIC: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _quotient,
    "modulo": _remainder,
    "negate": operator.neg,
    "abs": abs,
}


def _of_ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    """Of other letters Python knows another Unicode than DuckDB, which SELECT asks."""

    def changed(text: str) -> str:
        if not text.isascii():
            raise NotInPython("a text that is not ASCII")
        return change(text)

    return changed


_CASES = {"lower": _of_ascii(str.lower), "upper": _of_ascii(str.upper)}
_OF_NULLS = {"is_null": True, "is_not_null": False}


def _all(args: Sequence[OfRow]) -> OfRow:
    """AND: false if one is, else NULL if one is. All are evaluated, for one may fail."""

    def evaluated(row: PythonRow) -> bool | None:
        values = [arg(row) for arg in args]
        return False if False in values else None if None in values else True

    return evaluated


def _any(args: Sequence[OfRow]) -> OfRow:
    """OR: true if one is, else NULL if one is."""

    def evaluated(row: PythonRow) -> bool | None:
        values = [arg(row) for arg in args]
        return True if True in values else None if None in values else False

    return evaluated


def _one_of(results: dict[bool | None, bool | None]) -> Callable[[Sequence[OfRow]], OfRow]:
    """A function of one truth value, as a table."""

    def made(args: Sequence[OfRow]) -> OfRow:
        (arg,) = args
        return lambda row: results[arg(row)]

    return made


_LOGIC: dict[str, Callable[[Sequence[OfRow]], OfRow]] = {
    "and": _all,
    "or": _any,
    "not": _one_of({True: False, False: True, None: None}),
    "is_true": _one_of({True: True, False: False, None: False}),
    "is_not_true": _one_of({True: False, False: True, None: True}),
    "is_false": _one_of({True: False, False: True, None: False}),
    "is_not_false": _one_of({True: True, False: False, None: True}),
}


def _cast(cast: Cast) -> OfRow | None:
    """From one kind of integers to another."""
    arg = compile_python(cast.arg)
    if arg is None or cast.safe or cast.arg.type.kind not in _BITS or cast.type.kind not in _BITS:
        return None
    return _in_range(cast.type, arg)


def _case(case: Case) -> OfRow | None:
    conditions = _compiled([condition for condition, _ in case.branches])
    results = _compiled([*(result for _, result in case.branches), case.default])
    exprs = [*(result for _, result in case.branches), case.default]
    if conditions is None or results is None or len({each.type.arrow for each in exprs}) > 1:
        return None
    *others, default = results

    def evaluated(row: PythonRow) -> Any:
        for condition, result in zip(conditions, others, strict=True):
            if condition(row):
                return result(row)
        return default(row)

    return evaluated
