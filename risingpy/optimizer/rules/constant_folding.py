"""Computes expressions of constants: logic, tests for NULL, comparisons, CASE, sums of integers.

    Filter(a = 1 + 1 AND true; t)  =>  Filter(a = 2; t)
    Filter(true; t)                =>  t

An expression that can fail, or that depends on the evaluator's text forms, is left to the evaluator: a row that nobody
reads must not raise an error.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from risingpy.errors import SqlError
from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.plan.expression_trees import opened
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, operands, with_operands
from risingpy.plan.logical import Filter, LogicalPlan
from risingpy.types import BOOLEAN, MAX_PRECISION, SqlType, TypeKind
from risingpy.types.time_precision import rounded_value
from risingpy.types.wide_numeric import to_decimal

_COMPARISONS: dict[str, Callable[[object, object], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,  # type: ignore[operator]
    "le": lambda a, b: a <= b,  # type: ignore[operator]
    "gt": lambda a, b: a > b,  # type: ignore[operator]
    "ge": lambda a, b: a >= b,  # type: ignore[operator]
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
}
_LIMITS = {TypeKind.SMALLINT: 1 << 15, TypeKind.INTEGER: 1 << 31, TypeKind.BIGINT: 1 << 63}
_EXACT = Context(prec=3 * MAX_PRECISION)  # more digits than any number has
_TRUE, _FALSE, _NULL = Literal(True, BOOLEAN), Literal(False, BOOLEAN), Literal(None, BOOLEAN)


def constant_folding(plan: LogicalPlan) -> LogicalPlan:
    """The plan with constants computed; a filter that is always true is dropped."""
    return rewrite_plan(plan, _fold_operator)


def _fold_operator(plan: LogicalPlan) -> LogicalPlan:
    plan = map_expressions(plan, fold)
    return plan.input if isinstance(plan, Filter) and plan.predicate == _TRUE else plan


def fold(expr: Expr) -> Expr:
    """The expression with its constant parts computed, inside out."""
    parts = operands(expr)
    folded = [fold(part) for part in parts]
    if any(new is not old for new, old in zip(folded, parts, strict=True)):
        expr = with_operands(expr, folded)
    match expr:
        case Call("and" | "or" | "not"):
            return _logic(expr)
        case Call("is_null" | "is_not_null", (Literal(value),)):
            return Literal((value is None) == (expr.function == "is_null"), BOOLEAN)
        case Call("check_length" | "check_character", (Literal(None | str()) as text, Literal(int(length)))):
            return text if text.value is None or len(str(text.value)) <= length else expr
        case Call(function, (Literal(a, a_type), Literal(b, b_type))) if a is not None and b is not None:
            return _binary(expr, function, (a, a_type), (b, b_type))
        case Cast(Literal(int(value)), target) if not isinstance(value, bool) and target.kind in _LIMITS:
            fits = -_LIMITS[target.kind] <= value < _LIMITS[target.kind]
            return Literal(value, target) if fits else expr
        case Cast(Literal(int(value)), target) if not isinstance(value, bool) and target.is_fixed_numeric:
            scale = target.scale or 0
            fits = abs(value) < 10 ** ((target.precision or 0) - scale)
            return Literal(Decimal(f"{value}.{'0' * scale}"), target) if fits else expr
        case Cast(Literal(bytes(data), source), target) if source.is_wide and target.is_fixed_numeric:
            rounded = _rounded(to_decimal(data), target)
            return expr if rounded is None else Literal(rounded, target)
        case Cast(Literal(None | str(), source) as text, target) if source.kind is target.kind and _fits(text, target):
            return Literal(text.value, target)
        case Cast(Literal(value, source), target) if target.has_clock and source.kind is target.kind:
            return _of_precision(expr, value, target)
        case Case():
            return _case(expr)
        case Call("let", (Literal() | InputRef() as operand, body, _)):
            return fold(opened(body, operand))
        case Call("let", (_, Literal() as constant, _)):
            return constant
        case _:
            return expr


def _fits(text: Literal, target: SqlType) -> bool:
    """Whether a text is a varchar(n) as it is, without a cut; blanks at the end of a character(n) are not kept."""
    value = text.value
    if not target.is_text or text.type.system or target.system:
        return False
    if value is None:
        return True
    assert isinstance(value, str)
    long_enough = target.length is None or len(value) <= target.length
    return long_enough and (target.kind is TypeKind.VARCHAR or not value.endswith(" "))


def _of_precision(cast: Cast, value: object, target: SqlType) -> Expr:
    """A constant time as one of timestamp(n), time(n) or interval(n); the cast, if there is no room for it."""
    try:
        return Literal(value if value is None else rounded_value(target, value), target)
    except SqlError:
        return cast


def _rounded(value: Decimal, target: SqlType) -> Decimal | None:
    """The number with the type's decimals, halves away from 0; None if it has too many digits, or is not finite."""
    if not value.is_finite():
        return None
    scale = target.scale or 0
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    fits = rounded.copy_abs() < 10 ** ((target.precision or 0) - scale)
    return (rounded or rounded.copy_abs()) if fits else None  # no column has a negative zero


def _logic(call: Call) -> Expr:
    if call.function == "not":
        (operand,) = call.args
        if operand in (_TRUE, _FALSE):
            return _FALSE if operand == _TRUE else _TRUE
        return _null_or(operand, call)
    decisive, neutral = (_FALSE, _TRUE) if call.function == "and" else (_TRUE, _FALSE)
    left, right = call.args
    if decisive in (left, right):
        return decisive
    if left == neutral:
        return right
    return left if right == neutral or left == right == _NULL else call


def _null_or(operand: Expr, call: Call) -> Expr:
    return _NULL if operand == _NULL else call


def _binary(call: Call, function: str, a: tuple[object, SqlType], b: tuple[object, SqlType]) -> Expr:
    kinds = {a[1].kind, b[1].kind}
    if function in _COMPARISONS and len(kinds) == 1 and _is_comparable(a[0]) and _is_comparable(b[0]):
        return Literal(_COMPARISONS[function](a[0], b[0]), BOOLEAN)
    limit = _LIMITS.get(call.type.kind)
    if function in _ARITHMETIC and limit is not None and kinds == {call.type.kind}:
        assert isinstance(a[0], int) and isinstance(b[0], int)
        result = _ARITHMETIC[function](a[0], b[0])
        if -limit <= result < limit:
            return Literal(result, call.type)
    return call


def _is_comparable(value: object) -> bool:
    """Python compares these as PostgreSQL does: numbers, booleans, and texts by code point."""
    return isinstance(value, bool | int | Decimal | str)


def _case(case: Case) -> Expr:
    branches: list[tuple[Expr, Expr]] = []
    for condition, result in case.branches:
        if condition == _TRUE:
            return result if not branches else Case(tuple(branches), result, case.type)
        if condition not in (_FALSE, _NULL):
            branches.append((condition, result))
    return Case(tuple(branches), case.default, case.type) if branches else case.default
