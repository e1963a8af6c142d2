"""An epoch's time. Its number contains it, so every shard has the same time, also when the epoch is repeated."""

from __future__ import annotations

COUNTER_BITS = 16  # the low bits count the epochs that begin in the same millisecond


def milliseconds(epoch: int) -> int:
    """When the epoch began, in milliseconds since 1970."""
    return epoch >> COUNTER_BITS
