"""The stream plan: `StreamPlan` is every operator there is.

Here are those that bring rows in, take one row at a time, move rows or store them; the others are in
`aggregates.py`, `joins.py`, `ordered.py` and `recursion/`.

A stream plan computes, for each epoch, the change of a query's answer from the changes of its inputs. Each
operator's output has a *stream key* (`optimizer/stream/stream_key.py`), its state tables are planned by
`state_tables.py`, and `optimizer/stream/fragments.py` cuts the plan into fragments at its exchanges.
`executors/builders/operators.py` makes the executor of the same name from each operator.

Positions in `expressions`, `group_key`, `keys` and so on count the input's columns from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expressions import Expr
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import SortKey
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.properties import Bounds, ColumnIndex, Properties
from risingpy.plan.recursion.operators import RecursivePlan
from risingpy.storage.codec.table_schema import TableSchema


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
class StreamValues:
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
    made durable with the epoch's commit, and told to the next (`meta/epochs/`). Stream key: the input's. No state.
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
class StreamFilter:
    """Passes on the changes whose row satisfies `predicate`. An error counts as false, and is counted."""

    input: StreamPlan
    predicate: Expr
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamProject:
    """Computes `expressions`; an error gives NULL, and is counted.

    Changes that cancel are dropped (an update of columns that are not selected).
    """

    input: StreamPlan
    expressions: tuple[Expr, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamProjectSet:
    """For each row, a row per element of the arrays that `lists` compute; see `logical.ProjectSet`. No state.

    Output: the input's columns, the element's number, the elements. Stream key: the input's and that number. An error
    gives no elements, and is counted.
    """

    input: StreamPlan
    lists: tuple[Expr, ...]
    outer: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamUnion:
    """UNION ALL: the changes of all inputs. Adds a hidden last column, the input's ordinal (integer).

    Stream key: the inputs' key columns and that ordinal. Inputs have equal schemas by construction.
    """

    inputs: tuple[StreamPlan, ...]
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamChangeLog:
    """The input's changes as rows that stay: see `logical.ChangeLog`. An epoch's changes of a row are one.

    Output: the input's columns, what happened (smallint), the epoch (bigint). Append-only. Stream key: the input's and
    those two. No state.
    """

    input: StreamPlan
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamExpand:
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
    """What a Materialize does with a row whose key is there already. The values are the names that EXPLAIN prints."""

    NO_CHECK = "NoCheck"  # the input is a change stream by this key already
    OVERWRITE = "Overwrite"  # the input is a table's log: the last write of a key wins
    IGNORE = "IgnoreConflict"  # a table's log: a row stays until it is deleted
    FILL = "DoUpdateIfNotNull"  # a table's log: NULLs leave what stands in the column


@dataclass(frozen=True, slots=True)
class Expiry:
    """Rows of a relation end when the watermark of `column` has passed them; NULL is below every watermark.

    `table`: `column | rest of the relation's key → ()`, so that one range of keys has just the rows that end.
    """

    column: ColumnIndex
    bounds: Bounds
    table: TableSchema


@dataclass(frozen=True, slots=True)
class RetainedFor:
    """Rows end so many `seconds` after the epoch in which they came or were changed last.

    `table`: `that epoch's time, in milliseconds since 1970 | the relation's key → ()`. `ages`: `the relation's key →
    that time`; the relation changes, and its readers are told of rows that end. None: it only grows, and they are not.
    """

    seconds: int
    table: TableSchema
    ages: TableSchema | None = None

    @property
    def tables(self) -> tuple[TableSchema, ...]:
        """The state tables."""
        return (self.table,) if self.ages is None else (self.table, self.ages)


@dataclass(frozen=True, slots=True)
class StreamTtl:
    """Keeps the input's rows for so long after the epoch in which they came or changed last, and then deletes them.

    It stands above each scan of a view WITH (ttl = …). What the input says later of a row that has ended is a row that
    comes, or nothing. Stream key: the input's. State: `table`, `stream key → the other columns`; that of `retained`.
    """

    input: StreamPlan
    table: TableSchema
    retained: RetainedFor
    properties: Properties

    @property
    def tables_beside(self) -> tuple[TableSchema, ...]:
        """By what the rows that end are found."""
        return self.retained.tables


@dataclass(frozen=True, slots=True)
class Materialize:
    """Stores the relation and passes its changes on to whoever reads it.

    With OVERWRITE the stored rows are read to turn the log's last write per key into −old and +new; with IGNORE and
    FILL (`executors/relation/conflicts.py`) likewise. `version`: a write with less in that column than the row has is
    ignored; of equal ones, `later_versions` decide in order.
    `first_by`: of an append-only input, the first row of each key in that order, then of the input's stream key, stays.
    `expiry`: rows end without a change in the output, which has no rows below the watermark. Its stream key has the
    column, too: a new row with the key of one that has ended does not retract it. `retained`: they end by the clock.
    `times`: `the relation's key → the time of the epoch that wrote the row`, for queries that ask for it.
    Output: the changes of the stored relation, all its columns. State: `table`, the relation itself; that of `expiry`,
    that of `retained`, `times`.
    """

    input: StreamPlan
    table: TableSchema
    conflict: ConflictBehavior
    properties: Properties
    version: ColumnIndex | None = None
    first_by: tuple[SortKey, ...] | None = None
    expiry: Expiry | None = None
    retained: RetainedFor | None = None
    later_versions: tuple[ColumnIndex, ...] = ()
    times: TableSchema | None = None

    @property
    def versions(self) -> tuple[ColumnIndex, ...]:
        """The columns that say which of two rows of a key is newer, in order."""
        return () if self.version is None else (self.version, *self.later_versions)

    @property
    def tables_beside(self) -> tuple[TableSchema, ...]:
        """By what the rows that end are found, and when rows were written."""
        retained = () if self.retained is None else self.retained.tables
        others = (None if self.expiry is None else self.expiry.table, *retained, self.times)
        return tuple(each for each in others if each is not None)


@dataclass(frozen=True, slots=True)
class TableInputs:
    """The log of a table, then the rows of its source, then those of sinks. As of a Dml, a later change of a key wins.

    `log` is the Dml. `fed` (None: it has no source) has the table's columns and then the row's number in the source, by
    which its rows are put in order: on the way from other shards they come in none. `sinks` are SinkInputs. No state.
    """

    log: StreamPlan
    fed: StreamPlan | None
    properties: Properties
    sinks: tuple[StreamPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkInput:
    """The rows that the sink `sink_id` has for a table, on the shards of their keys. A fragment border.

    What is above it belongs to the table's job, and the sink's job ends in an IntoTable. So either can stop alone.
    """

    sink_id: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class IntoTable:
    """The root of the job of a sink into a table: its input's first columns, as changes of that table.

    Rows with a NULL in a column of `not_null` are left out and counted as errors. With `append_only`, deletions are
    left out. If the input has one column less than the output, the last one is a row id.
    State: `table`, `() → how many row ids were given`; empty without row ids.
    """

    input: StreamPlan
    table: TableSchema
    not_null: tuple[ColumnIndex, ...]
    append_only: bool
    is_numbered: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class Changelog:
    """Keeps what its input's delta is in each epoch, for readers outside the graph: `meta/changelogs/`.

    Output: the input's changes. Epochs without changes leave nothing. Stream key: the input's.
    State: `table`, `epoch, part → block` (`executors/relation/changelog.py`), on each shard the blocks of its rows.
    """

    input: StreamPlan
    table: TableSchema
    properties: Properties


StreamPlan = (
    TableScan
    | Dml
    | Source
    | StreamValues
    | Now
    | WatermarkFilter
    | EowcSort
    | StreamFilter
    | DynamicFilter
    | StreamProject
    | LocalAgg
    | HashAgg
    | SimpleAgg
    | LocalTopN
    | StreamTopN
    | Dedup
    | StreamOverWindow
    | HashJoin
    | AsOfJoin
    | TemporalJoin
    | StreamProjectSet
    | StreamUnion
    | StreamChangeLog
    | StreamExpand
    | RecursivePlan
    | Exchange
    | Share
    | StreamTtl
    | Materialize
    | TableInputs
    | SinkInput
    | IntoTable
    | Changelog
)
