"""Functions on timestamp_ns over whole columns: arithmetic, truncation, and casts from and to other moments.

A moment is cut into microseconds since 1970 and the nanoseconds below them. Those of `dates_and_times` compute on the
microseconds; the nanoseconds are put back, or round them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, fail_where, per_constant
from risingpy.functions.topics.times.dates_and_times import (
    Micros,
    days_and_time,
    instants,
    micros_of,
    shifted,
    timestamps_of_dates,
    truncated,
    unit_named,
)
from risingpy.functions.topics.times.finite import numbers_of
from risingpy.functions.topics.times.intervals import fields_of
from risingpy.types import TIMESTAMP_NS, TypeKind
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS, NANOS, RANGE_HINT
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.time_zones import time_zone

_PER_MICRO = 1000
_HALF = _PER_MICRO // 2
_RANGE = "22008"
_FIRST_MICROS, _LAST_MICROS = FIRST_NANOS // _PER_MICRO, LAST_NANOS // _PER_MICRO


def _moments(micros: Micros, below: Micros | int = 0, message: str = "timestamp_ns out of range") -> pa.Array:
    """A column of so many microseconds since 1970 and nanoseconds, of 0 to 999. Raises 22008 beyond the range."""
    inside = (micros >= _FIRST_MICROS) & (micros <= _LAST_MICROS)
    near = np.where(inside, micros, 0)
    nanos = near * _PER_MICRO + below  # of the first and the last microsecond it may wrap: the sign shows it
    inside &= (nanos >= FIRST_NANOS) & (nanos <= LAST_NANOS) & ((nanos < 0) == (near < 0))
    if not inside.all():
        raise SqlError(message, sqlstate=_RANGE, hint=RANGE_HINT)
    return pa.array(nanos).cast(NANOS)


def _parts(column: pa.Array) -> tuple[Micros, Micros]:
    """Microseconds since 1970, and the nanoseconds after them."""
    nanos = numbers_of(column)
    micros = nanos // _PER_MICRO
    return micros, nanos - micros * _PER_MICRO


def _plus(sign: int) -> Function:
    def computed(column: pa.Array, interval: pa.Array) -> pa.Array:
        months, days, passed = fields_of(interval)
        micros, below = _parts(column)
        return _moments(shifted(micros, sign * months, sign * days) + sign * passed, below)

    return Function(computed)


def _swapped(interval: pa.Array, column: pa.Array) -> pa.Array:
    return _plus(1).compute(column, interval)


def _difference(left: pa.Array, right: pa.Array) -> pa.Array:
    """Days and time, of one sign; intervals have microseconds, to the nearest of which it is rounded."""
    (later, later_below), (earlier, earlier_below) = _parts(left), _parts(right)
    carried, below = np.divmod(later_below - earlier_below, _PER_MICRO)
    micros = later - earlier + carried
    up = (below > _HALF) | ((below == _HALF) & (micros >= 0))  # a half goes away from no time at all
    return days_and_time(micros + up)


def _rounded(column: pa.Array) -> Micros:
    """Microseconds since 1970, a half to the even one: as of the text with so many digits."""
    micros, below = _parts(column)
    rounded: Micros = micros + ((below > _HALF) | ((below == _HALF) & (micros % 2 == 1)))
    return rounded


def _to_timestamp(column: pa.Array) -> pa.Array:
    return pa.array(_rounded(column)).cast(pa.timestamp("us"))


def _of_timestamp(column: pa.Array) -> pa.Array:
    return _moments(micros_of(column), message="timestamp out of range for timestamp_ns")


def _of_date(column: pa.Array) -> pa.Array:
    return _moments(micros_of(timestamps_of_dates(column)), message="date out of range for timestamp_ns")


def _to_date(column: pa.Array) -> pa.Array:
    days = _parts(column)[0] // MICROS_OF_DAY
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _to_time(column: pa.Array) -> pa.Array:
    return pa.array(_rounded(column) % MICROS_OF_DAY).cast(pa.time64("us"))


def _trunc(given: str) -> Compute:
    unit = unit_named(given, "timestamp_ns")
    return lambda column: _moments(truncated(unit, _parts(column)[0]))


def _to_utc(zone_name: str) -> Compute:
    zone = time_zone(zone_name)
    return lambda column: instants(zone.to_utc(_rounded(column)))


def micros_below(column: pa.Array) -> Micros:
    """The microseconds since 1970 in which the moments of a column without NULLs lie."""
    return _parts(column)[0]


def _made(nanos: pa.Array) -> pa.Array:
    numbers = nanos.to_numpy()
    outside = (numbers < FIRST_NANOS) | (numbers > LAST_NANOS)
    fail_where(outside, _RANGE, "timestamp_ns out of range")
    return nanos.cast(TIMESTAMP_NS.arrow)


def _epoch(column: pa.Array) -> pa.Array:
    return column.cast(pa.int64())


_K = TypeKind
CASTS: Mapping[tuple[TypeKind, TypeKind], str] = MappingProxyType(
    {
        (_K.DATE, _K.TIMESTAMP_NS): "nanos_of_date",
        (_K.TIMESTAMP, _K.TIMESTAMP_NS): "nanos_of_timestamp",
        (_K.TIMESTAMPTZ, _K.TIMESTAMP_NS): "nanos_of_timestamp",
        (_K.TIMESTAMP_NS, _K.DATE): "nanos_to_date",
        (_K.TIMESTAMP_NS, _K.TIME): "nanos_to_time",
        (_K.TIMESTAMP_NS, _K.TIMESTAMP): "nanos_to_timestamp",
        (_K.TIMESTAMP_NS, _K.TIMESTAMPTZ): "nanos_to_timestamp",
    }
)
"""The functions that are casts; those of timestamptz where the session's time zone is UTC."""

NANOSECONDS: dict[str, Function] = {
    "nanos_plus": _plus(1),
    "interval_plus_nanos": Function(_swapped),
    "nanos_minus": _plus(-1),
    "nanos_difference": Function(_difference),
    "nanos_trunc": Function(per_constant(_trunc, [0])),
    "nanos_of_timestamp": Function(_of_timestamp),
    "nanos_of_date": Function(_of_date),
    "nanos_to_timestamp": Function(_to_timestamp),
    "nanos_to_date": Function(_to_date),
    "nanos_to_time": Function(_to_time),
    "nanos_to_utc": Function(per_constant(_to_utc, [0])),
    "make_timestamp_ns": Function(_made),
    "epoch_ns": Function(_epoch),
}
