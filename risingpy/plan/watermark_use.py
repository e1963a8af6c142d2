"""What operators do by the watermarks of their inputs: clean their state, hold their output back.

The plan's maker derives which columns have a watermark (`optimizer/stream/watermarks.py`); `Properties` has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from risingpy.plan.aggregates import HashAgg
from risingpy.plan.joins import AsOfJoin, HashJoin
from risingpy.plan.logical import Schema
from risingpy.plan.operators import EowcSort, Materialize, StreamPlan
from risingpy.plan.ordered import Dedup, StreamOverWindow, StreamTopN
from risingpy.plan.properties import Bounds, WatermarkColumn


@dataclass(frozen=True, slots=True)
class CleaningWatermark:
    """The watermark by which an operator's state is cleaned; its column is one of the columns of `schema`."""

    watermark: WatermarkColumn
    schema: Schema


def cleaning_watermark(plan: StreamPlan) -> CleaningWatermark | None:
    """What cleans all state tables of an operator: rows whose first key column is below it are never read again."""
    match plan:
        case HashAgg(group_key=key) | StreamTopN(group_key=key) | StreamOverWindow(partition_by=key) | Dedup(key=key):
            watermark = plan.input.properties.watermark_of(key[0]) if key else None
            return None if watermark is None else CleaningWatermark(watermark, plan.input.properties.schema)
        case HashJoin() | AsOfJoin():
            bounds = bounds_of_pair(plan, 0) if plan.left_side.key else None
            if bounds is None:
                return None
            return CleaningWatermark(WatermarkColumn(plan.left_side.key[0], bounds), plan.left.properties.schema)
        case _:
            return None


def emitting_watermark(plan: StreamPlan) -> WatermarkColumn | None:
    """The watermark for which an operator holds its output back."""
    match plan:
        case EowcSort():
            return plan.input.properties.watermark_of(plan.column)
        case HashAgg(emit_on_window_close=True):
            return plan.input.properties.watermark_of(plan.group_key[0])
        case _:
            return None


def awaited(plan: StreamPlan) -> Iterable[int]:
    """The ids of the watermarks for which an operator has to work in the epoch after they have moved.

    It holds its output back for them, or deletes rows that queries must not see any more.
    """
    if isinstance(plan, Materialize) and plan.expiry is not None:
        return (bound.watermark_id for bound in plan.expiry.bounds)
    watermark = emitting_watermark(plan)
    return () if watermark is None else (bound.watermark_id for bound in watermark.bounds)


def bounds_of_pair(plan: HashJoin | AsOfJoin, number: int) -> Bounds | None:
    """The bounds of a join key, if both sides have a watermark there."""
    left = plan.left.properties.watermark_of(plan.left_side.key[number])
    right = plan.right.properties.watermark_of(plan.right_side.key[number])
    if left is None or right is None:
        return None
    return tuple(dict.fromkeys((*left.bounds, *right.bounds)))
