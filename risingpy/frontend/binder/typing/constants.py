"""Constants of a type: of the text of a literal, and of a number that was of another type."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.functions.numeric_results import numeric_of
from risingpy.functions.topics.times.clock_words import name_for, parse_at
from risingpy.optimizer.now import NOW
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import MAX_PRECISION, NUMERIC, UNKNOWN, VARCHAR, SqlType, TypeKind, int256, numeric
from risingpy.types.clocks.clock_words import reads_clock
from risingpy.types.forms import parse_text
from risingpy.types.wide_numeric import to_decimal

_K = TypeKind
_OF_CLOCK = frozenset({_K.TIMESTAMPTZ, _K.DATE, _K.TIME, _K.TIMESTAMP, _K.TIMESTAMP_NS})
_LIMITS = {_K.SMALLINT: 1 << 15, _K.INTEGER: 1 << 31, _K.BIGINT: 1 << 63}


def typed_literal(text: str, target: SqlType, time_zone: str, position: int) -> Expr:
    """The constant that `text` is as a `target`; a cast where it means another time later.

    Raises what the text deserves (22P02, 22003, …), at `position`.
    """
    if target.kind is _K.UNKNOWN:
        return Literal(text, UNKNOWN)
    if target.kind is _K.VARCHAR:
        return Literal(text[: 1 if target.system == "char" else target.length], target)
    if target.kind is _K.CHARACTER:
        return Literal(text[: target.length].rstrip(" "), target)
    if target.kind in _OF_CLOCK and reads_clock(text):
        return _of_the_clock(text, target, time_zone, position)
    try:
        value = parse_text(target, text, time_zone=time_zone)
        return _of_its_digits(value) if target.is_wide else Literal(value, target)
    except SqlError as error:
        error.position = position
        raise


def _of_the_clock(text: str, target: SqlType, time_zone: str, position: int) -> Expr:
    """`timestamptz 'tomorrow 10:00'`: computed from now() when the statement runs, perhaps another day.

    Raises what the text deserves (22007), at `position`.
    """
    bare = replace(target, length=None)
    try:
        parse_at(bare, text, time_zone, datetime.now(UTC))
    except SqlError as error:
        error.position = position
        raise
    args = Literal(text, VARCHAR), Literal(time_zone, VARCHAR), NOW
    call = Call(name_for(bare), args, bare)
    return call if target == bare else Cast(call, target)


def _of_its_digits(value: object) -> Literal:
    """A wide numeric as a constant of just the digits that it is shown with, if those are few enough."""
    assert isinstance(value, bytes)
    number = to_decimal(value)
    if not number.is_finite():
        return Literal(value, NUMERIC)
    scale = len(f"{number:f}".partition(".")[2])
    precision = max(number.adjusted() + 1, 0 if scale else 1) + scale
    if precision > MAX_PRECISION:
        return Literal(value, NUMERIC)
    return Literal(Decimal(f"{number:f}"), numeric(precision, scale))


def converted_number(literal: Literal, target: SqlType) -> Literal | None:
    """A number as a literal of the other type at once, where that is exact or as PostgreSQL rounds."""
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if target.kind in _LIMITS:
        whole = int(value.to_integral_value(ROUND_HALF_UP)) if isinstance(value, Decimal) else value
        if not -_LIMITS[target.kind] <= whole < _LIMITS[target.kind]:
            raise NumericValueOutOfRange(f"{target} out of range")
        return Literal(whole, target)
    if target.kind is _K.INT256:
        return Literal(int256.to_bytes(int(Decimal(value).to_integral_value(ROUND_HALF_UP))), target)
    if target.kind is _K.DOUBLE:
        return Literal(float(value), target)
    if target.kind is _K.NUMERIC and not target.declared and isinstance(value, int):
        return Literal(Decimal(value), numeric_of(literal.type))
    return None
