"""EMIT ON WINDOW CLOSE: a view of the rows that are final, by the watermarks of its sources.

    HashAgg(window_start, …)      =>  HashAgg(eowc)            a group comes when its window is closed
    OverWindow(order by ts)       =>  OverWindow(EowcSort)     rows come in order, once the watermark has passed them
    … 2 FOLLOWING                 =>  the same, with a call that has a value once the following rows are there
    … RANGE '1 hour' FOLLOWING    =>  EowcSort(OverWindow)     its watermark is an hour less
    anything else                 =>  EowcSort(anything else)  by the first column that has a watermark

(The rules and messages are RisingWave's; a sort over an input that retracts is ours.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.stream.distribution import brings_together, hash_by
from risingpy.optimizer.stream.look_ahead import LookAhead, look_ahead
from risingpy.optimizer.stream.projection import references, select_columns, with_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.aggregates import HashAgg
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.joins import AsOfJoin, HashJoin
from risingpy.plan.logical import JoinKind, SortKey
from risingpy.plan.operators import (
    EowcSort,
    Exchange,
    Share,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
)
from risingpy.plan.ordered import StreamOverWindow
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.state_tables import held_rows
from risingpy.plan.window_calls import BoundKind, Frame, FrameBound, FrameUnits, WindowCall
from risingpy.types import BIGINT, INTEGER, SqlType


def check_window_close(input: StreamPlan, group_key: Sequence[ColumnIndex]) -> None:
    """Raises FeatureNotSupported if no group would ever be closed."""
    if not group_key:
        raise FeatureNotSupported("`EMIT ON WINDOW CLOSE` cannot be used for aggregation without `GROUP BY`")
    found = [input.properties.watermark_of(column) for column in group_key]
    sources = {frozenset(bound.watermark_id for bound in each.bounds) for each in found if each is not None}
    if not sources:
        raise FeatureNotSupported(
            "Emit-On-Window-Close mode requires a watermark column in GROUP BY.",
            hint="Please try to GROUP BY a watermark column",
        )
    if len(sources) > 1:
        raise FeatureNotSupported(
            "Emit-On-Window-Close mode requires that watermark columns in GROUP BY are derived from the same upstream "
            "column."
        )


def closed_rows(input: StreamPlan, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """`input` with a sort that holds rows until they are final; only `input` if an operator below does that."""
    if is_closed(input):
        return input
    if not input.properties.watermarks:
        raise FeatureNotSupported(
            "The query cannot be executed in Emit-On-Window-Close mode.",
            hint="Try define a watermark column in the source, or avoid aggregation without GROUP BY",
        )
    times = _times_of_either_side(input)
    if len(times) == 1:
        return sorted_by_watermark(input, times[0], job, allocate)
    columns = references(input)
    either = Call("coalesce", tuple(columns[i] for i in times), columns[times[0]].type)
    timed, (time,) = with_columns(input, [either])
    return select_columns(sorted_by_watermark(timed, time, job, allocate), range(len(columns)))


def _times_of_either_side(input: StreamPlan) -> list[ColumnIndex]:
    """The first watermark column, and after a FULL JOIN those that have a value where it is NULL.

    A row of one side alone has NULL in the other side's columns, which no watermark ever passes.
    """
    first, *others = input.properties.watermarks
    type_ = input.properties.schema[first.column].type
    same = [
        each.column
        for each in others
        if set(each.bounds) == set(first.bounds) and input.properties.schema[each.column].type == type_
    ]
    return [first.column, *(same if _has_full_join(input) else ())]


def _has_full_join(plan: StreamPlan) -> bool:
    match plan:
        case HashJoin(kind=JoinKind.FULL):
            return True
        case HashJoin() | AsOfJoin():
            return _has_full_join(plan.left) or _has_full_join(plan.right)
        case StreamFilter() | StreamProject() | StreamProjectSet() | StreamExpand() | Exchange() | Share():
            return _has_full_join(plan.input)
        case _:
            return False


def sorted_by_watermark(input: StreamPlan, column: ColumnIndex, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The rows of `input` once the watermark of `column` has passed them, distributed by the stream key."""
    if not brings_together(input.properties.distribution, input.properties.stream_key):
        input = _exchange(input, input.properties.stream_key)
    table = held_rows(allocate(), job, input.properties, column, input.properties.distribution.columns)
    return derived(EowcSort(input, column, table, underived(input.properties.schema)))


def check_window_order(input: StreamPlan, order_by: Sequence[SortKey], names: Sequence[str]) -> ColumnIndex:
    """The watermark column by which the functions' windows are ordered. Raises FeatureNotSupported for any other."""
    if len(order_by) != 1 or order_by[0].descending:
        raise FeatureNotSupported("Only support window functions order by single column and in ascending order")
    column = order_by[0].index
    if input.properties.watermark_of(column) is None:
        raise FeatureNotSupported(f"The ORDER BY column `{names[column]}` must be a watermark column")
    return column


def awaited_calls(
    calls: Sequence[WindowCall], texts: Sequence[str], time: ColumnIndex, type_: SqlType
) -> tuple[WindowCall, ...]:
    """Further calls, which have a value for a row only once all rows or groups are there to which `calls` look ahead.

    `time` is the column by whose order the rows come. Raises FeatureNotSupported for a call that looks at the end of
    its partition.
    """
    looks = [_ahead(call, text) for call, text in zip(calls, texts, strict=True)]
    rows, groups = max((each.rows for each in looks), default=0), max((each.groups for each in looks), default=0)
    value = InputRef(time, type_)
    awaited = []
    if rows:
        awaited.append(WindowCall("lead", (value, Literal(rows, INTEGER)), type_))
    if groups:
        there = FrameBound(BoundKind.FOLLOWING, Literal(groups, BIGINT))
        awaited.append(WindowCall("min", (value,), type_, Frame(FrameUnits.GROUPS, there, there)))
    return tuple(awaited)


def looks_by_distance(call: WindowCall, text: str) -> bool:
    """Whether the call looks ahead by a distance of the ordering column."""
    return _ahead(call, text).distance is not None


def _ahead(call: WindowCall, text: str) -> LookAhead:
    found = look_ahead(call)
    if found is None:
        raise FeatureNotSupported(
            f"{text} with EMIT ON WINDOW CLOSE is not supported: it may look as far as the end of its partition, "
            "which never comes",
            hint="Use a frame that ends with the current row or a number of rows after it, PARTITION BY a window's "
            "start or end, or leave EMIT ON WINDOW CLOSE out.",
        )
    return found


def is_closed(plan: StreamPlan) -> bool:
    """Whether all rows of `plan` are final when they come."""
    match plan:
        case EowcSort():
            return True
        case HashAgg() | StreamOverWindow():
            return plan.emit_on_window_close
        case StreamFilter() | StreamProject() | StreamProjectSet() | StreamExpand() | Exchange():
            return is_closed(plan.input)
        case _:
            return False


def _exchange(input: StreamPlan, columns: tuple[ColumnIndex, ...]) -> StreamPlan:
    return derived(Exchange(input, replace(input.properties, distribution=hash_by(columns))))
