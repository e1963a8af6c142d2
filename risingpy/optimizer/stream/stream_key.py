"""Derives the stream key of every operator's output: the columns that identify a row in its changes.

For one value of the stream key, insertions and retractions alternate, and each retraction is of exactly the row that
was inserted. A view is stored by its stream key, so every operator must have one; `jobs.py` adds the hidden columns
that a key needs and the query does not select. (Source: the article in `seeds/` on the computational model.)
"""

from __future__ import annotations

from typing import assert_never

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.key_types import has_other_forms
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import (
    Changelog,
    Dml,
    EowcSort,
    Exchange,
    Expiry,
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
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.recursion.operators import (
    RecursivePlan,
)


def stream_key(plan: StreamPlan) -> tuple[ColumnIndex, ...]:
    """Output positions of the stream key; `plan`'s inputs have their properties, `plan` itself need not."""
    if isinstance(plan, RecursivePlan):  # given by the planner
        return plan.properties.stream_key
    match plan:
        case TableScan() | Dml() | Source() | TableInputs() | SinkInput() | IntoTable():  # given by the catalog
            return plan.properties.stream_key
        case StreamValues():  # the row's number, which the planner adds as the last column
            return (len(plan.properties.schema) - 1,)
        case Now() | SimpleAgg() | LocalAgg():  # one row; partial changes of states are no rows, and have no key
            return ()
        case DynamicFilter():  # the same rows
            return plan.left.properties.stream_key
        case Materialize(first_by=tuple()):  # one row per key
            return tuple(column.index for column in plan.table.key)
        case StreamFilter() | LocalTopN() | WatermarkFilter() | EowcSort() | Exchange() | Share() | Changelog():
            return plan.input.properties.stream_key  # the same rows, or some of them
        case Materialize(expiry=Expiry(column)):  # a row that has ended is another one than the next with its key
            return tuple(dict.fromkeys((*plan.input.properties.stream_key, column)))
        case StreamTtl() | Materialize():  # the same rows
            return plan.input.properties.stream_key
        case StreamChangeLog():  # the input's, the kind of the change, and the epoch
            return (*plan.input.properties.stream_key, *range(len(plan.properties.schema))[-2:])
        case StreamExpand():  # the input's, and the number of the copy
            return (*plan.input.properties.stream_key, len(plan.properties.schema) - 1)
        case StreamProject():  # the input's, which the projection must keep
            return _positions(plan.expressions, plan.input.properties.stream_key)
        case StreamProjectSet():  # the input's, and the element's number
            return (*plan.input.properties.stream_key, len(plan.input.properties.schema))
        case HashAgg():  # one row per group
            return _group_key(plan)
        case StreamTopN(group_key=group, limit=1, with_ties=False):  # one row per group
            return group
        case StreamTopN():  # the input's, and the group key, by which the rows are distributed
            return tuple(dict.fromkeys((*plan.group_key, *plan.input.properties.stream_key)))
        case TemporalJoin():  # a left row's matches differ in the rest of the table's key
            return _temporal_key(plan)
        case AsOfJoin():  # the left input's, and the join key, by which the rows are distributed
            return tuple(dict.fromkeys((*plan.left.properties.stream_key, *plan.left_side.key)))
        case HashJoin():  # both inputs', without what the join key makes equal, and the join key
            return _join_key(plan)
        case Dedup():  # one row per value
            return plan.key
        case StreamOverWindow():  # the input's, and the partition, by which the rows are distributed
            return tuple(dict.fromkeys((*plan.partition_by, *plan.input.properties.stream_key)))
        case StreamUnion():  # the key columns of all inputs, and the input's number
            keys = {index for each in plan.inputs for index in each.properties.stream_key}
            return (*sorted(keys), len(plan.properties.schema) - 1)
        case _:
            assert_never(plan)


def _group_key(plan: HashAgg) -> tuple[ColumnIndex, ...]:
    """The group key, or the part of it that is the input's stream key, which determines all other columns.

    On window close it is always the whole group key: a row that comes again, in another window, is another result and
    does not retract the first, which is final.
    """
    schema, key = plan.input.properties.schema, plan.input.properties.stream_key
    is_within = all(i in plan.group_key and not has_other_forms(schema[i].type) for i in key)
    if not key or not is_within or plan.from_partials or plan.emit_on_window_close:
        return tuple(range(len(plan.group_key)))
    return tuple(sorted({plan.group_key.index(i) for i in key}))


def _positions(expressions: tuple[Expr, ...], key: tuple[ColumnIndex, ...]) -> tuple[ColumnIndex, ...]:
    """The positions at which a projection has the input's columns `key`; the first one, if it has a column twice."""
    places: dict[ColumnIndex, ColumnIndex] = {}
    for position, expression in enumerate(expressions):
        if isinstance(expression, InputRef):
            places.setdefault(expression.index, position)
    dropped = [index for index in key if index not in places]
    if dropped:
        raise ValueError(f"the projection drops column {dropped[0]} of the stream key")
    return tuple(places[index] for index in key)


def _join_key(plan: HashJoin) -> tuple[ColumnIndex, ...]:
    """The preserved side's key and join key, then the rest of the other side's key; a full join has both keys.

    The join key is among them because the rows are distributed by it. If a row has no match, the null-supplying side's
    part of the key is NULL; there is one such row per row of the preserved side.
    """
    width = len(plan.left.properties.schema)
    left, right = plan.left.properties.stream_key, tuple(width + i for i in plan.right.properties.stream_key)
    left_join, right_join = plan.left_side.key, tuple(width + i for i in plan.right_side.key)
    match plan.kind:
        case JoinKind.LEFT_SEMI | JoinKind.LEFT_ANTI:
            key = (*left, *left_join)
        case JoinKind.FULL:
            key = (*left, *right, len(plan.properties.schema) - 1)
        case JoinKind.RIGHT:
            key = (*right, *_not_equal_to(left, left_join, plan), *right_join)
        case _:
            key = (*left, *_not_equal_to(right, right_join, plan), *left_join)
    return tuple(dict.fromkeys(key))


def _not_equal_to(key: tuple[ColumnIndex, ...], join_key: tuple[ColumnIndex, ...], plan: HashJoin) -> list[ColumnIndex]:
    """The columns of `key` that are not join keys, or whose values may differ in form although they are equal."""
    schema = (*plan.left.properties.schema, *plan.right.properties.schema)
    return [i for i in key if i not in join_key or has_other_forms(schema[i].type)]


def _temporal_key(plan: TemporalJoin) -> tuple[ColumnIndex, ...]:
    width = len(plan.input.properties.schema)
    rest = [width + plan.columns.index(key.index) for key in plan.upstream.key[len(plan.left_key) :]]
    return tuple(dict.fromkeys((*plan.input.properties.stream_key, *rest, *plan.left_key)))
