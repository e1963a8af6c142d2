"""The clock as it runs, and pg_sleep: of each row anew. Columns of random numbers keep DuckDB from asking once only.

A statement that is cancelled does not sleep on: whoever runs queries says, in the thread that runs them, what event
means that (`sleeps_end_with`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from risingpy.errors import QueryCanceled
from risingpy.executors.expression.functions.calling import Compute, Function

_local = threading.local()
_MICROSECONDS = 1_000_000
_DAY = 86_400.0
_MONTH = 30 * _DAY


def sleeps_end_with(cancelled: threading.Event) -> None:
    """In this thread, sleeps end when `cancelled` is set."""
    _local.cancelled = cancelled


def _sleep(seconds: float) -> None:
    cancelled: threading.Event = getattr(_local, "cancelled", None) or threading.Event()
    if seconds > 0 and cancelled.wait(min(seconds, threading.TIMEOUT_MAX)):
        raise QueryCanceled("canceling statement due to user request")


def _sleeping(seconds: Callable[[pa.Scalar], float]) -> Compute:
    """PostgreSQL's type void shows as nothing."""

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
