"""Dates and times made of numbers: make_date, make_time, make_timestamp, make_timestamptz, to_timestamp."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import InvalidParameterValue, SqlError
from risingpy.functions.topics.calling import Compute, Function, fail_where, per_constant
from risingpy.functions.topics.times.dates_and_times import Micros, dates, days_of_months, instants, timestamps
from risingpy.types import TIMESTAMPTZ
from risingpy.types.date_units import MICROS_OF, MICROS_OF_DAY
from risingpy.types.datetime_text import MAX_OFFSET_HOURS
from risingpy.types.far_moments import END_DAYS, END_MICROS, INFINITE_MICROS, MIN_DAYS, MIN_MICROS
from risingpy.types.time_zones import posix_seconds, time_zone

_SECOND = MICROS_OF["second"]
_RANGE = "22008"
_FAR = 6_000_000  # years, beyond those of any date


def _days_of_parts(year: pa.Array, month: pa.Array, day: pa.Array) -> Micros:
    """Days since 1970; a negative year is one before Christ. Raises 22008 for what no date is."""
    given, m, d = (part.to_numpy().astype(np.int64) for part in (year, month, day))
    y = np.where(given < 0, given + 1, given)
    _refuse((given == 0) | (m < 1) | (m > 12), "date field value", y, m, d)
    _refuse(np.abs(y) > _FAR, "date", y, m, d)
    months = (y - 1970) * 12 + m - 1
    begins = days_of_months(months)
    _refuse((d < 1) | (d > days_of_months(months + 1) - begins), "date field value", y, m, d)
    days: Micros = begins + d - 1
    _refuse((days < MIN_DAYS) | (days >= END_DAYS), "date", y, m, d)
    return days


def _refuse(wrong: npt.NDArray[np.bool_], what: str, *parts: Micros) -> None:
    if wrong.any():
        year, month, day = (int(part[wrong][0]) for part in parts)
        raise SqlError(f"{what} out of range: {year}-{month:02d}-{day:02d}", sqlstate=_RANGE)


def _midnights(*parts: pa.Array) -> Micros:
    days = _days_of_parts(*parts)
    fail_where(days >= END_MICROS // MICROS_OF_DAY, _RANGE, "timestamp out of range")
    return days * MICROS_OF_DAY


def _time_parts(hour: pa.Array, minute: pa.Array, second: pa.Array) -> Micros:
    h, m = (part.to_numpy().astype(np.int64) for part in (hour, minute))
    s = second.to_numpy()
    wrong = (h < 0) | (h > 24) | (m < 0) | (m > 59) | ~((s >= 0) & (s <= 60))
    fail_where(wrong, _RANGE, "time field value out of range")
    micros: Micros = (h * 60 + m) * 60 * _SECOND + np.rint(s * _SECOND).astype(np.int64)
    fail_where(micros > MICROS_OF_DAY, _RANGE, "time field value out of range")
    return micros


def _make_date(*parts: pa.Array) -> pa.Array:
    return dates(_days_of_parts(*parts))


def _make_time(*parts: pa.Array) -> pa.Array:
    micros = _time_parts(*parts)
    fail_where(micros == MICROS_OF_DAY, _RANGE, "time field value out of range: 24:00:00 is not supported")
    return pa.array(micros).cast(pa.time64("us"))


def _make_timestamp(*parts: pa.Array) -> pa.Array:
    return timestamps(_midnights(*parts[:3]) + _time_parts(*parts[3:]))


def _make_timestamptz(zone_name: str) -> Compute:
    # Here a sign is ISO's, east of Greenwich; elsewhere it is POSIX's.
    if zone_name[:1].isdigit():
        hint = 'Numeric time zones must have "-" or "+" as first character.'
        message = f'invalid input syntax for type numeric time zone: "{zone_name}"'
        raise InvalidParameterValue(message, hint=hint)
    distance = posix_seconds(zone_name) if zone_name[:1] in ("+", "-") else None
    if distance is not None and abs(distance) >= (MAX_OFFSET_HOURS + 1) * 3600:
        raise InvalidParameterValue(f'numeric time zone "{zone_name}" out of range')
    sign = {"+": "-", "-": "+"}.get(zone_name[:1], zone_name[:1])
    zone = time_zone(sign + zone_name[1:])
    return lambda *parts: instants(zone.to_utc(_midnights(*parts[:3]) + _time_parts(*parts[3:])))


def _to_timestamp(seconds: pa.Array) -> pa.Array:
    number = seconds.to_numpy()
    fail_where(np.isnan(number), _RANGE, "timestamp cannot be NaN")
    infinite = np.isinf(number)
    finite = np.where(infinite, 0, number)
    outside = (finite * _SECOND < MIN_MICROS) | (finite * _SECOND >= END_MICROS)
    if outside.any():
        raise SqlError(f'timestamp out of range: "{finite[outside][0]:g}"', sqlstate=_RANGE)
    micros = np.rint(finite * _SECOND).astype(np.int64)
    limits = np.where(number > 0, INFINITE_MICROS, -INFINITE_MICROS)
    return pa.array(np.where(infinite, limits, micros)).cast(TIMESTAMPTZ.arrow)


FROM_PARTS: dict[str, Function] = {
    "make_date": Function(_make_date),
    "make_time": Function(_make_time),
    "make_timestamp": Function(_make_timestamp),
    "make_timestamptz": Function(per_constant(_make_timestamptz, [6])),
    "to_timestamp": Function(_to_timestamp),
}
