"""The relations of a catalog, a class for each kind.

    Table              rows of its own; DML writes them
    MaterializedView   the answer of a query, kept up to date in storage
    Index              columns of a table or materialized view, stored in another order
    View               a query under a name; it stores nothing
    ExternalSource     rows that another system keeps
    Sink               the changes of a query, which another system gets
    Subscription       the changes of a relation, kept for clients that read them
    InternalTable      the state of a job, which queries may read
    NumberSequence     a counter (in `sequences.py`)

A field stands only in the classes that need it. Functions take the narrowest class or union that serves them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.included_columns import IncludedColumn
from risingpy.connectors.secrets.hidden_options import NOTHING_HIDDEN, HiddenOptions
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.plan.catalog.acl import ReadColumns
from risingpy.plan.catalog.any_relation import AnyRelation, JobRelation, JobStatus
from risingpy.plan.catalog.columns import ColumnDesc, RowRetention, Watermark
from risingpy.plan.catalog.constraints import ForeignKey, TableConstraint
from risingpy.plan.catalog.index_definition import IndexDefinition
from risingpy.plan.catalog.sequences import NumberSequence
from risingpy.plan.catalog.upstream_table import UpstreamTable
from risingpy.plan.catalog.webhook import Webhook
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import ConflictBehavior
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types.enums.enumeration import without_enums


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(JobRelation):
    """CREATE TABLE.

    `primary_key` are the positions of the declared key (empty: the hidden `_row_id` is the key). `on_conflict` is what
    the table does with a row whose key is there already. `version_column` is the id of the column that says which of
    two rows of a key is newer; of equal ones, `later_version_columns` say it, in order. `watermark` is what
    WATERMARK FOR says, `retention` what ends rows by the clock, `times_of_rows` the id of the state table that keeps
    when rows were written (0: until the change is made). `next_column_id` is greater than every id that a column of the
    table ever had (0: no column was ever dropped).
    DELETE is refused if the table is `append_only`, but a later row may still replace one of the same key: see
    `never_retracts`. `webhook`: HTTP requests add rows. `upstream`: the table copies one of another system, and no
    statement writes to it. `source` feeds the table, whose columns it has, beside the statements that do; it has an id
    of its own. `constraints` are CHECK and FOREIGN KEY, in the order in which they were made; `key_name` is the name of
    the primary key's constraint, if that is not the usual one.
    `rules` changes with the constraints on it, its unique indexes and the foreign keys that refer to it.
    """

    noun: ClassVar[str] = "table"

    primary_key: tuple[int, ...] = ()
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE
    version_column: int | None = None
    watermark: Watermark | None = None
    next_column_id: int = 0
    webhook: Webhook | None = None
    upstream: UpstreamTable | None = None
    source: ExternalSource | None = None
    constraints: tuple[TableConstraint, ...] = ()
    key_name: str | None = None
    rules: int = 0
    retention: RowRetention | None = None
    later_version_columns: tuple[int, ...] = ()
    times_of_rows: int | None = None

    def refuses_null(self, place: int) -> bool:
        """Whether no row may have NULL in the column at this position."""
        return self.columns[place].refuses_null(in_key=place in self.primary_key)

    @property
    def has_null_keys(self) -> bool:
        """Whether each column of the primary key may be NULL, so that a row may be there whose key is all NULL."""
        return bool(self.primary_key) and not any(map(self.refuses_null, self.primary_key))

    @property
    def version_columns(self) -> tuple[int, ...]:
        """The ids of all columns of WITH VERSION COLUMN, in order."""
        return () if self.version_column is None else (self.version_column, *self.later_version_columns)

    @property
    def key_constraint(self) -> str:
        """The name of the primary key's constraint, and of its index."""
        return self.key_name or f"{self.name}_pkey"

    def with_key_named(self, name: str) -> Table:
        """The table, its primary key's constraint of this name; the usual one is not kept."""
        return replace(self, key_name=None if name == f"{self.name}_pkey" else name)

    @property
    def depends_on(self) -> tuple[int, ...]:
        return () if self.upstream is None else (self.upstream.source_id,)

    @property
    def pushed_by(self) -> int | None:
        """The source whose thread logs rows for the table: the one that it copies from, or that feeds it."""
        return self.source.relation_id if self.source else next(iter(self.depends_on), None)

    @property
    def ends_rows(self) -> bool:
        """Whether rows go without a change that readers are told."""
        is_silent = self.retention is not None and self.retention.ages_table is None
        return is_silent or (self.watermark is not None and self.watermark.ttl)

    @property
    def ages_table(self) -> int | None:
        """The id of the state table that has the time of each row by its key; None if nobody keeps such times."""
        of_ttl = None if self.retention is None else self.retention.ages_table
        return of_ttl if self.times_of_rows is None else self.times_of_rows

    @property
    def never_retracts(self) -> bool:
        """Whether no row of this table is ever changed or taken back: a later row of a key must not replace it."""
        return self.append_only and (not self.primary_key or self.on_conflict is ConflictBehavior.IGNORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedView(JobRelation):
    """CREATE MATERIALIZED VIEW.

    `query` is the text of its query. `depends_on` are the ids of the relations that the query reads, `functions` those
    of the users' functions that it calls. One that `is_temporary` goes with the SUBSCRIBE that made it.
    `refresh_seconds`: it follows what it reads at such intervals alone; None: in every epoch.
    """

    noun: ClassVar[str] = "materialized view"

    query: str
    depends_on: tuple[int, ...] = ()
    functions: tuple[int, ...] = ()
    is_temporary: bool = False
    refresh_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(JobRelation):
    """CREATE INDEX. `index` says of what, and in which order."""

    noun: ClassVar[str] = "index"

    index: IndexDefinition

    @property
    def depends_on(self) -> tuple[int, ...]:
        return (self.index.relation_id,)

    @property
    def constraint_id(self) -> int:
        """What tells a UNIQUE constraint apart from other constraints."""
        return self.relation_id

    @property
    def deferrable(self) -> bool:
        """As of a foreign key."""
        return self.index.unique is not None and self.index.unique.deferrable

    @property
    def deferred(self) -> bool:
        """As of a foreign key."""
        return self.index.unique is not None and self.index.unique.deferred


Deferrable: TypeAlias = ForeignKey | Index
"""A constraint of a kind that may be DEFERRABLE; a unique one is its index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(JobRelation):
    """CREATE SINK. `table` is the changelog: what its job has changed and the other side does not have yet.

    `columns` are those that the other side gets, then hidden ones. `primary_key` are positions of the former (empty:
    it has none). `options` are those of WITH and `message_format` is what FORMAT … ENCODE … says (None: nothing).
    Options of both that must not be in clear are `hidden`.
    `depends_on` and `functions` are as those of a materialized view. `identity` tells the sink from every other one
    that ever wrote to the same place. `failure` says why a sink has given up.

    One that goes `into` a table (its id, which is in `depends_on`, too) hands its rows to the table's job in the same
    epoch, and has no changelog.
    """

    noun: ClassVar[str] = "sink"

    type: SinkType
    primary_key: tuple[int, ...]
    identity: str
    options: tuple[tuple[str, str], ...]
    message_format: MessageFormat | None = None
    depends_on: tuple[int, ...] = ()
    functions: tuple[int, ...] = ()
    into: int | None = None
    failure: str | None = None
    hidden: HiddenOptions = NOTHING_HIDDEN

    @property
    def schema(self) -> SinkSchema:
        """What the target is told of the rows, in which enums are texts."""
        columns = tuple((each.name, without_enums(each.type)) for each in self.columns if not each.hidden)
        return SinkSchema(self.identity, columns, self.primary_key, self.type)


@dataclass(frozen=True, slots=True)
class FollowedForm:
    """The columns that a followed relation has in the epochs after `after_epoch`, hidden ones too.

    `stream_key` are positions among them.
    """

    after_epoch: int
    columns: tuple[ColumnDesc, ...]
    stream_key: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription(JobRelation):
    """CREATE SUBSCRIPTION. `table` is the changelog: what has changed in the relation with the id `followed`.

    Changes older than `retention_seconds` are deleted, and older ones than the last `retention_bytes` (None: no limit)
    of them. `forms` are the relation's columns, oldest first: an ALTER TABLE adds one. `columns` are those of the last.
    One that `is_temporary` was made for a SUBSCRIBE, and goes with it, or is `kept_for` a job in epochs of its own (its
    id), which reads the changes at its pace.
    """

    noun: ClassVar[str] = "subscription"

    followed: int
    retention_seconds: int
    forms: tuple[FollowedForm, ...]
    retention_bytes: int | None = None
    is_temporary: bool = False
    kept_for: int | None = None

    @property
    def depends_on(self) -> tuple[int, ...]:
        return (self.followed,)

    @property
    def begin(self) -> int:
        """The epoch after which changes were kept."""
        return self.forms[0].after_epoch

    def form_of(self, epoch: int) -> FollowedForm:
        """The form in which the changes of `epoch` are; that of its first changes for an earlier epoch."""
        return next((form for form in reversed(self.forms) if form.after_epoch < epoch), self.forms[0])


@dataclass(frozen=True, slots=True)
class View(AnyRelation):
    """CREATE VIEW.

    `query`, `depends_on` and `functions` are as those of a materialized view. `plan` is the query as it was bound when
    the view was created; ALTER of a table that it reads keeps it up. It is None if the meaning of the query depends on
    the session that reads the view, and then the text is bound again. `status` is FAILED after a job has stopped that
    the view reads, and so on. `reads`: what its owner must be allowed to read (None: all of what it depends on).
    """

    noun: ClassVar[str] = "view"

    definition: str
    query: str = field(kw_only=True)
    plan: LogicalPlan | None = field(default=None, kw_only=True)
    depends_on: tuple[int, ...] = field(default=(), kw_only=True)
    functions: tuple[int, ...] = field(default=(), kw_only=True)
    status: JobStatus = field(default=JobStatus.CREATED, kw_only=True)
    reads: tuple[ReadColumns, ...] | None = field(default=None, kw_only=True)

    @property
    def has_stopped(self) -> bool:
        return self.status in (JobStatus.FAILED, JobStatus.UNRECOVERED)

    @property
    def has_no_answer(self) -> bool:
        return self.status in (JobStatus.RECOVERING, JobStatus.UNRECOVERED)


@dataclass(frozen=True, slots=True)
class ExternalSource(AnyRelation):
    """CREATE SOURCE. `options` are those of WITH, `watermark` is what WATERMARK FOR says.

    `message_format` says how messages become rows (None: the connector gives rows), and `included` are the columns
    that are parts of messages. Options of WITH and of the format that must not be in clear are `hidden`.
    The last column is the hidden `_row_id`. A source only ever inserts rows, unless it feeds a table: then `table_key`
    are the positions of the table's primary key, and the table has the source (`Table.source`), not the catalog.
    """

    noun: ClassVar[str] = "source"

    definition: str
    options: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    watermark: Watermark | None = field(default=None, kw_only=True)
    message_format: MessageFormat | None = field(default=None, kw_only=True)
    included: tuple[IncludedColumn, ...] = field(default=(), kw_only=True)
    table_key: tuple[int, ...] | None = field(default=None, kw_only=True)
    hidden: HiddenOptions = field(default=NOTHING_HIDDEN, kw_only=True)

    @property
    def depends_on(self) -> tuple[int, ...]:
        return ()

    @property
    def stream_key(self) -> tuple[int, ...]:
        return (len(self.columns) - 1,)


@dataclass(frozen=True, slots=True)
class InternalTable(AnyRelation):
    """A state table of the job `job_id`. Queries may read it, and no statement changes it."""

    noun: ClassVar[str] = "internal table"

    table: TableSchema = field(kw_only=True)
    job_id: int = field(kw_only=True)

    @property
    def stream_key(self) -> tuple[int, ...]:
        return tuple(column.index for column in self.table.key)


CreatedRelation: TypeAlias = (
    Table | MaterializedView | View | ExternalSource | Index | Sink | Subscription | NumberSequence
)
"""What a CREATE statement made."""
ScannedRelation: TypeAlias = Table | MaterializedView | ExternalSource | Index | InternalTable
"""What a scan in a plan reads: any but a sink, a subscription, a sequence, and a view, which the binder
replaces by its query."""
StoredRelation: TypeAlias = Table | MaterializedView | Index | InternalTable
"""What has rows in storage, as `table` says."""
IndexedRelation: TypeAlias = Table | MaterializedView
"""What an index can be created on."""
QueryRelation: TypeAlias = View | MaterializedView
"""What a query defines."""
RecoverableRelation: TypeAlias = MaterializedView | Index | Sink
"""What can be made anew from what it reads: RECOVER starts it again after a failure."""
FollowedRelation: TypeAlias = Table | MaterializedView
"""What a subscription can be created on."""
Relation: TypeAlias = CreatedRelation | InternalTable
"""Any relation."""
RelationClass: TypeAlias = (
    type[Table]
    | type[MaterializedView]
    | type[View]
    | type[ExternalSource]
    | type[Index]
    | type[Sink]
    | type[Subscription]
    | type[NumberSequence]
)
"""The kind of relation that a statement names: DROP TABLE, ALTER VIEW."""
