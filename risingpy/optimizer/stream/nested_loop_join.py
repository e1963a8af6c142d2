"""Distributes the inputs of a join without an equality: one side on every shard, the other spread over the shards.

    Inner(a.n > b.n; a, b)  =>  NestedLoopJoin(a.n > b.n; a, Exchange(everywhere; b))

The smaller side goes to every shard: a subquery's one row, else the side with fewer rows now. But one shard cannot know
whether a row of that side has a match on another shard. So it must not be a side whose rows come out by themselves.
If that leaves only the larger side, and for full joins, all rows of both sides go to one shard.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import BROADCAST, brings_together
from risingpy.optimizer.stream.properties import derived
from risingpy.plan.joins import HashJoin, interval_overlap
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import Exchange, StreamPlan
from risingpy.plan.properties import DistributionKind

_LEFT, _RIGHT = 0, 1
_MAY_BE_EVERYWHERE = {  # if both sides have the same number of rows, the first one
    JoinKind.INNER: (_RIGHT, _LEFT),
    JoinKind.CROSS: (_RIGHT, _LEFT),
    JoinKind.LEFT: (_RIGHT,),
    JoinKind.RIGHT: (_LEFT,),
    JoinKind.FULL: (),
    JoinKind.LEFT_SEMI: (_RIGHT,),
    JoinKind.LEFT_ANTI: (_RIGHT,),
}


def met_without_key(
    kind: JoinKind, left: StreamPlan, right: StreamPlan, estimates: RowEstimates
) -> tuple[StreamPlan, StreamPlan]:
    """Both inputs, distributed so that each pair of rows is together on exactly one shard."""
    sides = [left, right]
    chosen = _everywhere(kind, sides, estimates)
    if chosen is None:
        return exchanged(left), exchanged(right)
    sides[chosen] = to_every_shard(sides[chosen])
    sides[1 - chosen] = _spread(sides[1 - chosen])
    return sides[0], sides[1]


def _spread(input: StreamPlan) -> StreamPlan:
    """The rows spread over the shards, wherever they are now; a single row stays."""
    given, key = input.properties.distribution, input.properties.stream_key
    spread = given.kind is DistributionKind.HASH and brings_together(given, key)
    return input if spread or (not key and _is_together(input)) else exchange(input, key)


def to_every_shard(input: StreamPlan) -> StreamPlan:
    """All rows of `input` on every shard."""
    if input.properties.distribution.kind is DistributionKind.BROADCAST:
        return input
    return derived(Exchange(input, replace(input.properties, distribution=BROADCAST)))


def exchanged(input: StreamPlan) -> StreamPlan:
    """All rows of `input` on one shard."""
    return input if _is_together(input) else exchange(input, ())


def side_that_is_everywhere(join: HashJoin) -> int | None:
    """The side of which every shard has all rows: 0 for left, 1 for right, None if there is none."""
    for number, input in enumerate((join.left, join.right)):
        if input.properties.distribution.kind is DistributionKind.BROADCAST:
            return number
    return None


def notices_of(join: HashJoin) -> tuple[str, ...]:
    """Tells the client that the join reads all rows, and where; not if one side is a single row."""
    if join.left_side.key or any(not each.properties.stream_key for each in (join.left, join.right)):
        return ()
    what = "a cross join" if join.condition is None else "a join without an equality between its sides"
    does = "compares all rows of both sides"
    if interval_overlap(join.condition, len(join.left.properties.schema)) is not None:
        does = "reads all rows of a side when the other one changes"
    number = side_that_is_everywhere(join)
    if number is None:
        return (f"{what} {does}, and does so on one shard: it is slow for large tables",)
    side = ("left", "right")[number]
    cost = f"keeps those of the {side} one on every shard: it is slow for large tables"
    return (f"{what} {does}, and {cost}",)


def _everywhere(kind: JoinKind, sides: list[StreamPlan], estimates: RowEstimates) -> int | None:
    """The side that goes to every shard; None if both go to one shard."""
    if sides[_RIGHT].properties.distribution.kind is DistributionKind.BROADCAST:  # the time is there already
        return _RIGHT
    if all(_is_together(side) for side in sides):
        return None
    rows = [estimates.of(side) if side.properties.stream_key else 1 for side in sides]
    allowed = [side for side in _MAY_BE_EVERYWHERE[kind] if sides[1 - side].properties.stream_key]
    smallest = min(allowed, key=lambda side: rows[side], default=None)
    return None if smallest is None or rows[smallest] > rows[1 - smallest] else smallest


def _is_together(input: StreamPlan) -> bool:
    return input.properties.distribution.kind is DistributionKind.SINGLE
