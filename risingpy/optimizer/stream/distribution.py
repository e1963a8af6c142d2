"""Derives on which shard each of an operator's rows is. This decides where the plan needs exchanges."""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expressions import InputRef
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import (
    Changelog,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.properties import ColumnIndex, Distribution, DistributionKind
from risingpy.plan.recursion.operators import (
    StreamLet,
    StreamLevels,
    StreamLevelScan,
    StreamMoments,
    StreamRecursion,
    StreamRecursiveScan,
)

SINGLE = Distribution(DistributionKind.SINGLE)
BROADCAST = Distribution(DistributionKind.BROADCAST)
SOME_SHARD = Distribution(DistributionKind.SOME_SHARD)


def hash_by(columns: tuple[ColumnIndex, ...]) -> Distribution:
    """The distribution by the vnode of `columns`; without columns, all rows are on one shard."""
    return Distribution(DistributionKind.HASH, columns) if columns else SINGLE


def brings_together(distribution: Distribution, columns: Collection[ColumnIndex]) -> bool:
    """True if all rows with equal `columns` are on one shard."""
    match distribution.kind:
        case DistributionKind.SINGLE | DistributionKind.BROADCAST:
            return True
        case DistributionKind.HASH:
            return set(distribution.columns) <= set(columns)
        case DistributionKind.SOME_SHARD:
            return False


def distribution(plan: StreamPlan) -> Distribution:
    """Where the output's rows are; `plan`'s inputs have their properties, `plan` itself need not."""
    match plan:
        case TableScan() | Dml() | Source() | Exchange() | TableInputs() | SinkInput() | IntoTable():  # given
            return plan.properties.distribution
        case StreamRecursion() | StreamLevels() | StreamRecursiveScan() | StreamLevelScan():  # given, too
            return plan.properties.distribution
        case StreamValues() | SimpleAgg() | StreamLet() | StreamMoments():
            return SINGLE
        case Now():
            return BROADCAST
        case DynamicFilter():
            return plan.left.properties.distribution
        case (
            StreamFilter()
            | WatermarkFilter()
            | EowcSort()
            | StreamTtl()
            | StreamProjectSet()
            | StreamChangeLog()
            | StreamExpand()
            | Share()
        ):
            return plan.input.properties.distribution
        case LocalTopN() | StreamTopN() | Dedup() | StreamOverWindow() | Materialize() | Changelog():
            return plan.input.properties.distribution
        case StreamProject():
            positions = {e.index: i for i, e in reversed(list(enumerate(plan.expressions))) if isinstance(e, InputRef)}
            return moved(plan.input.properties.distribution, positions)
        case LocalAgg() | HashAgg():
            return moved(plan.input.properties.distribution, {c: i for i, c in enumerate(plan.group_key)})
        case TemporalJoin(matched=None):
            return plan.input.properties.distribution
        case TemporalJoin():  # that of the table, whose rows stay where they are
            width = len(plan.input.properties.schema)
            return hash_by(tuple(width + plan.columns.index(i) for i in plan.upstream.distribution))
        case AsOfJoin():
            return plan.left.properties.distribution
        case HashJoin():  # that of a side without NULL-extended rows and not on every shard; a full join has none
            return _joined(plan)
        case StreamUnion():  # rows stay where they are: the inputs' common distribution, if they have one
            first, *others = (each.properties.distribution for each in plan.inputs)
            return first if all(other == first for other in others) else SOME_SHARD
        case _:
            assert_never(plan)


def moved(given: Distribution, positions: dict[ColumnIndex, ColumnIndex]) -> Distribution:
    """The distribution after columns have moved to `positions`; unknown if one of its columns is no longer there."""
    if not all(column in positions for column in given.columns):
        return SOME_SHARD
    return Distribution(given.kind, tuple(positions[column] for column in given.columns))


def _joined(plan: HashJoin) -> Distribution:
    left, right = plan.left.properties.distribution, plan.right.properties.distribution
    match plan.kind:
        case _ if plan.kind is JoinKind.RIGHT or left.kind is DistributionKind.BROADCAST:
            width = len(plan.left.properties.schema)
            return Distribution(right.kind, tuple(width + i for i in right.columns))
        case JoinKind.FULL:
            return left if left.kind is DistributionKind.SINGLE else SOME_SHARD
        case _:
            return left
