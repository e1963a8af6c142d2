"""`session_end` over sorted partitions: the last time of each row's session.

Batch queries have the same in SQL (`batch/sql/session_ends.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
    moments = times.cast(limits.type).cast(pa.int64()).fill_null(0).to_numpy()
    bounded = limits.is_valid().to_numpy(zero_copy_only=False)
    bounds = limits.cast(pa.int64()).fill_null(0).to_numpy()
    reached = bounded & (np.append(moments[1:], 0) >= bounds)
    ends = np.flatnonzero(known & (next_begins | ~next_known | reached))
    places = np.searchsorted(ends, np.arange(len(known)))  # each row with a time has an end at or after it
    source = np.append(ends, 0)[places]
    return times.take(pa.array(source, mask=~known))
