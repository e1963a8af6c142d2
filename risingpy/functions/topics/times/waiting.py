"""The running clock and pg_sleep, called for each row. A column of random numbers keeps DuckDB from calling only once.

A cancelled statement stops sleeping.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function
from risingpy.statement_limits import current_limits

_MICROSECONDS = 1_000_000
_DAY = 86_400.0
_MONTH = 30 * _DAY


def _sleep(seconds: float) -> None:
    limits = current_limits()
    if seconds > 0:
        limits.cancelled.wait(min(seconds, threading.TIMEOUT_MAX))
    limits.look()


def _sleeping(seconds: Callable[[pa.Scalar], float]) -> Compute:
    """A sleeping function. Its result is PostgreSQL's void, which is printed as an empty text."""

    def computed(column: pa.Array, _random: pa.Array) -> pa.Array:
        for value in column:
            _sleep(seconds(value))
        return pa.array([""] * len(column), pa.string())

    return computed


def _of_interval(value: pa.Scalar) -> float:
    months, days, nanoseconds = value.as_py()
    return float(months * _MONTH + days * _DAY + nanoseconds / 1e9)


def _until(value: pa.Scalar) -> float:
    return float(value.value / _MICROSECONDS - time.time())


def _clock_timestamp(random: pa.Array) -> pa.Array:
    return pa.array([datetime.now(UTC)] * len(random), pa.timestamp("us", "UTC"))


WAITING: dict[str, Function] = {
    "clock_timestamp": Function(_clock_timestamp),
    "pg_sleep": Function(_sleeping(lambda value: float(value.as_py()))),
    "pg_sleep_for": Function(_sleeping(_of_interval)),
    "pg_sleep_until": Function(_sleeping(_until)),
}
