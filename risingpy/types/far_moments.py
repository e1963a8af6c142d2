"""Dates and timestamps of PostgreSQL's whole range, of which Python's `date` and `datetime` hold the years 1 to 9999.

    in columns   date32, days since 1970-01-01; timestamp("us"), microseconds since 1970-01-01 00:00
    infinity     the greatest number of 32 or 64 bits, and its negative: as DuckDB has them, and in the right order
    in Python    date and datetime as far as they reach, beyond them FarDate and FarMoment: the column's number

FarDate and FarMoment are integers, which Arrow takes for values of these types, alone and within arrays and structs.
Reading a column that may hold them is `values_of`, for Arrow's own `to_pylist` raises OverflowError.

A date lies in 4714-11-24 BC (Julian day 0) to 5874897-12-31, as in PostgreSQL. A timestamp ends at 294246-12-31: it
counts from 1970 and PostgreSQL from 2000, which so reaches 30 years further.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.types.clocks.nano_moments import NanoMoment, holds_nanos
from risingpy.types.date_units import MICROS_OF_DAY

INFINITE_DAYS = 2**31 - 1
INFINITE_MICROS = 2**63 - 1
JULIAN_1970 = 2_440_588  # the Julian day of 1970-01-01
MIN_DAYS, END_DAYS = -JULIAN_1970, 2_147_483_494 - JULIAN_1970  # PostgreSQL's: Julian day 0 to 5874898-01-01
MIN_MICROS = MIN_DAYS * MICROS_OF_DAY
END_MICROS = 106_751_982 * MICROS_OF_DAY  # 294247-01-01

_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the calendar repeats itself
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = _EPOCH.toordinal()
NEAR_DAYS = (1 - _EPOCH_ORDINAL, date.max.toordinal() - _EPOCH_ORDINAL)
"""The first and the last day that Python's `date` holds."""
NEAR_MICROS = (NEAR_DAYS[0] * MICROS_OF_DAY, (NEAR_DAYS[1] + 1) * MICROS_OF_DAY - 1)


class FarDate(int):
    """A date beyond Python's: days since 1970-01-01, or ±INFINITE_DAYS."""

    __slots__ = ()


class FarMoment(int):
    """A timestamp beyond Python's, of a timestamptz in UTC: microseconds since 1970, or ±INFINITE_MICROS."""

    __slots__ = ()


def date_of(days: int) -> date | FarDate:
    """The date so many days after 1970-01-01."""
    if NEAR_DAYS[0] <= days <= NEAR_DAYS[1]:
        return date.fromordinal(days + _EPOCH_ORDINAL)
    return FarDate(days)


def moment_of(micros: int, *, has_zone: bool) -> datetime | FarMoment:
    """The moment so many microseconds after 1970-01-01; aware, in UTC, if it has a zone."""
    if NEAR_MICROS[0] <= micros <= NEAR_MICROS[1]:
        return (_EPOCH_UTC if has_zone else _EPOCH) + timedelta(microseconds=micros)
    return FarMoment(micros)


def days_of(value: date | FarDate) -> int:
    """Days since 1970-01-01."""
    return int(value) if isinstance(value, FarDate) else value.toordinal() - _EPOCH_ORDINAL


def micros_of(value: datetime | FarMoment) -> int:
    """Microseconds since 1970-01-01, of an aware datetime in UTC."""
    if isinstance(value, FarMoment):
        return int(value)
    return (value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)) // timedelta(microseconds=1)


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a day of the Gregorian calendar, in which year 0 is 1 BC. ValueError if it has none."""
    cycles, near = divmod(year - 1, _CYCLE_YEARS)
    return date(near + 1, month, day).toordinal() - _EPOCH_ORDINAL + cycles * _CYCLE_DAYS


def calendar_day(days: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month and day, so many days after 1970-01-01."""
    cycles, near = divmod(days + _EPOCH_ORDINAL - 1, _CYCLE_DAYS)
    found = date.fromordinal(near + 1)
    return found.year + _CYCLE_YEARS * cycles, found.month, found.day


def near_day(days: int) -> int:
    """The day itself, or if it is far one of four digits some times 400 years from it, of the same rules of zones."""
    cycles = (days - NEAR_DAYS[0]) // _CYCLE_DAYS
    most = (NEAR_DAYS[1] - NEAR_DAYS[0]) // _CYCLE_DAYS - 1
    return days - (cycles - min(max(cycles, 0), most)) * _CYCLE_DAYS


def infinite_text(number: int, limit: int) -> str | None:
    """`infinity` or `-infinity` of a number at or beyond the limit, None of others."""
    return "infinity" if number >= limit else "-infinity" if number <= -limit else None


def date_text(days: int) -> tuple[str, str]:
    """`0044-03-15` and what follows at the end of the text, ` BC` or nothing."""
    year, month, day = calendar_day(days)
    return f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}", "" if year > 0 else " BC"


def duckdb_text(value: FarDate | FarMoment) -> str:
    """The text that DuckDB reads as this date or timestamp: `0044-03-15 (BC) 12:00:00`."""
    is_date = isinstance(value, FarDate)
    infinite = infinite_text(value, INFINITE_DAYS if is_date else INFINITE_MICROS)
    if infinite is not None:
        return infinite
    days, micros = (int(value), 0) if is_date else divmod(int(value), MICROS_OF_DAY)
    shown, era = date_text(days)
    shown += " (BC)" if era else ""
    return shown if is_date else f"{shown} {_EPOCH + timedelta(microseconds=micros):%H:%M:%S.%f}"


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The column's Python values, as `Literal` has them but with lists and dicts for arrays, structs and maps."""
    if not holds_nanos(column.type):  # of those Arrow makes pandas' timestamps, or raises an error
        try:
            values: list[Any] = column.to_pylist()
        except (OverflowError, ValueError):  # a date or timestamp beyond Python's
            pass
        else:
            return values
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in _far_values(chunk)]


def near_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The column's values for Python programs. Raises 22008 for infinity and years that Python's dates lack.

    Moments of nanoseconds are numbers, as in `values_of`: they have no other exact form.
    """
    if holds_nanos(column.type):
        return values_of(column)
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        message = "Python has no infinite dates and timestamps, and none outside of the years 1 to 9999"
        raise SqlError(message, sqlstate="22008", hint="Cast the value to text.") from None
    return values


def value_of(column: pa.Array | pa.ChunkedArray, row: int) -> Any:
    """The Python value in one row, as `values_of` gives it."""
    return values_of(column.slice(row, 1))[0]


def _far_values(array: pa.Array) -> Sequence[Any]:
    type_ = array.type
    if pa.types.is_date32(type_):
        return [None if days is None else date_of(days) for days in array.cast(pa.int32()).to_pylist()]
    if pa.types.is_timestamp(type_):
        has_zone = type_.tz is not None
        numbers = array.cast(pa.int64()).to_pylist()
        if type_.unit == "ns":
            return [None if nanos is None else NanoMoment(nanos) for nanos in numbers]
        return [None if micros is None else moment_of(micros, has_zone=has_zone) for micros in numbers]
    if pa.types.is_struct(type_):
        columns = [values_of(column) for column in array.flatten()]
        names = [type_.field(k).name for k in range(type_.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(type_):
        items = list(zip(values_of(array.keys), values_of(array.items), strict=True))
    elif pa.types.is_list(type_):
        items = values_of(array.values)
    else:
        return list(array.to_pylist())
    first = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [items[first[k] : first[k + 1]] if valid[k] else None for k in range(len(array))]


def is_infinite(numbers: npt.NDArray[np.int64], limit: int) -> npt.NDArray[np.bool_]:
    """Where days or microseconds are ±infinity, by their limit."""
    found: npt.NDArray[np.bool_] = (numbers >= limit) | (numbers <= -limit)
    return found
