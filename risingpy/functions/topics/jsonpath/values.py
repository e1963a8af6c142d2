"""jsonpath's computations with single items: arithmetic as of PostgreSQL's numeric, comparison, and item methods."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

from risingpy.functions.topics.jsonpath.error import PathError
from risingpy.functions.topics.jsonpath.moments import Moment, order
from risingpy.types.jsonb import Json, Number

_DIGITS = 140_000  # more than a jsonb number has before its point
_EXACT = Context(prec=_DIGITS, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)
_GROUP = 4  # decimal digits in one of numeric's
_SIGNIFICANT, _MOST_DECIMALS = 16, 1000
_DOUBLE = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_NOT_NUMERIC = "22036"


def number(value: Decimal) -> Number:
    """The item of a value, with all its decimals, without an exponent. There is no negative zero."""
    shown = format(value, "f")
    return Number(shown[1:] if not value and shown.startswith("-") else shown)


def decimal(value: Number) -> Decimal:
    """The exact value of an item, to compute with."""
    return Decimal(value)


def type_name(item: Json) -> str:
    """What the method `.type()` answers; a date or time has the name of its SQL type."""
    match item:
        case None:
            return "null"
        case bool():
            return "boolean"
        case Number():
            return "number"
        case Moment():
            return item.type_name
        case str():
            return "string"
        case dict():
            return "object"
    return "array"


def compare(symbol: str, left: Json, right: Json, zone: str | None) -> bool | None:
    """None where the items cannot be compared. null is no other item."""
    if isinstance(left, Moment) and isinstance(right, Moment):
        found = order(left, right, zone)
        return None if found is None else _ORDERS[symbol](found)
    kind = type_name(left)
    if kind != type_name(right):
        return symbol == "!=" if left is None or right is None else None
    if kind in ("object", "array"):
        return None
    return _ORDERS[symbol](_order(left, right))


def _order(left: Json, right: Json) -> int:
    """Below, equal (0) or above, of scalars of one kind."""
    match left, right:
        case Number(), Number():
            a, b = decimal(left), decimal(right)
            return (a > b) - (a < b)
        case bool(), bool():
            return left - right
        case str(), str():
            return (left > right) - (left < right)
    return 0


_ORDERS: dict[str, Callable[[int], bool]] = {
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    ">": lambda order: order > 0,
    "<=": lambda order: order <= 0,
    ">=": lambda order: order >= 0,
}


# -- arithmetic ---------------------------------------------------------------------------------------------------


def calculate(symbol: str, left: Number, right: Number) -> Number:
    """The result of `+ - * / %`, exact but for a quotient's decimals. A zero divisor raises PathError (22012)."""
    a, b = decimal(left), decimal(right)
    if symbol in "/%" and not b:
        raise PathError("division by zero", sqlstate="22012")
    match symbol:
        case "+":
            return number(_EXACT.add(a, b))
        case "-":
            return number(_EXACT.subtract(a, b))
        case "*":
            return number(_EXACT.multiply(a, b))
        case "/":
            return number(_quotient(a, b))
    rest = _EXACT.remainder(a, b)
    return number(rest.quantize(Decimal(1).scaleb(-max(_scale(a), _scale(b))), context=_EXACT))


def negate(value: Number) -> Number:
    """The number with the other sign and the same decimals."""
    return number(decimal(value).copy_negate())


def _quotient(a: Decimal, b: Decimal) -> Decimal:
    """With as many decimals as PostgreSQL's numeric division gives (select_div_scale)."""
    weight_a, first_a = _leading(a)
    weight_b, first_b = _leading(b)
    weight = weight_a - weight_b - (first_a <= first_b)
    scale = min(max(_SIGNIFICANT - weight * _GROUP, _scale(a), _scale(b), 0), _MOST_DECIMALS)
    # The further digits after the last one are cut, not rounded, so that the result is rounded only once.
    digits = abs(a.adjusted()) + abs(b.adjusted()) + scale + _GROUP
    cut = Context(prec=digits, rounding=ROUND_DOWN, Emax=_EXACT.Emax, Emin=_EXACT.Emin).divide(a, b)
    return cut.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)


def _leading(value: Decimal) -> tuple[int, int]:
    """Weight and value of the first of numeric's digits, which stand for four decimal digits each; (0, 0) of 0."""
    if not value:
        return 0, 0
    weight = value.adjusted() // _GROUP
    return weight, int(abs(value).scaleb(-weight * _GROUP, _EXACT))


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(-exponent, 0)


# -- methods ------------------------------------------------------------------------------------------------------

_ROUNDED = {"floor": ROUND_FLOOR, "ceiling": ROUND_CEILING}


def numeric_method(name: str, item: Json) -> Number:
    """.abs(), .floor() and .ceiling()"""
    if not isinstance(item, Number):
        message = f"jsonpath item method .{name}() can only be applied to a numeric value"
        raise PathError(message, sqlstate=_NOT_NUMERIC)
    value = decimal(item)
    return number(value.copy_abs() if name == "abs" else value.to_integral_value(_ROUNDED[name], _EXACT))


def double(item: Json) -> Number:
    """.double(): numbers stay as they are, if they are in range; of a text, fifteen digits."""
    if isinstance(item, Number):
        if math.isinf(float(item)):
            message = "numeric argument of jsonpath item method .double() is out of range for type double precision"
            raise PathError(message, sqlstate=_NOT_NUMERIC)
        return item
    if not isinstance(item, str):
        message = "jsonpath item method .double() can only be applied to a string or numeric value"
        raise PathError(message, sqlstate=_NOT_NUMERIC)
    value = float(item) if _DOUBLE.fullmatch(item) else math.nan
    underflow = value == 0.0 and any(digit in "123456789" for digit in re.split("[eE]", item)[0])
    if math.isnan(value) or math.isinf(value) or underflow:
        message = (
            "string argument of jsonpath item method .double() is not a valid representation"
            " of a double precision number"
        )
        raise PathError(message, sqlstate=_NOT_NUMERIC)
    return number(Decimal(f"{value:.15g}"))


def position(items: list[Json]) -> int:
    """A subscript: one number, cut to an integer."""
    if len(items) != 1 or not isinstance(items[0], Number):
        raise PathError("jsonpath array subscript is not a single numeric value", sqlstate="22033")
    value = decimal(items[0]).to_integral_value(ROUND_DOWN, _EXACT)
    if not -(2**31) <= value < 2**31:
        raise PathError("jsonpath array subscript is out of integer range", sqlstate="22033")
    return int(value)
