"""System parameters: ALTER SYSTEM changes them in the state, and SHOW PARAMETERS shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from risingpy.meta.state import MetaState

_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def with_parallelism(state: MetaState, shards: int) -> MetaState:
    """`state` with the wish for `shards` shards, to which the barrier loop or the next start moves the data."""
    return replace(state, wanted_shards=0 if shards == state.shards else shards, adaptive_parallelism=False)


def with_adaptive_parallelism(state: MetaState) -> MetaState:
    """`state` whose number of shards is to follow the engine's cores."""
    return replace(state, adaptive_parallelism=True)


def with_shards_of_cores(state: MetaState, shards: int) -> MetaState:
    """As `with_parallelism`, where that is not the user's wish but follows the cores; if it is to, still."""
    if not state.adaptive_parallelism:
        return state
    return replace(with_parallelism(state, shards), adaptive_parallelism=True)


def with_old_snapshot_threshold(state: MetaState, seconds: float | None) -> MetaState:
    """`state` in which an outdated epoch may be read for `seconds`; None is for ever."""
    return replace(state, old_snapshot_threshold=seconds)


def with_job_epoch_seconds(state: MetaState, seconds: float) -> MetaState:
    """`state` in which a job that takes so much CPU time of an epoch is set aside; 0 is never."""
    return replace(state, job_epoch_seconds=seconds)


def shown_parameters(state: MetaState) -> Mapping[str, str]:
    """The names and values of parameters that can be set."""
    wanted = {"wanted_parallelism": str(state.wanted_shards)} if state.wanted_shards else {}
    return {
        "parallelism": str(state.shards),
        **wanted,
        "adaptive_parallelism": "on" if state.adaptive_parallelism else "off",
        "old_snapshot_threshold": _duration(state.old_snapshot_threshold),
        "job_epoch_ms": f"{state.job_epoch_seconds * 1000:.0f}",
    }


def _duration(seconds: float | None) -> str:
    """A duration in the largest unit that divides it, as PostgreSQL shows it; -1 for None."""
    if seconds is None:
        return "-1"
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"
