"""Intervals over whole columns: months, days and microseconds as integers, and PostgreSQL's arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import DivisionByZero, SqlError
from risingpy.functions.topics.calling import Compute, Function, fail_where
from risingpy.types.date_units import MICROS_OF, MICROS_OF_DAY, YEARS_OF
from risingpy.types.interval import MICROS_LIMIT

Integers: TypeAlias = "npt.NDArray[np.int64]"
Doubles: TypeAlias = "npt.NDArray[np.float64]"
Fields: TypeAlias = "tuple[Integers, Integers, Integers]"

_LAYOUT = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_RANGE = "22008"


def fields_of(column: pa.Array) -> Fields:
    """Months, days and microseconds."""
    records = np.frombuffer(column.buffers()[1], _LAYOUT)[column.offset : column.offset + len(column)]
    months, days = records["months"].astype(np.int64), records["days"].astype(np.int64)
    return months, days, records["nanos"] // 1000


def interval_column(months: Any, days: Any, micros: Any) -> pa.Array:
    """Intervals of these fields, each a column or one number. Raises 22008."""
    months, days, micros = np.broadcast_arrays(*(np.asarray(part, np.int64) for part in (months, days, micros)))
    too_far = (np.abs(months) >= 2**31) | (np.abs(days) >= 2**31) | (np.abs(micros) >= MICROS_LIMIT)
    fail_where(too_far, _RANGE, "interval out of range")
    records = np.empty(len(months), _LAYOUT)
    records["months"], records["days"], records["nanos"] = months, days, micros * 1000
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(records), [None, pa.py_buffer(records)])


def divided(number: Any, divisor: Any) -> Any:
    """Integer division that cuts towards zero, as C's."""
    return np.sign(number) * (np.abs(number) // divisor)


def _add(left: pa.Array, right: pa.Array) -> pa.Array:
    return interval_column(*(a + b for a, b in zip(fields_of(left), fields_of(right), strict=True)))


def _subtract(left: pa.Array, right: pa.Array) -> pa.Array:
    return interval_column(*(a - b for a, b in zip(fields_of(left), fields_of(right), strict=True)))


def _negate(column: pa.Array) -> pa.Array:
    return interval_column(*(-part for part in fields_of(column)))


def _to_micro(seconds: Doubles) -> Doubles:
    rounded: Doubles = np.rint(seconds * 1e6) / 1e6
    return rounded


def _scaled(column: pa.Array, scale: Callable[[Integers], Doubles]) -> pa.Array:
    """Each field scaled; fractions of months become days, of days time: PostgreSQL's interval_mul."""
    months, days, micros = fields_of(column)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        exact_months, exact_days, exact_micros = scale(months), scale(days), scale(micros)
    limits = ((exact_months, 2**31), (exact_days, 2**31), (exact_micros, MICROS_LIMIT))
    for value, limit in limits:
        fail_where(~(np.abs(value) < limit), _RANGE, "interval out of range")
    whole_months, whole_days = np.trunc(exact_months), np.trunc(exact_days)
    more_days = _to_micro((exact_months - whole_months) * 30)
    seconds = _to_micro((exact_days - whole_days + more_days - np.trunc(more_days)) * 86400)
    carried = np.where(np.abs(seconds) >= 86400, np.trunc(seconds / 86400), 0.0)
    seconds -= carried * 86400
    total_days = whole_days + carried + np.trunc(more_days)
    return interval_column(whole_months, total_days, np.rint(exact_micros + seconds * 1e6))


def _multiply(column: pa.Array, factor: pa.Array) -> pa.Array:
    return _scaled(column, lambda part: part * factor.to_numpy())


def _divide(column: pa.Array, divisor: pa.Array) -> pa.Array:
    number = divisor.to_numpy()
    fail_where(number == 0, DivisionByZero, "division by zero")
    return _scaled(column, lambda part: part / number)


def _truncate(unit: str) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        months, days, micros = fields_of(column)
        if unit in YEARS_OF:
            months = divided(months, 12 * YEARS_OF[unit]) * 12 * YEARS_OF[unit]
            return interval_column(months, 0, 0)
        if unit in ("quarter", "month"):
            size = 3 if unit == "quarter" else 1
            return interval_column(divided(months, size) * size, 0, 0)
        if unit == "day":
            return interval_column(months, days, 0)
        return interval_column(months, days, divided(micros, MICROS_OF[unit]) * MICROS_OF[unit])

    return computed


def truncate_interval(unit: str | None, given: str) -> Compute:
    """date_trunc of an interval; `unit` is None where `given` is none."""
    if unit is None:
        raise SqlError(f'unit "{given}" not recognized for type interval', sqlstate="22023")
    if unit in YEARS_OF or unit in MICROS_OF or unit in ("quarter", "month", "day"):
        return _truncate(unit)
    detail = "Months usually have fractional weeks." if unit == "week" else None
    raise SqlError(f'unit "{given}" not supported for type interval', sqlstate="0A000", detail=detail)


def _justify_hours(column: pa.Array) -> pa.Array:
    months, days, micros = fields_of(column)
    more = divided(micros, MICROS_OF_DAY)
    days, micros = days + more, micros - more * MICROS_OF_DAY
    days, micros = _same_sign(days, micros, MICROS_OF_DAY)
    return interval_column(months, days, micros)


def _same_sign(large: Integers, small: Integers, size: int) -> tuple[Integers, Integers]:
    """Moves one unit, so that both numbers have one sign."""
    shift = np.where((large > 0) & (small < 0), -1, np.where((large < 0) & (small > 0), 1, 0))
    return large + shift, small - shift * size


def _justify_days(column: pa.Array) -> pa.Array:
    months, days, micros = fields_of(column)
    more = divided(days, 30)
    months, days = _same_sign(months + more, days - more * 30, 30)
    return interval_column(months, days, micros)


def _justify_interval(column: pa.Array) -> pa.Array:
    months, days, micros = fields_of(column)
    # Days give way to months first where they are enough, so that no intermediate sum is too large.
    apart = ((days > 0) & (micros > 0)) | ((days < 0) & (micros < 0))
    early = np.where(apart, divided(days, 30), 0)
    months, days = months + early, days - early * 30
    more = divided(micros, MICROS_OF_DAY)
    days, micros = days + more, micros - more * MICROS_OF_DAY
    more = divided(days, 30)
    months, days = months + more, days - more * 30
    down = (months > 0) & ((days < 0) | ((days == 0) & (micros < 0)))
    up = (months < 0) & ((days > 0) | ((days == 0) & (micros > 0)))
    shift = np.where(down, -1, np.where(up, 1, 0))
    months, days = months + shift, days - shift * 30
    days, micros = _same_sign(days, micros, MICROS_OF_DAY)
    return interval_column(months, days, micros)


def _make_interval(*parts: pa.Array) -> pa.Array:
    years, months, weeks, days, hours, minutes = (part.to_numpy().astype(np.int64) for part in parts[:6])
    seconds = parts[6].to_numpy()
    fail_where(~np.isfinite(seconds) | (np.abs(seconds) > 1e15), _RANGE, "interval out of range")
    micros = hours * MICROS_OF["hour"] + minutes * MICROS_OF["minute"] + np.rint(seconds * 1e6).astype(np.int64)
    return interval_column(years * 12 + months, weeks * 7 + days, micros)


INTERVALS: dict[str, Function] = {
    "add_intervals": Function(_add),
    "subtract_intervals": Function(_subtract),
    "negate_interval": Function(_negate),
    "multiply_interval": Function(_multiply),
    "multiply_by_interval": Function(lambda factor, column: _multiply(column, factor)),
    "divide_interval": Function(_divide),
    "justify_hours": Function(_justify_hours),
    "justify_days": Function(_justify_days),
    "justify_interval": Function(_justify_interval),
    "make_interval": Function(_make_interval),
}
