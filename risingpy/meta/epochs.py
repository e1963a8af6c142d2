"""Epoch numbers: milliseconds since 1970 in the upper 48 bits, a counter below, as RisingWave's."""

from __future__ import annotations

import time

_COUNTER_BITS = 16


def next_epoch(previous: int) -> int:
    """A number for now, always beyond `previous`."""
    return max(previous + 1, int(time.time() * 1000) << _COUNTER_BITS)


def milliseconds(epoch: int) -> int:
    """When the epoch was begun, since 1970."""
    return epoch >> _COUNTER_BITS
