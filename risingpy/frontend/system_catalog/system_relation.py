"""System relations as data: a name, typed columns, and a function from a `SystemState` to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from risingpy.functions.topics.object_names import quote_name, relation_key
from risingpy.meta.epochs.epoch_times import EpochTime
from risingpy.meta.epochs.rejected_messages import KeptMessage
from risingpy.meta.introspection import JobBehind, JobInCreation, PinnedEpoch, SourceLag
from risingpy.meta.memory_use import MemoryUse
from risingpy.meta.sessions import SessionActivity
from risingpy.meta.sinks.delivery import DeliveryStatus
from risingpy.meta.statistics import CompactionProgress, TableStatistics
from risingpy.meta.vector_indexes.graphs import GraphStatus
from risingpy.meta.writing.seen_locks import SeenLock
from risingpy.meta.writing.sequence_counters import SequencePosition
from risingpy.plan.catalog import (
    BOOTSTRAP_ROLE_ID,
    OWN_TEMPORARY_SCHEMA,
    READ_ALL_STATS_ROLE_ID,
    Catalog,
    ExternalSource,
    Index,
    IndexedRelation,
    MaterializedView,
    NumberSequence,
    QueryRelation,
    Relation,
    Sink,
    Subscription,
    Table,
    View,
    is_of_session,
    is_temporary,
)
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import privileges_of, securable
from risingpy.plan.graph import Job
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    INTERVAL,
    REAL,
    SMALLINT,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
)
from risingpy.types.system_types import SYSTEM_TYPES

Row = tuple[object, ...]
HIDDEN = "<insufficient privilege>"
"""What stands in place of a text that the session may not see, as in PostgreSQL's pg_stat_activity."""

# Without a schema a name is looked for in these, before the search path.
IMPLICIT_SCHEMAS = ("pg_catalog", "rw_catalog")

_PLAIN_TYPES = {
    "bool": BOOLEAN,
    "int2": SMALLINT,
    "int4": INTEGER,
    "int8": BIGINT,
    "float4": REAL,
    "float8": DOUBLE,
    "timestamptz": TIMESTAMPTZ,
    "interval": INTERVAL,
}
_TYPES: dict[str, SqlType] = {**_PLAIN_TYPES, **SYSTEM_TYPES}
_TYPES |= {f"_{name}": array_of(type_) for name, type_ in _TYPES.items()}


@dataclass(frozen=True, slots=True)
class SystemColumn:
    """A column: a bool, a number, a time, a type of the system catalogs, or an array of one of these."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Setting:
    """A run-time parameter as pg_settings and SHOW ALL print it; `default` is its value at the session's start."""

    name: str
    value: str
    description: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class SessionStatement:
    """A prepared statement of this session; types are as regtype prints them."""

    name: str
    text: str
    prepared_at: datetime
    parameter_types: tuple[str, ...]
    result_types: tuple[str, ...] | None
    from_sql: bool


@dataclass(frozen=True, slots=True)
class SessionCursor:
    """A cursor or portal of this session."""

    name: str
    text: str
    made_at: datetime
    holds: bool
    is_binary: bool
    scrolls: bool


PrintedExpression = Callable[[str, Relation, "SqlType | None", bool], "str | None"]
"""Of the text of an expression over a relation's columns, the type that it is assigned to, and whether it is pretty:
the text that PostgreSQL prints; None if it has none."""


def typed_query(view: QueryRelation) -> str:
    """A view's query as it was typed, without a semicolon."""
    return view.query.strip().rstrip(";").rstrip()


@dataclass(frozen=True, slots=True)
class SystemState:
    """All data of which system relations are made, at one moment, as one session sees it."""

    catalog: Catalog
    system_relations: tuple[SystemRelation, ...]  # all that clients can name, which the registry knows
    user: str = "root"
    role_id: int = BOOTSTRAP_ROLE_ID  # as which the session acts
    process_id: int = 0
    search_path: tuple[str, ...] = ("public",)
    settings: tuple[Setting, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[], Iterable[JobInCreation]] = tuple
    is_awaited: Callable[[int], bool] = bool  # whether a client waits for a job in creation
    set_aside: Callable[[], Iterable[JobBehind]] = tuple
    errors: Mapping[int, int] = field(default_factory=dict)
    source_lags: Callable[[], Sequence[SourceLag]] = tuple
    graphs: Callable[[], Mapping[int, GraphStatus]] = dict  # of the indexes of vectors, by their ids
    deliveries: Callable[[], Sequence[tuple[Sink, DeliveryStatus]]] = tuple
    committed_epoch: int = 0
    rejected: Callable[[], Sequence[KeptMessage]] = tuple
    sessions: Callable[[], Sequence[SessionActivity]] = tuple
    locks: Callable[[], Sequence[SeenLock]] = tuple
    jobs: tuple[Job, ...] = ()
    work: Callable[[], Mapping[OperatorPosition, OperatorWork]] = dict
    epochs: Callable[[], Sequence[EpochTime]] = tuple
    epoch_failure: Callable[[], str | None] = lambda: None
    memory: Callable[[], MemoryUse | None] = lambda: None
    statistics: Callable[[], Mapping[int, TableStatistics]] = dict  # by table id, at the newest committed epoch
    compactions: Callable[[], Mapping[int, CompactionProgress]] = dict  # by table id, likewise
    views: tuple[PinnedEpoch, ...] = ()
    position: Callable[[NumberSequence], SequencePosition | None] = lambda sequence: None
    view_text: Callable[[QueryRelation, bool], str] = lambda view, pretty: f" {typed_query(view)};"
    printed: PrintedExpression = lambda text, relation, wanted, pretty: None
    definitions: Callable[[], Iterable[Row]] = tuple  # the rows of rw_definitions
    statements: tuple[SessionStatement, ...] = ()
    cursors: tuple[SessionCursor, ...] = ()

    def role_name(self, role_id: int) -> str:
        """The role's name, as pg_get_userbyid gives it."""
        role = self.catalog.roles.get(role_id)
        return f"unknown (OID={role_id})" if role is None else role.name

    def may_read(self, relation: Relation) -> bool:
        """Whether the session may read all rows of a relation, and so texts that may quote some of them."""
        return Privilege.SELECT in privileges_of(self.catalog, self.role_id, securable(self.catalog, relation))

    def told(self, relation: Relation, text: str | None) -> str | None:
        """A text that may quote rows of a relation, such as the error of a connector."""
        return text if text is None or self.may_read(relation) else HIDDEN

    @property
    def reads_all_stats(self) -> bool:
        """Whether the session sees what the server does for others."""
        return self.catalog.has_role(self.role_id, READ_ALL_STATS_ROLE_ID)

    def may_watch(self, user: str) -> bool:
        """Whether the session sees what the sessions of `user` do."""
        roles, watched = self.catalog, self.catalog.role_named(user)
        return self.reads_all_stats or (watched is not None and roles.has_role(self.role_id, watched.role_id))

    @property
    def relations(self) -> tuple[Table | MaterializedView | View | ExternalSource, ...]:
        """All relations that users made but indexes, sinks, subscriptions and sequences, oldest first."""
        found = (r for r in self.catalog.own_relations if not is_temporary(r))
        return tuple(r for r in found if not isinstance(r, Index | Sink | Subscription | NumberSequence))

    @property
    def sequences(self) -> tuple[NumberSequence, ...]:
        """All sequences, in the order in which they were created."""
        return tuple(r for r in self.catalog.own_relations if isinstance(r, NumberSequence))

    @property
    def indexes(self) -> tuple[tuple[Index, IndexedRelation], ...]:
        """The usable indexes, each with its relation. A unique one counts from the moment on that its rule holds.

        Else a start after a crash amid CREATE TABLE would show a constraint without its index for a moment.
        """
        indexes = (r for r in self.catalog.own_relations if isinstance(r, Index))
        usable = (r for r in indexes if r.index.unique is not None or not r.is_being_created)
        return tuple((index, self.catalog.indexed_by(index)) for index in usable)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """All sinks, in the order in which they were created."""
        return tuple(r for r in self.catalog.own_relations if isinstance(r, Sink))

    @property
    def subscriptions(self) -> tuple[Subscription, ...]:
        """All subscriptions that users made, in the order in which they were created."""
        found = (r for r in self.catalog.own_relations if isinstance(r, Subscription))
        return tuple(r for r in found if not r.is_temporary)

    def is_visible(self, relation: Relation) -> bool:
        """Whether the relation's bare name finds it on the search path."""
        return self.catalog.find(relation.name, None, self.search_path) == relation

    def display_name(self, relation: Relation) -> str:
        """The name as regclass prints it: qualified only if it must be."""
        return quote_name(relation.name) if self.is_visible(relation) else self.full_name(relation)

    def full_name(self, relation: Relation) -> str:
        return f"{quote_name(relation.schema_name)}.{quote_name(relation.name)}"

    def keys(self, relation: Relation, name: str | None = None) -> list[str]:
        """The keys (`object_names.relation_key`) by which the relation is found, or its index of this name."""
        name = name or relation.name
        found = [relation_key([relation.schema_name, name])]
        if is_of_session(relation) and relation.schema_name in self.search_path:
            found.append(relation_key([OWN_TEMPORARY_SCHEMA, name]))
        return [*found, relation_key([name])] if self.is_visible(relation) else found


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A relation of pg_catalog, information_schema or rw_catalog. `rows` may be slow: each query calls it."""

    schema: str
    name: str
    columns: tuple[SystemColumn, ...]
    rows: Callable[[SystemState], Iterable[Row]]

    def selected(self, columns: Sequence[int], oid: int, state: SystemState) -> pa.Table:
        """Some columns of the current rows, as c0, c1, …; the position after the last is the relation's `oid`."""
        rows = list(self.rows(state))
        arrays = [
            pa.array([row[i] for row in rows], self.columns[i].type.arrow)
            if i < len(self.columns)
            else pa.array([oid] * len(rows), pa.int64())
            for i in columns
        ]
        return pa.Table.from_arrays(arrays, names=[f"c{k}" for k in range(len(arrays))])

    def table(self, state: SystemState) -> pa.Table:
        """The current rows, with the columns' names."""
        rows = self.selected(range(len(self.columns)), 0, state)
        return rows.rename_columns([column.name for column in self.columns])


def no_rows(_state: SystemState) -> Iterable[Row]:
    """The rows of objects that RisingPy does not have: triggers, policies, …"""
    return ()


def relation(
    schema: str, name: str, columns: str, rows: Callable[[SystemState], Iterable[Row]] = no_rows
) -> SystemRelation:
    """A relation from a list such as `oid oid, relname name, relkind char`.

    The texts of information_schema are of PostgreSQL's domains over character varying.
    """
    pairs = (entry.split() for entry in columns.split(","))
    varied = {"text": VARCHAR} if schema == "information_schema" else {}
    return SystemRelation(schema, name, tuple(SystemColumn(n, varied.get(t, _TYPES[t])) for n, t in pairs), rows)
