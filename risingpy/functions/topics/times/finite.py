"""What functions of moments make of ±infinity, which has no calendar: it stays, is NULL, or is an error.

    keeping(date_trunc)     infinity                of infinity        timestamp + interval, AT TIME ZONE, date_bin, …
    nothing_of(to_char)     NULL                    of infinity
    refusing(difference)    22008 and a message     of infinity        timestamp - timestamp, age

The function that they wrap gets the finite rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, fail_where, scattered
from risingpy.types.far_moments import INFINITE_DAYS, INFINITE_MICROS, is_infinite

Booleans: TypeAlias = "npt.NDArray[np.bool_]"


def numbers_of(column: pa.Array) -> npt.NDArray[np.int64]:
    """Days of dates, microseconds of timestamps and times; the column has no NULLs."""
    if pa.types.is_date32(column.type):
        days: npt.NDArray[np.int64] = column.cast(pa.int32()).to_numpy().astype(np.int64)
        return days
    micros: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return micros


def limit_of(type_: pa.DataType) -> int:
    """The number that stands for infinity in a column of dates or timestamps."""
    return INFINITE_DAYS if pa.types.is_date32(type_) else INFINITE_MICROS


def infinite_rows(column: pa.Array) -> Booleans:
    """Which rows of a column of dates or timestamps without NULLs are ±infinity."""
    return is_infinite(numbers_of(column), limit_of(column.type))


def _finite_part(compute: Compute, columns: Sequence[pa.Array], finite: Booleans) -> pa.Array | None:
    """The function of the finite rows; None if there are none."""
    if not finite.any():
        return None
    mask = pa.array(finite)
    return compute(*[column.filter(mask) for column in columns])


def keeping(compute: Compute, place: int = 0, result: pa.DataType | None = None) -> Compute:
    """Rows in which the argument at `place` is infinite give the infinity of the type `result`, which is as its own."""

    def computed(*columns: pa.Array) -> pa.Array:
        given = columns[place]
        infinite = infinite_rows(given)
        if not infinite.any():
            return compute(*columns)
        type_ = result or given.type
        limit = limit_of(type_)
        signs = pa.array(np.where(numbers_of(given) > 0, limit, -limit))
        kept = (signs.cast(pa.int32()) if pa.types.is_date32(type_) else signs).cast(type_)
        part = _finite_part(compute, columns, ~infinite)
        if part is None:
            return kept
        places = np.where(infinite, np.arange(len(infinite)), len(infinite) + np.cumsum(~infinite) - 1)
        return pa.concat_arrays([kept, part.cast(type_)]).take(pa.array(places))

    return computed


def nothing_of(compute: Compute, result: pa.DataType) -> Compute:
    """Rows in which the first argument is infinite give NULL."""

    def computed(*columns: pa.Array) -> pa.Array:
        infinite = infinite_rows(columns[0])
        if not infinite.any():
            return compute(*columns)
        part = _finite_part(compute, columns, ~infinite)
        return pa.nulls(len(infinite), result) if part is None else scattered(part, pa.array(~infinite))

    return computed


def refusing(compute: Compute, message: str, places: Sequence[int] = (0, 1), sqlstate: str = "22008") -> Compute:
    """An infinite argument at one of the places is an error."""

    def computed(*columns: pa.Array) -> pa.Array:
        for place in places:
            fail_where(infinite_rows(columns[place]), sqlstate, message)
        return compute(*columns)

    return computed
