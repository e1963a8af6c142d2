"""Derives the precision and scale of numeric results from those of the arguments."""

from __future__ import annotations

from enum import Enum

from risingpy.types import MAX_PRECISION, NUMERIC, SqlType, TypeKind, numeric


class NumericRule(Enum):
    """How a numeric result's precision and scale follow from the arguments'.

    A result that is not wide shows all decimals of its type. So if PostgreSQL's decimals depend on the values, the
    result is wide.
    """

    ADD = "add"  # the larger scale, one digit more before the point
    MULTIPLY = "multiply"  # scales and digits add up
    DIVIDE = "divide"  # wide: a quotient has no end
    LARGER = "larger"  # the larger scale and the larger number of digits before the point
    COMMON = "common"  # of branches, each shown with its own decimals: wide where the scales differ
    FIRST = "first"  # the first argument's
    INTEGRAL = "integral"  # scale 0, one digit more before the point
    SUM = "sum"  # the first argument's scale, as many digits as there can be
    SECONDS = "seconds"  # six decimals: microseconds
    MILLISECONDS = "milliseconds"  # three decimals: microseconds
    NANO_SECONDS = "nano_seconds"  # of timestamp_ns: nine decimals
    NANO_MILLISECONDS = "nano_milliseconds"  # likewise: six
    NANO_MICROSECONDS = "nano_microseconds"  # likewise: three
    PLAIN = "plain"  # wide, whatever the arguments
    AVERAGE = "average"  # wide, as a quotient
    WHOLE = "whole"  # scale 0, as many digits as there can be


_INTEGER_DIGITS = {TypeKind.SMALLINT: 5, TypeKind.INTEGER: 10, TypeKind.BIGINT: 19}
_PRODUCT_SCALE = 6
_DECIMALS = {
    NumericRule.SECONDS: 6,
    NumericRule.MILLISECONDS: 3,
    NumericRule.NANO_SECONDS: 9,
    NumericRule.NANO_MILLISECONDS: 6,
    NumericRule.NANO_MICROSECONDS: 3,
}
_WIDE_IF_ARGUMENTS_ARE = frozenset(
    {
        *(NumericRule.ADD, NumericRule.MULTIPLY, NumericRule.LARGER, NumericRule.FIRST),
        *(NumericRule.COMMON, NumericRule.INTEGRAL, NumericRule.SUM, NumericRule.WHOLE),
    }
)


def numeric_of(sql_type: SqlType) -> SqlType:
    """The numeric that holds every value of a number type: `numeric(10,0)` for integer."""
    if sql_type.kind is TypeKind.NUMERIC:
        return sql_type
    digits = _INTEGER_DIGITS.get(sql_type.kind)
    return NUMERIC if digits is None else numeric(digits, 0)


def numeric_result(rule: NumericRule, args: tuple[SqlType, ...]) -> SqlType:
    """The result type of a numeric operation: wide if an argument is, or if 38 digits would lose decimals."""
    numbers = [a for a in args if a.is_numeric]
    if any(a.is_wide for a in numbers) and rule in _WIDE_IF_ARGUMENTS_ARE:
        return NUMERIC
    scales = [_scale(a) for a in numbers] or [0]
    wholes = [_whole(a) for a in numbers] or [MAX_PRECISION]
    match rule:
        case NumericRule.ADD:
            return _widest(max(wholes) + 1, max(scales))
        case NumericRule.MULTIPLY:
            # Beyond 38 digits up to six decimals stay, and the digits before the point are as many as there is room
            # for: prices times discounts times taxes are exact and fast. What would lose decimals is wide.
            room = MAX_PRECISION - sum(wholes)
            kept = min(sum(scales), max(room, _PRODUCT_SCALE, *scales))
            return NUMERIC if kept < sum(scales) else _clamped(sum(wholes), kept)
        case NumericRule.DIVIDE | NumericRule.AVERAGE | NumericRule.PLAIN:
            return NUMERIC
        case NumericRule.COMMON:
            return _widest(max(wholes), scales[0]) if len(set(scales)) == 1 else NUMERIC
        case NumericRule.LARGER:
            return _widest(max(wholes), max(scales))
        case NumericRule.FIRST:
            return _clamped(wholes[0], scales[0])
        case NumericRule.INTEGRAL:
            return _clamped(wholes[0] + 1, 0)
        case NumericRule.SUM:
            return numeric(MAX_PRECISION, scales[0])
        case NumericRule.WHOLE:
            return numeric(MAX_PRECISION, 0) if wholes[0] + max(scales) <= MAX_PRECISION else NUMERIC
        case _:
            return numeric(MAX_PRECISION, _DECIMALS[rule])


def rounded_result(argument: SqlType, decimals: int) -> SqlType:
    """The type of round(argument, decimals), with that number of decimals."""
    number = numeric_of(argument)
    return NUMERIC if number.is_wide else _widest(_whole(number) + 1, max(decimals, 0))


def _scale(sql_type: SqlType) -> int:
    return numeric_of(sql_type).scale or 0


def _whole(sql_type: SqlType) -> int:
    return (numeric_of(sql_type).precision or 0) - _scale(sql_type)


def _widest(whole: int, scale: int) -> SqlType:
    return numeric(whole + scale, scale) if 0 < whole + scale <= MAX_PRECISION else NUMERIC


def _clamped(whole: int, scale: int) -> SqlType:
    return numeric(max(1, min(MAX_PRECISION, whole + scale)), scale)
