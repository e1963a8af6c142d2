"""Moments of nanoseconds in Python: what a column of `timestamp_ns` holds, as an integer.

Python's datetime ends at microseconds, and what Arrow makes of such a column depends on whether somebody has imported
pandas. So a value is a NanoMoment wherever a Literal, a key or a parameter holds one: the column's number, which Arrow
takes for a value of the type, alone and within arrays and structs.

The least number of 64 bits is no moment (NumPy's NaT), and neither are the next and the greatest (DuckDB's infinities).
"""

from __future__ import annotations

import pyarrow as pa

NANOS = pa.timestamp("ns")
"""Arrow's type of the columns."""
FIRST_NANOS, LAST_NANOS = 2 - 2**63, 2**63 - 2
"""1677-09-21 00:12:43.145224194 and 2262-04-11 23:47:16.854775806, since 1970-01-01 00:00."""
RANGE_HINT = (
    "It holds 1677-09-21 00:12:43.145224194 to 2262-04-11 23:47:16.854775806, and no infinity; timestamp holds more."
)


class NanoMoment(int):
    """A value of `timestamp_ns`: nanoseconds since 1970-01-01 00:00."""

    __slots__ = ()


def holds_nanos(type_: pa.DataType) -> bool:
    """Whether a type is that of these moments, or such are inside of it."""
    if not type_.num_fields:
        return bool(type_.id == NANOS.id and type_.unit == "ns")
    return any(holds_nanos(type_.field(k).type) for k in range(type_.num_fields))
