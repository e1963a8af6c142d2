"""Epoch numbers: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16, as in RisingWave."""

from __future__ import annotations

import time

from risingpy.executors.epoch.time import COUNTER_BITS, milliseconds

__all__ = ["milliseconds", "next_epoch", "unix_milliseconds"]


def unix_milliseconds() -> int:
    """The time now, since 1970."""
    return int(time.time() * 1000)


def next_epoch(previous: int) -> int:
    """A number for the time now, always greater than `previous`."""
    return max(previous + 1, unix_milliseconds() << COUNTER_BITS)
