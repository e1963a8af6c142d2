"""The time that an epoch has: its number carries it, so that every attempt at it, on every shard, says the same."""

from __future__ import annotations

COUNTER_BITS = 16  # below the milliseconds: epochs that begin within one


def milliseconds(epoch: int) -> int:
    """When the epoch was begun, since 1970."""
    return epoch >> COUNTER_BITS
