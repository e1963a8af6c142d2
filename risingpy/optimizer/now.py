"""How expressions of now() change as time goes on.

    now() - interval '1 hour', date_trunc('hour', now()), current_date     FORWARD: they never fall
    now() - interval '1 month', now() AT TIME ZONE 'Europe/Berlin'         BY_QUARTERS: they fall at times (the first
                                                                           is February 28 on March 28 to 31), but
                                                                           never within a quarter of an hour
    extract(hour from now()), 2 * now()                                    None: nothing is known

Time zones change their offset, and local days begin, at a quarter of an hour of UTC.
"""

from __future__ import annotations

from enum import Enum

import pyarrow as pa

from risingpy.functions.topics.times.clock_words import PREFIX
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.types import INTERVAL, TIMESTAMPTZ, VARCHAR, TypeKind

NOW = Call("now", (), TIMESTAMPTZ)
QUARTER_MILLISECONDS = 15 * 60 * 1000

_MOMENTS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
_PLUS_MINUS = frozenset({"timestamp_plus", "timestamp_minus", "timestamptz_plus", "timestamptz_minus"})
_FROM_LEFT = frozenset({"interval_plus_timestamp", "interval_plus_timestamptz"})
_DAYS = frozenset({"date_plus_days", "date_minus_days"})
_UTC = "UTC"


class Motion(Enum):
    """How an expression of now() changes as time goes on."""

    FORWARD = "forward"  # it never falls
    BY_QUARTERS = "by quarters"  # it may fall where a quarter of an hour of UTC begins, and only there


def reads_now(expr: Expr) -> bool:
    """Whether now() is in the expression."""
    return any(part == NOW for part in walk(expr))


def is_time_word(expr: Expr) -> bool:
    """Whether the expression reads a text like 'today' as a time."""
    return isinstance(expr, Call) and expr.function.startswith(PREFIX)


def motion(expr: Expr) -> Motion | None:
    """The motion of an expression over constants and now(), or a column that has it; None if it is not known."""
    match expr:
        case InputRef() | Call("now"):
            return Motion.FORWARD
        case Cast(arg, target) if target.kind in _MOMENTS:
            return motion(arg)
        case Call(function, (moment, Literal() as amount, *zone)) if function in _PLUS_MINUS:
            return _shifted(moment, amount, zone)
        case Call(function, (Literal() as amount, moment, *zone)) if function in _FROM_LEFT:
            return _shifted(moment, amount, zone)
        case Call(function, (moment, Literal())) if function in _DAYS:
            return motion(moment)
        case Call("days_plus_date", (Literal(), moment)):
            return motion(moment)
        case Call("date_trunc" | "date_bin" | "to_local_by_offset", (Literal(), moment, *rest)):
            return motion(moment) if all(isinstance(part, Literal) for part in rest) else None
        case Call("date_trunc_at", (Literal(), moment, zone)):
            return _at_zone(moment, zone)
        case Call("to_local" | "to_utc", (zone, moment)):
            return _at_zone(moment, zone)
        case _:
            return None


def now_alone(comparison: Expr) -> Expr:
    """Rewrites a comparison of a difference with a constant interval, so that a column stands alone on one side.

        now() - ts < interval '1 hour'  =>  now() - interval '1 hour' < ts

    A comparison takes days as 24 hours and months as 30 days, so the interval becomes as many days.
    """
    match comparison:
        case Call(function, (Call("difference", (later, earlier)), Literal(pa.MonthDayNano() as length))):
            return Call(function, (_back(later, length), earlier), comparison.type)
        case Call(function, (Literal(pa.MonthDayNano() as length), Call("difference", (later, earlier)))):
            return Call(function, (earlier, _back(later, length)), comparison.type)
        case _:
            return comparison


def _back(moment: Expr, length: pa.MonthDayNano) -> Expr:
    days = Literal(pa.MonthDayNano((0, 30 * length.months + length.days, length.nanoseconds)), INTERVAL)
    if moment.type.kind is TypeKind.TIMESTAMPTZ:  # by UTC: a day has 24 hours
        return Call("timestamptz_minus", (moment, days, Literal(_UTC, VARCHAR)), moment.type)
    return Call("timestamp_minus", (moment, days), moment.type)


def _shifted(moment: Expr, amount: Literal, zone: list[Expr]) -> Motion | None:
    """The motion of a moment plus or minus an interval; days and months are those of the zone's calendar."""
    if not isinstance(amount.value, pa.MonthDayNano):
        return None
    months, days, _ = amount.value
    if months == 0 and (days == 0 or not zone or _is_utc(zone[0])):
        return motion(moment)
    return Motion.BY_QUARTERS if _begins_quarters(moment) else None


def _at_zone(moment: Expr, zone: Expr) -> Motion | None:
    if _is_utc(zone):
        return motion(moment)
    return Motion.BY_QUARTERS if isinstance(zone, Literal) and _begins_quarters(moment) else None


def _is_utc(zone: Expr) -> bool:
    return isinstance(zone, Literal) and isinstance(zone.value, str) and zone.value.upper() == _UTC


def _begins_quarters(moment: Expr) -> bool:
    """Whether the expression's quarters of an hour begin exactly when those of UTC do."""
    match moment:
        case InputRef() | Call("now"):
            return True
        case Cast(arg, target) if target.kind in _MOMENTS:
            return _begins_quarters(arg)
        case Call("date_trunc" | "date_trunc_at" | "to_local" | "to_utc", (Literal(), arg, *rest)):
            return all(isinstance(part, Literal) for part in rest) and _begins_quarters(arg)
        case _:
            return False
