"""Epoch numbers: milliseconds since 1970 in the upper 48 bits, a counter below, as RisingWave's."""

from __future__ import annotations

import time

from risingpy.executors.epoch.time import COUNTER_BITS, milliseconds

__all__ = ["milliseconds", "next_epoch", "unix_milliseconds"]


def unix_milliseconds() -> int:
    """What time it is, since 1970."""
    return int(time.time() * 1000)


def next_epoch(previous: int) -> int:
    """A number for now, always beyond `previous`."""
    return max(previous + 1, unix_milliseconds() << COUNTER_BITS)
