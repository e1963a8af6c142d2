"""timestamp(p), timestamptz(p), time(p) and interval(p): p digits of a second's fraction, from 0 to 6.

The length of such a type is p. Its values are stored as those of the type without one, rounded when they are read from
a text or a binary form, and by casts: halves go away from midnight of 2000-01-01, from midnight, and from the interval
of no length, as PostgreSQL's AdjustTimestampForTypmod, AdjustTimeForTypmod and AdjustIntervalForTypmod round them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import END_MICROS, INFINITE_MICROS, MIN_MICROS, is_infinite, value_of
from risingpy.types.sql_type import SqlType

MOST_DIGITS = 6
_2000 = 10957 * MICROS_OF_DAY  # since 1970
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])

_Micros: TypeAlias = "npt.NDArray[np.int64]"


def rounded_column(array: pa.Array, digits: int) -> pa.Array:
    """A column of times, moments or intervals, to so many digits; NULLs and infinity stay.

    Raises 22008 for what has no room.
    """
    if digits >= MOST_DIGITS or len(array) == array.null_count:
        return array
    if pa.types.is_interval(array.type):
        return _intervals(array, digits)
    micros = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    if pa.types.is_time(array.type):
        rounded = _rounded(micros, digits)
        if (rounded >= MICROS_OF_DAY).any():  # 24:00:00 is a time in PostgreSQL, but none in Python or DuckDB
            raise SqlError("time out of range", sqlstate="22008")
    else:
        infinite = is_infinite(micros, INFINITE_MICROS)
        rounded = np.where(infinite, micros, _rounded(np.where(infinite, 0, micros) - _2000, digits) + _2000)
        if ((rounded < MIN_MICROS) | (rounded >= END_MICROS))[~infinite].any():
            raise SqlError("timestamp out of range", sqlstate="22008")
    return pa.array(rounded, mask=_nulls(array)).cast(array.type)


def rounded_value(type_: SqlType, value: object) -> object:
    """A value of a type that may have a precision, rounded to it."""
    if type_.length is None or type_.length >= MOST_DIGITS:
        return value
    rounded = value_of(rounded_column(pa.array([value], type_.arrow), type_.length), 0)
    if type_.kind is TypeKind.TIMESTAMPTZ and isinstance(rounded, datetime):
        return rounded.astimezone(UTC)
    return rounded


def _rounded(micros: _Micros, digits: int) -> _Micros:
    scale = 10 ** (MOST_DIGITS - digits)
    rounded: _Micros = np.sign(micros) * ((np.abs(micros) + scale // 2) // scale * scale)
    return rounded


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    if not array.null_count:
        return None
    nulls: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _intervals(array: pa.Array, digits: int) -> pa.Array:
    """Only the part below a day is rounded; it may become a day of 24 hours, as in PostgreSQL."""
    records = np.frombuffer(array.buffers()[1], _INTERVAL)[array.offset : array.offset + len(array)].copy()
    nulls = _nulls(array)
    if nulls is not None:
        records[nulls] = 0
    records["nanos"] = _rounded(records["nanos"] // 1000, digits) * 1000
    bits = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(records), [bits, pa.py_buffer(records)])
