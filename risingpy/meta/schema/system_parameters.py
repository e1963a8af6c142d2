"""System parameters: what ALTER SYSTEM changes in the state, and what SHOW PARAMETERS tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from risingpy.meta.state import MetaState

_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def with_parallelism(state: MetaState, shards: int) -> MetaState:
    """The next start moves the state to so many shards."""
    return replace(state, wanted_shards=0 if shards == state.shards else shards)


def with_old_snapshot_threshold(state: MetaState, seconds: float | None) -> MetaState:
    """From now on, outdated epochs are read for so long; None is for ever."""
    return replace(state, old_snapshot_threshold=seconds)


def shown_parameters(state: MetaState) -> Mapping[str, str]:
    """The names and values of parameters that can be set."""
    wanted = {"parallelism_after_restart": str(state.wanted_shards)} if state.wanted_shards else {}
    return {
        "parallelism": str(state.shards),
        **wanted,
        "old_snapshot_threshold": _duration(state.old_snapshot_threshold),
    }


def _duration(seconds: float | None) -> str:
    """In the largest unit that divides it, as PostgreSQL shows durations; -1 for none."""
    if seconds is None:
        return "-1"
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"
