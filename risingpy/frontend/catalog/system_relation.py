"""System relations as data: a name, typed columns, and a function from what the server knows to rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import pyarrow as pa

from risingpy.meta.introspection import PinnedEpoch
from risingpy.plan.catalog import Catalog, JobStatus, Relation, RelationKind
from risingpy.storage.engine.compaction import CompactionProgress
from risingpy.storage.engine.table_statistics import TableStatistics

Row = tuple[object, ...]
_PLAIN_NAME = re.compile("[a-z_][a-z0-9_]*")


class SystemType(Enum):
    """A column's type: its name in pg_type and its Arrow form. Arrow's unsigned integers stand for oids alone."""

    BOOL = ("bool", pa.bool_())
    CHAR = ("char", pa.string())
    NAME = ("name", pa.string())
    TEXT = ("text", pa.string())
    INT2 = ("int2", pa.int16())
    INT4 = ("int4", pa.int32())
    INT8 = ("int8", pa.int64())
    FLOAT4 = ("float4", pa.float32())
    OID = ("oid", pa.uint32())
    TIMESTAMPTZ = ("timestamptz", pa.timestamp("us", "UTC"))
    CHARS = ("_char", pa.list_(pa.string()))
    TEXTS = ("_text", pa.list_(pa.string()))
    INT2S = ("_int2", pa.list_(pa.int16()))
    OIDS = ("_oid", pa.list_(pa.uint32()))
    INT2VECTOR = ("int2vector", pa.list_(pa.int16()))
    OIDVECTOR = ("oidvector", pa.list_(pa.uint32()))
    REGPROC = ("regproc", pa.uint32())

    @property
    def arrow(self) -> pa.DataType:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class SystemColumn:
    name: str
    type: SystemType


@dataclass(frozen=True, slots=True)
class Setting:
    """A run-time parameter as pg_settings and SHOW ALL print it; `default` is what the session began with."""

    name: str
    value: str
    description: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """A view that is being created: how many rows of its upstreams it has read."""

    relation: Relation
    rows_read: int


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A connection, for pg_stat_activity."""

    process_id: int
    user: str
    application_name: str
    client_address: str
    query: str
    running: bool


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


@dataclass(frozen=True, slots=True)
class SystemState:
    """All that system relations are made of, at one moment, as one session sees it."""

    catalog: Catalog
    user: str = "root"
    process_id: int = 0
    search_path: tuple[str, ...] = ("public",)
    settings: tuple[Setting, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    progress: tuple[Progress, ...] = ()
    errors: Mapping[int, int] = field(default_factory=dict)
    sessions: tuple[ActiveSession, ...] = ()
    statistics: Callable[[], Mapping[int, TableStatistics]] = dict  # by table id, at the newest committed epoch
    compactions: Callable[[], Mapping[int, CompactionProgress]] = dict  # by table id, likewise
    views: tuple[PinnedEpoch, ...] = ()
    statements: tuple[SessionStatement, ...] = ()
    cursors: tuple[SessionCursor, ...] = ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations but indexes, in the order in which they were created."""
        return tuple(r for r in self.catalog.relations.values() if r.kind is not RelationKind.INDEX)

    @property
    def indexes(self) -> tuple[tuple[Relation, Relation], ...]:
        """The indexes that are there to be used, each with what it indexes."""
        relations = self.catalog.relations
        return tuple(
            (r, relations[r.index.relation_id])
            for r in relations.values()
            if r.index is not None and r.status is not JobStatus.CREATING
        )

    def is_visible(self, relation: Relation) -> bool:
        """Whether the relation's bare name finds it on the search path."""
        return self.catalog.find(relation.name, None, self.search_path) == relation

    def display_name(self, relation: Relation) -> str:
        """The name as regclass prints it: qualified only if it must be."""
        return quote_name(relation.name) if self.is_visible(relation) else self.full_name(relation)

    def full_name(self, relation: Relation) -> str:
        return f"{quote_name(relation.schema_name)}.{quote_name(relation.name)}"

    def keys(self, relation: Relation, name: str | None = None) -> list[str]:
        """By which keys of `object_texts.relation_key` it is found, or its index of this name."""
        name = name or relation.name
        qualified = relation_key([relation.schema_name, name])
        return [qualified, relation_key([name])] if self.is_visible(relation) else [qualified]


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A relation of pg_catalog, information_schema or rw_catalog. `rows` may be slow: it is called when queried."""

    schema: str
    name: str
    columns: tuple[SystemColumn, ...]
    rows: Callable[[SystemState], Iterable[Row]]

    def arrow_table(self, state: SystemState) -> pa.Table:
        """The relation's rows now."""
        rows = list(self.rows(state))
        arrays = [pa.array([row[i] for row in rows], column.type.arrow) for i, column in enumerate(self.columns)]
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.columns])


def no_rows(_state: SystemState) -> Iterable[Row]:
    """For what RisingPy does not have: triggers, policies, …"""
    return ()


def relation(
    schema: str, name: str, columns: str, rows: Callable[[SystemState], Iterable[Row]] = no_rows
) -> SystemRelation:
    """A relation from a list such as `oid oid, relname name, relkind char`."""
    by_name = {kind.value[0]: kind for kind in SystemType}
    pairs = (entry.split() for entry in columns.split(","))
    return SystemRelation(schema, name, tuple(SystemColumn(n, by_name[t]) for n, t in pairs), rows)


def relation_key(parts: Collection[str]) -> str:
    """A dotted name in the one form in which `rp_spellings` has it: every part quoted."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def quote_name(name: str) -> str:
    """An identifier as SQL needs it: quoted only where it is no plain lower-case word."""
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'
