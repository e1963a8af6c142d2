"""The stream plan: every operator on one page.

A stream plan computes, for each epoch, the change of a query's answer from the changes of its inputs. Each
operator's output has a *stream key* (`stream_key.py`), its state tables are planned by `state_tables.py`, and
the plan is cut into fragments at its exchanges by `fragments.py`. `executors/build.py` makes the executor of
the same name from each operator.

Positions in `expressions`, `group_key`, `keys` and so on count the input's columns from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.executors.expression.nodes import Expr
from risingpy.executors.expression.window_calls import WindowCall
from risingpy.optimizer.logical import AggCall, JoinKind, SortKey
from risingpy.optimizer.plan_properties import ColumnIndex, Properties, WatermarkBound
from risingpy.storage.table_schema import TableSchema
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class TableScan:
    """Passes on the changes of a table or view, after backfilling from its snapshot.

    `columns` are positions in the upstream table's schema (`upstream`), in output order; the upstream's
    storage key is always among them. The snapshot is read shard by shard in key order, in bounded
    chunks; changes beyond the position that has been reached are dropped, for the snapshot will
    bring them. Stream key: the upstream's. State: `progress`, one row per vnode-shard, with the position
    and whether it is finished. A scan of a freshly created (empty) upstream finishes in its first epoch.
    """

    upstream: TableSchema
    columns: tuple[ColumnIndex, ...]
    properties: Properties
    progress: TableSchema


@dataclass(frozen=True, slots=True)
class Dml:
    """The rows that INSERT, UPDATE, DELETE and COPY logged for a table in this epoch, in log order.

    Each shard reads the epoch's part of the log and keeps the rows whose vnode (of the table's key) it owns.
    Unlike every other operator's, its output is ordered: a later change of a key wins.
    """

    table_id: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of an external source's splits, between the epoch's offsets. Append-only.

    Not materialized: each job reads it on its own, from the first row on.
    """

    source_id: int
    columns: tuple[ColumnIndex, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class Values:
    """Constant rows, inserted once, in the job's first epoch. State: a marker row that it has run."""

    rows: tuple[tuple[Expr, ...], ...]
    properties: Properties
    marker: TableSchema


@dataclass(frozen=True, slots=True)
class Now:
    """The time of the epoch: one row of one column, timestamptz, on every shard.

    In each epoch the time of the last one goes and that of this one comes. It is in the epoch's number, so that every
    attempt at an epoch says the same. Stream key: none. No state.
    """

    properties: Properties


@dataclass(frozen=True, slots=True)
class WatermarkFilter:
    """Drops rows that come too late, and tells how far the input's time has come (WATERMARK FOR column AS expression).

    In each epoch the rows pass whose `column` is not below the watermark, which is the greatest value of `expression`
    in all epochs before, on all shards; no row with NULL passes once there is one. What an epoch reaches is reported,
    made durable with the epoch's commit, and told to the next (`meta/barriers.py`). Stream key: the input's. No state.
    """

    input: StreamPlan
    column: ColumnIndex
    expression: Expr
    watermark_id: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class EowcSort:
    """Holds rows back until the watermark of `column` has passed them (EMIT ON WINDOW CLOSE).

    The input may take back what is held; a row that was let go is final. Stream key: the input's. Append-only.
    State: the rows that are held, `column | rest of the stream key → the other columns`.
    """

    input: StreamPlan
    column: ColumnIndex
    table: TableSchema
    properties: Properties


@dataclass(frozen=True, slots=True)
class Filter:
    """Passes on the changes whose row satisfies `predicate`. An error counts as false, and is counted."""

    input: StreamPlan
    predicate: Expr
    properties: Properties


@dataclass(frozen=True, slots=True)
class Project:
    """Computes `expressions`; an error gives NULL, and is counted.

    Changes that cancel are dropped (an update of columns that are not selected).
    """

    input: StreamPlan
    expressions: tuple[Expr, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class ProjectSet:
    """For each row, a row per element of the arrays that `lists` compute; see `logical.ProjectSet`. No state.

    Output: the input's columns, the element's number, the elements. Stream key: the input's and that number. An error
    gives no elements, and is counted.
    """

    input: StreamPlan
    lists: tuple[Expr, ...]
    outer: bool
    properties: Properties


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

    Output: the group key, then one column per call. Stream key: the group key. `calls[row_count]` is a
    count(*) (added as a last, hidden call if the query has none): a group whose row count falls to 0
    is deleted. State: one table per call, and one in `dedups` for each list of arguments of distinct calls. If
    `from_partials`, the input is a LocalAgg's output, and the `args` of a call are the columns there that hold its
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


@dataclass(frozen=True, slots=True)
class TopN:
    """Of every group, in the order of `order`, then of the input's stream key, `limit` rows (None: all) after `offset`.

    With an empty `group_key` the whole input is one group. `with_ties`: rows that are equal to the last one by
    `order` come too. Stream key: the group key where a group has at most one row, else the group key and the
    input's. State: the input's rows, `group key | order | input's stream key → the other columns`; of an append-only
    input only the first `offset + limit` of each group, for the others can never come back; if that is one row,
    `group key → the other columns`.
    """

    input: StreamPlan
    group_key: tuple[ColumnIndex, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int
    with_ties: bool
    table: TableSchema
    properties: Properties

    @property
    def keeps_one_row(self) -> bool:
        """Whether one row per group is all that is ever needed of the input."""
        return self.input.properties.append_only and (self.limit, self.offset, self.with_ties) == (1, 0, False)


@dataclass(frozen=True, slots=True)
class LocalTopN:
    """First phase of a TopN of an append-only input, before the exchange: of the epoch's rows, those that may be in it.

    The first `reach` rows, in the order of `order`, then of the input's stream key, and with `with_ties` those that are
    equal to the last one by `order`: for any other row there are enough before it. Of no groups: most have few rows in
    an epoch. No state.
    """

    input: StreamPlan
    order: tuple[SortKey, ...]
    reach: int
    with_ties: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class PassedRows:
    """The rows of a join's side that match nothing more: `expression` over them is below the least of `bounds`."""

    expression: Expr
    bounds: tuple[WatermarkBound, ...]


@dataclass(frozen=True, slots=True)
class JoinSide:
    """How one input of a join is kept.

    `key` are the columns of the input that must equal the other side's, one by one. `table`: `key | rest of the input's
    stream key → the row`. Its first columns are the input's; behind them, for keys of which equal values may be written
    differently (intervals), are those in their canonical form, which then stand in the key. `degree`: the same key →
    how many rows match, for rows that have a match; only where the join shows whether a row has one, and the other
    side may have several per key. Rows whose key is NULL, and so never match, are in neither. `passed`: which rows may
    be deleted by the watermarks of an interval join.
    """

    key: tuple[ColumnIndex, ...]
    table: TableSchema
    degree: TableSchema | None = None
    passed: PassedRows | None = None


@dataclass(frozen=True, slots=True)
class HashJoin:
    """Joins two inputs whose rows of equal keys are on one shard.

    A pair matches if its keys are equal (NULLs only at the positions where `null_safe`) and `condition` (over left
    columns, then right columns; None: always) is true. Output: the left columns, then the right columns; for a semi or
    anti join the left columns alone. A full join adds a hidden last column that says which side has the row
    (0 both, 1 left, 2 right): both sides' keys may be NULL, which would make two unmatched rows one.
    Stream key: both inputs', without the key columns of a side that always equal the other's, and the join key.
    State: per side a table and, where it must be known whether a row has a match, a degree table.
    Without keys everything is on one shard, and each row meets all of the other side: a nested-loop join.
    """

    left: StreamPlan
    right: StreamPlan
    kind: JoinKind
    left_side: JoinSide
    right_side: JoinSide
    null_safe: tuple[bool, ...]
    condition: Expr | None
    properties: Properties


@dataclass(frozen=True, slots=True)
class DynamicFilter:
    """Passes on the left rows of which `column comparison bound` is true, one of < <= > >=.

    `bound` is the right input's: at most one row of one column, on every shard. Without a row, or of one that is NULL,
    nothing passes. When it changes, the rows between the old bound and the new one come or go.
    Stream key: the left input's. State: `table`, the left rows whose `column` is not NULL, `column | stream key → the
    other columns`; `bound`, a row in each shard, with the right row's value. `only_forward`: the bound never falls, so
    that a row below it is where it will always be: then only the rows above it are kept, and the output only grows
    where the left input does and the comparison is < or <=.
    """

    left: StreamPlan
    right: StreamPlan
    column: ColumnIndex
    comparison: str
    table: TableSchema
    bound: TableSchema
    only_forward: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class Dedup:
    """Of an append-only input, the first row for every value of `key`; within an epoch the first by stream key.

    Stream key: `key`. Append-only. State: the values that have been seen, `key → ()`.
    """

    input: StreamPlan
    key: tuple[ColumnIndex, ...]
    table: TableSchema
    properties: Properties


@dataclass(frozen=True, slots=True)
class OverWindow:
    """Adds to each row what `calls` give over its partition: the rows that agree on `partition_by`, in `order_by`.

    Output: the input's columns, then one per call. Rows that `order_by` does not tell apart are in the order of the
    input's stream key. Stream key: the partition's columns and the input's key. State: the output itself,
    `partition | order | input's stream key → the other columns and the results`, so that what was given out is known.
    With `emit_on_window_close` the rows come in the order of `order_by`, and no call looks at rows behind its own: a
    result is final.
    """

    input: StreamPlan
    partition_by: tuple[ColumnIndex, ...]
    order_by: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]
    table: TableSchema
    properties: Properties
    emit_on_window_close: bool = False


@dataclass(frozen=True, slots=True)
class AsOfJoin:
    """Joins each left row with the nearest right row of its key, by one inequality.

    `left_column comparison right_column`, one of < <= > >=, must be true, and among the right rows for which it is, the
    one is taken whose column is nearest; of several with equal values, the last by the stream key for > and >=, the
    first for < and <=. Without one, the left row comes with NULLs if `is_outer`, else not at all.
    Stream key: the left input's and the join key. State: a table per side, as a HashJoin's.
    """

    left: StreamPlan
    right: StreamPlan
    is_outer: bool
    left_side: JoinSide
    right_side: JoinSide
    null_safe: tuple[bool, ...]
    left_column: ColumnIndex
    comparison: str
    right_column: ColumnIndex
    properties: Properties


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Joins each left row, when it comes, with the rows that a table or view has for it then (FOR SYSTEM_TIME AS OF).

    Later changes of the table change nothing. `left_key` equals the leading columns of the table's storage key, which
    tell the vnode; `columns` are the table's columns in the output, its storage key among them. `condition` reads
    the left columns, then these. The table is read as it is after the epoch's changes.
    Output: the left columns, then the table's, NULL if `is_outer` and there is no row. Stream key: the left input's,
    the rest of the table's key, and `left_key`. State: none if the left input only grows; else `memo`, `left stream
    key | rest of the table's key → columns`, what each left row has found, to be taken back with it.
    """

    input: StreamPlan
    upstream: TableSchema
    columns: tuple[ColumnIndex, ...]
    left_key: tuple[ColumnIndex, ...]
    is_outer: bool
    condition: Expr | None
    memo: TableSchema | None
    properties: Properties


@dataclass(frozen=True, slots=True)
class Union:
    """UNION ALL: the changes of all inputs. Adds a hidden last column, the input's ordinal (integer).

    Stream key: the inputs' key columns and that ordinal. Inputs have equal schemas by construction.
    """

    inputs: tuple[StreamPlan, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """The input's changes as rows that stay: see `logical.ChangeLog`. An epoch's changes of a row are one.

    Output: the input's columns, what happened (smallint), the epoch (bigint). Append-only. Stream key: the input's and
    those two. No state.
    """

    input: StreamPlan
    properties: Properties


@dataclass(frozen=True, slots=True)
class Expand:
    """`copies` copies of every change, each with its number, from 0, as a last column (bigint).

    Stream key: the input's and that number.
    """

    input: StreamPlan
    copies: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class Share:
    """A reader of a part of the plan that has several, and runs once; `number` says which, from 1, within the job.

    A fragment border, but rows stay on their shard, and need no stage more. An Exchange may stand above it.
    """

    input: StreamPlan
    number: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class Exchange:
    """Moves rows to the shards of `properties.distribution`. A fragment border."""

    input: StreamPlan
    properties: Properties


class ConflictBehavior(Enum):
    NO_CHECK = "NoCheck"  # the input is a change stream by this key already
    OVERWRITE = "Overwrite"  # the input is a table's log: the last write of a key wins
    IGNORE = "IgnoreConflict"  # a table's log: a row stays until it is deleted
    FILL = "DoUpdateIfNotNull"  # a table's log: NULLs leave what stands in the column


@dataclass(frozen=True, slots=True)
class Materialize:
    """Stores the relation and passes its changes on to whoever reads it.

    With OVERWRITE the stored rows are read to turn the log's last write per key into −old and +new; with IGNORE and
    FILL (`executors/conflicts.py`) likewise. `version`: a write with less in that column than the row has is ignored.
    Output: the changes of the stored relation, all its columns. State: `table`, the relation itself.
    """

    input: StreamPlan
    table: TableSchema
    conflict: ConflictBehavior
    properties: Properties
    version: ColumnIndex | None = None


StreamPlan = (
    TableScan
    | Dml
    | Source
    | Values
    | Now
    | WatermarkFilter
    | EowcSort
    | Filter
    | DynamicFilter
    | Project
    | LocalAgg
    | HashAgg
    | SimpleAgg
    | LocalTopN
    | TopN
    | Dedup
    | OverWindow
    | HashJoin
    | AsOfJoin
    | TemporalJoin
    | ProjectSet
    | Union
    | ChangeLog
    | Expand
    | Exchange
    | Share
    | Materialize
)
