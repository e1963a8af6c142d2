"""What the planner derives for every operator of a stream plan: its columns, its stream key, where its rows are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Schema
from risingpy.types import SqlType

ColumnIndex = int


class DistributionKind(Enum):
    """How an operator's rows are spread over the shards. The values are the names that EXPLAIN prints."""

    SINGLE = "Single"  # everything on the shard of vnode 0
    HASH = "HashShard"  # by the vnode of some columns
    BROADCAST = "Broadcast"  # every row on every shard: the bound of a DynamicFilter, a side of a join without keys
    SOME_SHARD = "SomeShard"  # spread, by nothing that a plan may use


@dataclass(frozen=True, slots=True)
class Distribution:
    """Where rows are. `columns` (for HASH) are output positions whose hash is the vnode."""

    kind: DistributionKind
    columns: tuple[ColumnIndex, ...] = ()


@dataclass(frozen=True, slots=True)
class WatermarkBound:
    """What one watermark says of a column: `expression` over the watermark's value (`InputRef` 0, of `type`)."""

    watermark_id: int
    expression: Expr
    type: SqlType


Bounds = tuple[WatermarkBound, ...]


@dataclass(frozen=True, slots=True)
class WatermarkColumn:
    """A column of which, after an epoch, no change comes that is below the least of `bounds` in that epoch.

    Both signs count: a row below it is neither added nor taken back any more. NULLs are never below.
    """

    column: ColumnIndex
    bounds: tuple[WatermarkBound, ...]


@dataclass(frozen=True, slots=True)
class Properties:
    """What is derived bottom-up for every operator's output. `watermarks` are in the order of their columns."""

    schema: Schema
    stream_key: tuple[ColumnIndex, ...]
    distribution: Distribution
    append_only: bool
    watermarks: tuple[WatermarkColumn, ...] = ()

    def watermark_of(self, column: ColumnIndex) -> WatermarkColumn | None:
        """The column's watermark, if it has one."""
        return next((each for each in self.watermarks if each.column == column), None)
