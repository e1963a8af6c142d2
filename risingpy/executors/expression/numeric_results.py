"""Which numeric an operation gives: how its precision and scale follow from the arguments'."""

from __future__ import annotations

from enum import Enum

from risingpy.types import MAX_PRECISION, NUMERIC, SqlType, TypeKind, numeric


class NumericRule(Enum):
    """How a numeric result's precision and scale follow from the arguments'."""

    ADD = "add"  # the larger scale, one digit more before the point
    MULTIPLY = "multiply"  # scales and digits add up
    DIVIDE = "divide"  # wide: a quotient has no end
    LARGER = "larger"  # the larger scale and the larger number of digits before the point
    FIRST = "first"  # the first argument's
    ROUND = "round"  # the first argument's scale, one digit more before the point: 9.99 becomes 10.0
    INTEGRAL = "integral"  # scale 0, one digit more before the point
    SUM = "sum"  # the first argument's scale, as many digits as there can be
    SECONDS = "seconds"  # six decimals: microseconds
    PLAIN = "plain"  # wide, whatever the arguments
    AVERAGE = "average"  # wide, as a quotient
    WHOLE = "whole"  # scale 0, as many digits as there can be
    ROOT = "root"  # 20 decimals, fewer where the digits before the point need the room
    LOGARITHM = "logarithm"  # 20 decimals
    POWER = "power"  # wide: it grows beyond all declared digits


_INTEGER_DIGITS = {TypeKind.SMALLINT: 5, TypeKind.INTEGER: 10, TypeKind.BIGINT: 19}
_LONG_SCALE = 20  # decimals of roots and logarithms, whose 16 significant digits may begin behind the point
_PRODUCT_SCALE = 6
_WIDE_IF_ARGUMENTS_ARE = frozenset(
    {
        *(NumericRule.ADD, NumericRule.MULTIPLY, NumericRule.LARGER, NumericRule.FIRST),
        *(NumericRule.ROUND, NumericRule.INTEGRAL, NumericRule.SUM, NumericRule.ROOT, NumericRule.LOGARITHM),
        NumericRule.WHOLE,
    }
)


def numeric_of(sql_type: SqlType) -> SqlType:
    """The numeric that holds every value of a number type: `numeric(10,0)` for integer."""
    if sql_type.kind is TypeKind.NUMERIC:
        return sql_type
    digits = _INTEGER_DIGITS.get(sql_type.kind)
    return NUMERIC if digits is None else numeric(digits, 0)


def numeric_result(rule: NumericRule, args: tuple[SqlType, ...]) -> SqlType:
    """The result type of a numeric operation: wide where an argument is, or where 38 digits would lose decimals."""
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
        case NumericRule.DIVIDE | NumericRule.AVERAGE | NumericRule.POWER | NumericRule.PLAIN:
            return NUMERIC
        case NumericRule.LARGER:
            return _widest(max(wholes), max(scales))
        case NumericRule.FIRST:
            return _clamped(wholes[0], scales[0])
        case NumericRule.ROUND:
            return _widest(wholes[0] + 1, scales[0])
        case NumericRule.INTEGRAL:
            return _clamped(wholes[0] + 1, 0)
        case NumericRule.SUM:
            return numeric(MAX_PRECISION, scales[0])
        case NumericRule.SECONDS:
            return numeric(MAX_PRECISION, 6)
        case NumericRule.WHOLE:
            return numeric(MAX_PRECISION, 0) if wholes[0] + max(scales) <= MAX_PRECISION else NUMERIC
        case NumericRule.ROOT:
            return numeric(MAX_PRECISION, max(scales[0], min(_LONG_SCALE, MAX_PRECISION - (wholes[0] + 1) // 2)))
        case NumericRule.LOGARITHM:
            return numeric(MAX_PRECISION, _LONG_SCALE)


def _scale(sql_type: SqlType) -> int:
    return numeric_of(sql_type).scale or 0


def _whole(sql_type: SqlType) -> int:
    return (numeric_of(sql_type).precision or 0) - _scale(sql_type)


def _widest(whole: int, scale: int) -> SqlType:
    return numeric(whole + scale, scale) if 0 < whole + scale <= MAX_PRECISION else NUMERIC


def _clamped(whole: int, scale: int) -> SqlType:
    return numeric(max(1, min(MAX_PRECISION, whole + scale)), scale)
