"""Gives a stream operator its derived properties: schema, stream key, distribution, append-only, watermarks."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, assert_never

from risingpy.optimizer.stream.distribution import SOME_SHARD, distribution
from risingpy.optimizer.stream.stream_key import stream_key
from risingpy.optimizer.stream.watermarks import watermark_columns
from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import JoinKind, Schema
from risingpy.plan.operators import (
    Changelog,
    ConflictBehavior,
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
from risingpy.plan.properties import Properties
from risingpy.plan.recursion.operators import (
    RecursivePlan,
)

Operator = TypeVar(
    "Operator",
    Dedup,
    DynamicFilter,
    Now,
    AsOfJoin,
    Changelog,
    StreamChangeLog,
    EowcSort,
    Exchange,
    StreamExpand,
    StreamFilter,
    HashAgg,
    HashJoin,
    LocalAgg,
    LocalTopN,
    Materialize,
    StreamOverWindow,
    StreamProject,
    StreamProjectSet,
    Share,
    SimpleAgg,
    StreamTopN,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TemporalJoin,
    WatermarkFilter,
)


def underived(schema: Schema) -> Properties:
    """The properties of an operator that goes through `derived` next: only its schema is known."""
    return Properties(schema, stream_key=(), distribution=SOME_SHARD, append_only=False)


def derived(plan: Operator) -> Operator:
    """The same operator with its properties derived from its inputs'; its schema is kept."""
    schema, watermarks = plan.properties.schema, watermark_columns(plan)
    properties = Properties(schema, stream_key(plan), distribution(plan), append_only(plan), watermarks)
    return replace(plan, properties=properties)


def append_only(plan: StreamPlan) -> bool:
    """True if the output never retracts a row."""
    if isinstance(plan, RecursivePlan):  # a shorter way replaces one
        return False
    match plan:
        case TableScan() | Dml() | Source() | TableInputs() | SinkInput() | IntoTable():  # given by the relation
            return plan.properties.append_only
        case StreamValues():
            return True
        case Now():  # each epoch retracts the time of the one before
            return False
        case DynamicFilter():  # a bound that only rises lets rows in by < and <=, and never takes one out
            return plan.only_forward and plan.comparison in ("<", "<=") and plan.left.properties.append_only
        case (
            LocalTopN()
            | StreamFilter()
            | WatermarkFilter()
            | StreamProject()
            | StreamProjectSet()
            | StreamExpand()
            | Exchange()
            | Share()
            | Changelog()
        ):
            return plan.input.properties.append_only
        case HashAgg(emit_on_window_close=True):  # a result comes out when it is final
            return True
        case LocalAgg() | HashAgg() | SimpleAgg():  # a changed result replaces the old one
            return False
        case EowcSort() | Dedup() | StreamChangeLog():
            return True
        case StreamOverWindow():  # a row that comes changes its neighbours' results
            return plan.emit_on_window_close
        case StreamTopN() | StreamTtl():  # a row that comes pushes another one out; a row ends
            return False
        case TemporalJoin():  # changes of the table do not change earlier results
            return plan.input.properties.append_only
        case AsOfJoin():  # a nearer row may come
            return False
        case HashJoin():  # an outer join retracts a NULL-extended row when its first match comes
            inner = plan.kind in (JoinKind.INNER, JoinKind.CROSS)
            return inner and plan.left.properties.append_only and plan.right.properties.append_only
        case StreamUnion():
            return all(each.properties.append_only for each in plan.inputs)
        case Materialize():
            keeps = plan.conflict in (ConflictBehavior.NO_CHECK, ConflictBehavior.IGNORE) and plan.first_by is None
            return plan.input.properties.append_only and keeps
        case _:
            assert_never(plan)
