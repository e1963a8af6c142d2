"""The stream plan's aggregations, in one phase or two, and how what they keep is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from risingpy.plan.logical import AggCall
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.plan.operators import StreamPlan


@dataclass(frozen=True, slots=True)
class LocalAgg:
    """First phase of an aggregation: one row per group of the epoch's delta, before the exchange. No state.

    Output: the group key, then for each call its *partial state change* (see executors/aggregate), then
    `count_change`, the number of rows inserted less those deleted. Only for value-state calls. Its output
    is no change stream: every row has op +1 and stands for a difference.
    """

    input: StreamPlan
    group_key: tuple[ColumnIndex, ...]
    calls: tuple[AggCall, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class AggState:
    """How one aggregate call is kept.

    VALUE: `group_key → state` of a call whose arguments are of `argument_types`. MATERIALIZED_INPUT (what needs its
    rows in order, as string_agg does, or the next best one after a retraction, as min does):
    `group_key | order | input's stream key → the other arguments`; then `input_columns` says which column of the
    input each of the table's columns holds, and `arguments` where there the call's arguments are.
    """

    table: TableSchema
    materialized_input: bool
    argument_types: tuple[SqlType, ...] = ()
    input_columns: tuple[ColumnIndex, ...] = ()
    arguments: tuple[ColumnIndex, ...] = ()


@dataclass(frozen=True, slots=True)
class DedupState:
    """Which arguments of distinct calls there are: `group_key | args → one count per filter`.

    The calls with these `args` share it; each is counted by its own filter, one of `filters`.
    """

    table: TableSchema
    args: tuple[ColumnIndex, ...]
    filters: tuple[ColumnIndex | None, ...]


@dataclass(frozen=True, slots=True)
class HashAgg:
    """Groups by `group_key` and keeps one result per call.

    Output: the group key, then one column per call. Stream key: the group key, or what of it is the input's stream
    key. `calls[row_count]` is a count(*) (added as a last, hidden call if the query has none): a group whose row count
    falls to 0 is deleted. State: one table per call, and one in `dedups` for each list of arguments of distinct calls.
    If `from_partials`, the input is a LocalAgg's output, and the `args` of a call are the columns there that hold its
    partial state changes. With `emit_on_window_close` a group comes out once, when the watermark of the first group
    column has passed it, and is forgotten; nothing of it comes before.
    """

    input: StreamPlan
    group_key: tuple[ColumnIndex, ...]
    calls: tuple[AggCall, ...]
    states: tuple[AggState, ...]
    row_count: int
    from_partials: bool
    properties: Properties
    dedups: tuple[DedupState, ...] = ()
    emit_on_window_close: bool = False


@dataclass(frozen=True, slots=True)
class SimpleAgg:
    """An aggregate without GROUP BY: one row, always, even over nothing.

    Stream key: none. State: as HashAgg's, singleton. Emits its row in its first epoch.
    """

    input: StreamPlan
    calls: tuple[AggCall, ...]
    states: tuple[AggState, ...]
    row_count: int
    from_partials: bool
    properties: Properties
    dedups: tuple[DedupState, ...] = ()
