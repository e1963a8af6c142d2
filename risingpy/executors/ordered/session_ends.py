"""`session_end` over sorted partitions: the last time of each row's session.

Batch queries have the same in SQL (`batch/sql/session_ends.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.far_moments import END_MICROS, INFINITE_DAYS, INFINITE_MICROS, is_infinite

Mask = npt.NDArray[np.bool_]


def session_ends(times: pa.Array, limits: pa.Array, begins: Mask) -> pa.Array:
    """For each row, the time of its session's last row; NULL for a row without a time.

    The rows are in the order of `times`, NULLs last, in each of the partitions whose first rows `begins` marks.
    `limits` are the times from which on a row begins the next session; a limit that is NULL ends none.
    """
    known = times.is_valid().to_numpy(zero_copy_only=False)
    # One more row, which begins a partition, stands after the last.
    next_begins = np.append(begins[1:], True)
    next_known = np.append(known[1:], False)
    moments = _moments(times, limits.type)
    bounded = limits.is_valid().to_numpy(zero_copy_only=False)
    bounds = limits.cast(pa.int64()).fill_null(0).to_numpy()
    reached = bounded & (np.append(moments[1:], 0) >= bounds)
    ends = np.flatnonzero(known & (next_begins | ~next_known | reached))
    places = np.searchsorted(ends, np.arange(len(known)))  # each row with a time has an end at or after it
    source = np.append(ends, 0)[places]
    return times.take(pa.array(source, mask=~known))


def _moments(times: pa.Array, limit: pa.DataType) -> npt.NDArray[np.int64]:
    """The times as numbers that compare with the limits': dates as their midnights, if these are timestamps.

    Arrow casts no infinite date. A date that no timestamp reaches is after all timestamps but infinity.
    """
    if not pa.types.is_date32(times.type) or pa.types.is_date32(limit):
        moments: npt.NDArray[np.int64] = times.cast(limit).cast(pa.int64()).fill_null(0).to_numpy()
        return moments
    days = times.cast(pa.int32()).cast(pa.int64()).fill_null(0).to_numpy()
    reached = np.minimum(np.where(is_infinite(days, INFINITE_DAYS), 0, days), END_MICROS // MICROS_OF_DAY)
    infinite = np.sign(days) * INFINITE_MICROS
    return np.where(is_infinite(days, INFINITE_DAYS), infinite, reached * MICROS_OF_DAY)
