"""Functions on dates and times over whole columns: arithmetic, truncation, and time zones.

Timestamps are microseconds since 1970, in NumPy; what is done with infinite ones, `finite` says. A function on
timestamptz that depends on the session's time zone has the zone's name as its last argument; the binder puts it there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, fail_where, per_constant
from risingpy.functions.topics.times.finite import infinite_rows, keeping, nothing_of, numbers_of, refusing
from risingpy.functions.topics.times.intervals import fields_of, interval_column, truncate_interval
from risingpy.types import TIMESTAMP, TIMESTAMPTZ
from risingpy.types.date_units import MICROS_OF, MICROS_OF_DAY, YEARS_OF, unit_of
from risingpy.types.far_moments import (
    END_DAYS,
    END_MICROS,
    INFINITE_DAYS,
    INFINITE_MICROS,
    MIN_DAYS,
    MIN_MICROS,
    is_infinite,
)
from risingpy.types.forms import parse_column, text_column
from risingpy.types.time_precision import rounded_column
from risingpy.types.time_zones import TimeZone, time_zone

Micros: TypeAlias = "npt.NDArray[np.int64]"

_SECOND = MICROS_OF["second"]
_RANGE = "22008"
_FIXED = {**MICROS_OF, "day": MICROS_OF_DAY}
_KEEPS_OFFSET = MICROS_OF.keys()


def micros_of(column: pa.Array) -> Micros:
    """A time or timestamp column's microseconds; of dates those of their midnights, as `timestamps_of_dates` does."""
    return numbers_of(timestamps_of_dates(column) if pa.types.is_date32(column.type) else column)


def timestamps(micros: Micros, type_: pa.DataType = TIMESTAMP.arrow) -> pa.Array:
    """A column of microseconds. Raises 22008 outside of the range of timestamps."""
    fail_where((micros < MIN_MICROS) | (micros >= END_MICROS), _RANGE, "timestamp out of range")
    return pa.array(micros).cast(type_)


def instants(micros: Micros) -> pa.Array:
    """A timestamptz column of microseconds since 1970 (UTC). Raises 22008 outside of the range of timestamps."""
    return timestamps(micros, TIMESTAMPTZ.arrow)


def dates(days: Micros) -> pa.Array:
    """A column of days since 1970. Raises 22008 outside of the range of dates."""
    fail_where((days < MIN_DAYS) | (days >= END_DAYS), _RANGE, "date out of range")
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def timestamps_of_dates(column: pa.Array) -> pa.Array:
    """Midnight of each date, infinity of infinity; no NULLs. Raises 22008 for dates that no timestamp reaches."""
    days = numbers_of(column)
    finite = ~is_infinite(days, INFINITE_DAYS)
    fail_where(finite & (days >= END_MICROS // MICROS_OF_DAY), _RANGE, "date out of range for timestamp")
    limits = np.where(days > 0, INFINITE_MICROS, -INFINITE_MICROS)
    micros = np.where(finite, np.where(finite, days, 0) * MICROS_OF_DAY, limits)
    return pa.array(micros).cast(TIMESTAMP.arrow)


def months_of(micros: Micros) -> tuple[Micros, Micros, Micros]:
    """Months since 1970-01, the day of the month from 0, and the microseconds of the day."""
    days = micros // MICROS_OF_DAY
    months = days.astype("M8[D]").astype("M8[M]")
    day = days - months.astype("M8[D]").astype(np.int64)
    return months.astype(np.int64), day, micros - days * MICROS_OF_DAY


def days_of_months(months: Micros) -> Micros:
    """The day, since 1970, on which each month begins."""
    begins: Micros = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return begins


def shifted(micros: Micros, months: Micros, days: Micros) -> Micros:
    """Moments so many months and days later; a day that the new month lacks becomes its last day."""
    month, day, rest = months_of(micros)
    target = month + months
    fail_where(np.abs(target) > 12 * 300_000, _RANGE, "timestamp out of range")
    begins, ends = days_of_months(target), days_of_months(target + 1)
    moved = np.where(months == 0, micros // MICROS_OF_DAY, begins + np.minimum(day, ends - begins - 1)) + days
    fail_where(np.abs(moved) > END_MICROS // MICROS_OF_DAY, _RANGE, "timestamp out of range")
    return moved * MICROS_OF_DAY + rest


def moved_in_zone(zone: TimeZone, micros: Micros, months: Micros, days: Micros) -> Micros:
    """Instants whose wall clock in the zone shows the same time, months and days later."""
    moved: Micros = zone.to_utc(shifted(zone.to_local(micros), months, days))
    return moved


def _plus(sign: int) -> Function:
    def computed(column: pa.Array, interval: pa.Array) -> pa.Array:
        months, days, micros = fields_of(interval)
        return timestamps(shifted(micros_of(column), sign * months, sign * days) + sign * micros)

    return Function(keeping(computed, result=TIMESTAMP.arrow))


def _plus_in_zone(sign: int) -> Function:
    """Adds an interval to a timestamptz: months and days move the wall clock, the rest is exact time."""

    def prepared(zone_name: str) -> Compute:
        zone = time_zone(zone_name)

        def computed(column: pa.Array, interval: pa.Array) -> pa.Array:
            months, days, micros = fields_of(interval)
            start = micros_of(column)
            moved = moved_in_zone(zone, start, sign * months, sign * days)
            return instants(np.where((months == 0) & (days == 0), start, moved) + sign * micros)

        return keeping(computed)

    return Function(per_constant(prepared, [2]))


def _swapped(function: Function) -> Function:
    return Function(lambda first, second, *rest: function.compute(second, first, *rest))


def _date_plus_days(sign: int) -> Function:
    def computed(column: pa.Array, days: pa.Array) -> pa.Array:
        return dates(numbers_of(column) + sign * days.to_numpy().astype(np.int64))

    return Function(keeping(computed))


def _date_plus_time(column: pa.Array, time: pa.Array) -> pa.Array:
    return timestamps(micros_of(timestamps_of_dates(column)) + micros_of(time))


_DATE_PLUS_TIME = Function(keeping(_date_plus_time, result=TIMESTAMP.arrow))


def _date_difference(left: pa.Array, right: pa.Array) -> pa.Array:
    """Days between two dates."""
    days = numbers_of(left) - numbers_of(right)
    return pa.array(days.astype(np.int32))


def _difference(left: pa.Array, right: pa.Array) -> pa.Array:
    """Days and time, of one sign."""
    later, earlier = micros_of(left), micros_of(right)
    micros = later - earlier
    fail_where(((later ^ earlier) & (later ^ micros)) < 0, _RANGE, "interval out of range")
    return days_and_time(micros)


def days_and_time(micros: Micros) -> pa.Array:
    """Intervals of days of 24 hours, and of what remains of these microseconds."""
    days = np.sign(micros) * (np.abs(micros) // MICROS_OF_DAY)
    return interval_column(0, days, micros - days * MICROS_OF_DAY)


def unit_named(given: str, type_name: str) -> str:
    """The unit that date_trunc is given. Raises 22023 for none, 0A000 for those of time zones."""
    unit = unit_of(given)
    if unit is None:
        raise SqlError(f'unit "{given.lower()}" not recognized for type {type_name}', sqlstate="22023")
    if unit.startswith("timezone"):
        raise SqlError(f'unit "{given.lower()}" not supported for type {type_name}', sqlstate="0A000")
    return unit


def truncated(unit: str, micros: Micros) -> Micros:
    """The beginning of the unit of time in which each moment lies."""
    if unit in _FIXED:
        return micros // _FIXED[unit] * _FIXED[unit]
    days = micros // MICROS_OF_DAY
    if unit == "week":
        return (days - (days + 3) % 7) * MICROS_OF_DAY  # 1970-01-01 was a Thursday
    months = months_of(micros)[0]
    if unit in ("month", "quarter"):
        size = 1 if unit == "month" else 3
        return days_of_months(months // size * size) * MICROS_OF_DAY
    year, size = months // 12 + 1970, YEARS_OF[unit]
    first = (year - 1) // size * size + 1 if size >= 100 else year // size * size
    return days_of_months((first - 1970) * 12) * MICROS_OF_DAY


def _date_trunc(given: str) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        return timestamps(truncated(unit_named(given, "timestamp without time zone"), micros_of(column)))

    return keeping(computed)  # of infinity whatever the unit is, as in PostgreSQL


def _date_trunc_at(given: str, zone_name: str) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        zone, unit = time_zone(zone_name), unit_named(given, "timestamp with time zone")
        start = micros_of(column)
        offsets = zone.offsets_at(start) * _SECOND
        cut = truncated(unit, start + offsets)
        return instants(cut - offsets if unit in _KEEPS_OFFSET else zone.to_utc(cut))

    return keeping(computed)


def _date_trunc_interval(given: str) -> Compute:
    return truncate_interval(unit_of(given), given.lower())


def _date_bin(stride: pa.Array, source: pa.Array, origin: pa.Array) -> pa.Array:
    months, days, micros = fields_of(stride)
    message = "timestamps cannot be binned into intervals containing months or years"
    fail_where(months != 0, "0A000", message)
    size = days * MICROS_OF_DAY + micros
    fail_where(size <= 0, _RANGE, "stride must be greater than zero")
    fail_where(infinite_rows(origin), _RANGE, "origin out of range")
    start = micros_of(origin)
    return timestamps(start + (micros_of(source) - start) // size * size, source.type)


def _age_fields(first: Micros, second: Micros) -> tuple[Micros, Micros, Micros]:
    """The age between two moments as months, days and microseconds, all of one sign."""
    later, earlier = np.maximum(first, second), np.minimum(first, second)
    (months_a, day_a, rest_a), (months_b, day_b, rest_b) = months_of(later), months_of(earlier)
    months, days, micros = months_a - months_b, day_a - day_b, rest_a - rest_b
    borrow = micros < 0
    days, micros = days - borrow, micros + borrow * MICROS_OF_DAY
    # The month that lends its days is the one of the second argument, or of the first if that is the earlier.
    length = days_of_months(months_b + 1) - days_of_months(months_b)
    while (days < 0).any():
        borrow = days < 0
        days, months = days + borrow * length, months - borrow
    sign = np.where(first < second, -1, 1)
    return sign * months, sign * days, sign * micros


_NO_AGE = "timestamp out of range"


def _age(first: pa.Array, second: pa.Array) -> pa.Array:
    return interval_column(*_age_fields(micros_of(first), micros_of(second)))


def _age_at(zone_name: str) -> Compute:
    zone = time_zone(zone_name)

    def computed(first: pa.Array, second: pa.Array) -> pa.Array:
        return interval_column(*_age_fields(zone.to_local(micros_of(first)), zone.to_local(micros_of(second))))

    return refusing(computed, _NO_AGE)


def _to_local(zone_name: str) -> Compute:
    return keeping(lambda column: timestamps(time_zone(zone_name).to_local(micros_of(column))), result=TIMESTAMP.arrow)


def _to_utc(zone_name: str) -> Compute:
    return keeping(lambda column: instants(time_zone(zone_name).to_utc(micros_of(column))), result=TIMESTAMPTZ.arrow)


def _by_offset(sign: int, make: Callable[[Micros], pa.Array], result: pa.DataType) -> Function:
    """AT TIME ZONE with an interval."""

    def computed(interval: pa.Array, column: pa.Array) -> pa.Array:
        months, days, micros = fields_of(interval)
        message = "interval time zone must not include months or days"
        fail_where((months != 0) | (days != 0), "22023", message)
        return make(micros_of(column) + sign * micros // _SECOND * _SECOND)

    return Function(keeping(computed, 1, result))


def _offset_field(size: int, within: int) -> Function:
    def prepared(zone_name: str) -> Compute:
        zone = time_zone(zone_name)

        def computed(column: pa.Array) -> pa.Array:
            offsets = zone.offsets_at(micros_of(column))
            part = np.sign(offsets) * (np.abs(offsets) // size % within)
            return pa.array(part).cast(pa.string())

        return nothing_of(computed, pa.string())

    return Function(per_constant(prepared, [1]))


def _text_at(zone_name: str) -> Compute:
    return lambda column: text_column(TIMESTAMPTZ, column, time_zone=zone_name)


def _parse_at(zone_name: str) -> Compute:
    return lambda texts: parse_column(TIMESTAMPTZ, texts, time_zone=zone_name)


def _overlaps(*columns: pa.Array) -> pa.Array:
    """(a, b) OVERLAPS (c, d): each pair in either order; NULL where the answer depends on what is NULL."""
    start_a, end_a, open_a, unknown_a = _ordered(*columns[:2])
    start_b, end_b, open_b, unknown_b = _ordered(*columns[2:])
    # The range that begins later overlaps if it begins before the other ends.
    b_later = start_b > start_a
    later, end, open_earlier = (
        np.where(b_later, start_b, start_a),
        np.where(b_later, end_a, end_b),
        np.where(b_later, open_a, open_b),
    )
    open_later = np.where(b_later, open_b, open_a)
    holds = np.where(start_a == start_b, True, later < end)
    unknown = unknown_a | unknown_b | open_earlier | (open_later & (~holds | (start_a == start_b)))
    return pa.array(holds, mask=unknown)


def _ordered(first: pa.Array, second: pa.Array) -> tuple[Micros, Micros, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Start, end, whether the end is unknown, and whether both are."""
    known = [column.is_valid().to_numpy(zero_copy_only=False) for column in (first, second)]
    a, b = (np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy()) for column in (first, second))
    both = known[0] & known[1]
    only = np.where(known[0], a, b)
    return np.where(both, np.minimum(a, b), only), np.where(both, np.maximum(a, b), only), ~both, ~(known[0] | known[1])


def _to_precision(digits: int) -> Compute:
    return lambda column: rounded_column(column, digits)


DATES_AND_TIMES: dict[str, Function] = {
    "to_precision": Function(per_constant(_to_precision, [1])),
    "date_plus_days": _date_plus_days(1),
    "days_plus_date": _swapped(_date_plus_days(1)),
    "date_minus_days": _date_plus_days(-1),
    "date_plus_time": _DATE_PLUS_TIME,
    "date_difference": Function(refusing(_date_difference, "cannot subtract infinite dates")),
    "timestamp_of_date": Function(timestamps_of_dates),
    "time_plus_date": _swapped(_DATE_PLUS_TIME),
    "timestamp_plus": _plus(1),
    "interval_plus_timestamp": _swapped(_plus(1)),
    "timestamp_minus": _plus(-1),
    "timestamptz_plus": _plus_in_zone(1),
    "interval_plus_timestamptz": _swapped(_plus_in_zone(1)),
    "timestamptz_minus": _plus_in_zone(-1),
    "difference": Function(refusing(_difference, "cannot subtract infinite timestamps")),
    "date_trunc": Function(per_constant(_date_trunc, [0])),
    "date_trunc_at": Function(per_constant(_date_trunc_at, [0, 2])),
    "date_trunc_interval": Function(per_constant(_date_trunc_interval, [0])),
    "date_bin": Function(keeping(_date_bin, 1)),
    "age": Function(refusing(_age, _NO_AGE)),
    "age_at": Function(per_constant(_age_at, [2])),
    "to_local": Function(per_constant(_to_local, [0])),
    "to_utc": Function(per_constant(_to_utc, [0])),
    "to_local_by_offset": _by_offset(1, timestamps, TIMESTAMP.arrow),
    "to_utc_by_offset": _by_offset(-1, instants, TIMESTAMPTZ.arrow),
    "extract_timezone": _offset_field(1, 10**9),
    "extract_timezone_hour": _offset_field(3600, 10**9),
    "extract_timezone_minute": _offset_field(60, 60),
    "text_at": Function(per_constant(_text_at, [1])),
    "parse_at": Function(per_constant(_parse_at, [1])),
    "overlaps": Function(_overlaps, takes_nulls=True),
}
