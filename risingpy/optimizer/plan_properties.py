"""What the planner derives for every operator of a stream plan: its columns, its stream key, where its rows are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.optimizer.logical import Schema

ColumnIndex = int


class DistributionKind(Enum):
    SINGLE = "Single"  # everything on the shard of vnode 0
    HASH = "HashShard"  # by the vnode of some columns
    BROADCAST = "Broadcast"  # every row on every shard: for the right input of a DynamicFilter
    SOME_SHARD = "SomeShard"  # spread, by nothing that a plan may use


@dataclass(frozen=True, slots=True)
class Distribution:
    """Where rows are. `columns` (for HASH) are output positions whose hash is the vnode."""

    kind: DistributionKind
    columns: tuple[ColumnIndex, ...] = ()


@dataclass(frozen=True, slots=True)
class Properties:
    """What is derived bottom-up for every operator's output."""

    schema: Schema
    stream_key: tuple[ColumnIndex, ...]
    distribution: Distribution
    append_only: bool
