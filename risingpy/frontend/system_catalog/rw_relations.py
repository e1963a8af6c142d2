"""rw_catalog's lists of relations: tables, views, sources, their columns, definitions and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from risingpy.frontend.relation_work import RelationWork, work_of_jobs
from risingpy.frontend.system_catalog.index_text import included_numbers, index_definition_text, index_key_numbers
from risingpy.frontend.system_catalog.oids import ROOT_USER_OID, relation_oid, schema_oid, system_relation_oid
from risingpy.frontend.system_catalog.rights.acls import stored_acl
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key
from risingpy.plan.catalog import (
    CreatedRelation,
    ExternalSource,
    JobRelation,
    JobStatus,
    MaterializedView,
    Sink,
    Table,
    View,
)

Kind = TypeVar("Kind", Table, MaterializedView, View, ExternalSource)

_STATUS = {
    JobStatus.CREATING: "Creating",
    JobStatus.CREATED: "Created",
    JobStatus.FAILED: "Failed",
    JobStatus.RECOVERING: "Recovering",
    JobStatus.UNRECOVERED: "Failed",
}


def _all_of(kind: type[Kind], row: Callable[[SystemState, Kind], Row]) -> Callable[[SystemState], Iterable[Row]]:
    return lambda state: (row(state, found) for found in state.relations if isinstance(found, kind))


def _head(found: CreatedRelation) -> tuple[int, str, int, int, str]:
    return relation_oid(found), found.name, schema_oid(found.schema_name), found.owner, found.definition


def _table(state: SystemState, found: Table) -> Row:
    return *_head(found), found.append_only, stored_acl(state, found)


def _view(state: SystemState, found: View) -> Row:
    return *_head(found), stored_acl(state, found)


def _materialized_view(state: SystemState, found: MaterializedView) -> Row:
    relation_id, name, schema, owner, definition = _head(found)
    status = _STATUS[found.status]
    return (
        relation_id,
        name,
        schema,
        found.schema_name,
        owner,
        definition,
        found.append_only,
        stored_acl(state, found),
        False,
        status,
    )


def _source(state: SystemState, found: ExternalSource) -> Row:
    relation_id, name, schema, owner, definition = _head(found)
    options = dict(found.options)
    columns = [column.name for column in found.columns if not column.hidden]
    connector = options.get("connector", "").upper()
    shown = options.get("format"), True, definition, stored_acl(state, found)
    return relation_id, name, schema, owner, connector, columns, *shown


def _relations(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        relation_id, name, schema, owner, definition = _head(found)
        yield relation_id, name, found.noun, schema, owner, definition, stored_acl(state, found)
    for index, indexed in state.indexes:
        relation_id, name, schema, owner, _ = _head(index)
        yield relation_id, name, "index", schema, owner, index_definition_text(index, indexed), stored_acl(state, index)
    for sink in state.sinks:
        relation_id, name, schema, owner, definition = _head(sink)
        yield relation_id, name, "sink", schema, owner, definition, stored_acl(state, sink)
    for subscription in state.subscriptions:
        relation_id, name, schema, owner, definition = _head(subscription)
        yield relation_id, name, "subscription", schema, owner, definition, stored_acl(state, subscription)
    for system in state.system_relations:
        oid = system_relation_oid(system.schema, system.name)
        yield oid, system.name, "system table", schema_oid(system.schema), ROOT_USER_OID, "", None


def _columns(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        key = declared_key(found)
        distribution = set(found.table.distribution) if isinstance(found, JobRelation) else set()
        for i, column in enumerate(found.columns):
            yield (
                *(relation_oid(found), column.name, i + 1, column.hidden, i in key, i in distribution),
                *(column.generated is not None, not column.refuses_null(in_key=i in key)),
                *(column.generated.text if column.generated is not None else None, str(column.type), column.type.oid),
                *(column.type.typlen, column.type.name),
            )


def _relation_info(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        kind = found.noun.upper()
        yield found.schema_name, found.name, found.owner, found.definition, kind, relation_oid(found), "UTC", None


def _indexes(state: SystemState) -> Iterable[Row]:
    for index, indexed in state.indexes:
        numbers = index_key_numbers(index, indexed), included_numbers(index, indexed)
        head = (relation_oid(index), index.name, relation_oid(indexed), *numbers, schema_oid(index.schema_name))
        yield *head, index.owner, index_definition_text(index, indexed), stored_acl(state, index), None, None


def _subscriptions(state: SystemState) -> Iterable[Row]:
    for found in state.subscriptions:
        relation_id, name, schema, owner, definition = _head(found)
        acl = stored_acl(state, found)
        yield relation_id, name, schema, found.schema_name, owner, definition, found.retention_seconds, acl


def _internal_tables(state: SystemState) -> Iterable[Row]:
    for found in state.catalog.own_internal_tables:
        yield (
            relation_oid(found),
            found.name,
            schema_oid(found.schema_name),
            found.job_id,
            found.owner,
            "",
            stored_acl(state, found),
        )


def _stats(state: SystemState) -> Iterable[Row]:
    """What each relation's job has done since the server started, what it stores, and to which table it writes."""
    work, of_sources = dict(work_of_jobs(state.jobs, state.work())), Counter[int]()
    for done in work.values():
        of_sources.update(done.of_sources)
    stored, in_state = state.statistics(), Counter[int]()
    for internal in state.catalog.own_internal_tables:
        table = stored.get(internal.relation_id)
        in_state[internal.job_id] += 0 if table is None else table.key_bytes + table.value_bytes
    for found in (*state.relations, *(index for index, _ in state.indexes), *state.sinks, *state.subscriptions):
        job, rows, own = found.relation_id, None, None
        if isinstance(found, JobRelation):
            table = stored.get(job)
            rows, own = (0, 0) if table is None else (table.rows, table.key_bytes + table.value_bytes)
        done = work.get(job, RelationWork())
        is_source = isinstance(found, ExternalSource)
        yield (
            *(relation_oid(found), found.schema_name, found.name, found.noun),
            _STATUS[found.status] if isinstance(found, JobRelation) else None,
            *(done.rows_in, of_sources[job] if is_source else done.rows_out, done.nanoseconds / 1e6),
            *(state.errors.get(job, 0), rows, own, in_state[job], found.into if isinstance(found, Sink) else None),
        )


_HEAD = "id int4, name text, schema_id int4, owner int4, definition text,"

RW_TABLES = relation("rw_catalog", "rw_tables", _HEAD + "append_only bool, acl _text", _all_of(Table, _table))
RW_VIEWS = relation("rw_catalog", "rw_views", _HEAD + "acl _text", _all_of(View, _view))
RW_MATERIALIZED_VIEWS = relation(
    "rw_catalog",
    "rw_materialized_views",
    "id int4, name text, schema_id int4, schema_name text, owner int4, definition text, append_only bool, acl _text,"
    "background_ddl bool, status text",
    _all_of(MaterializedView, _materialized_view),
)
RW_SOURCES = relation(
    "rw_catalog",
    "rw_sources",
    "id int4, name text, schema_id int4, owner int4, connector text, columns _text, format text, append_only bool,"
    "definition text, acl _text",
    _all_of(ExternalSource, _source),
)
RW_RELATIONS = relation(
    "rw_catalog",
    "rw_relations",
    "id int4, name text, relation_type text, schema_id int4, owner int4, definition text, acl _text",
    _relations,
)
RW_COLUMNS = relation(
    "rw_catalog",
    "rw_columns",
    "relation_id int4, name text, position int4, is_hidden bool, is_primary_key bool, is_distribution_key bool,"
    "is_generated bool, is_nullable bool, generation_expression text, data_type text, type_oid int4, type_len int2,"
    "udt_type text",
    _columns,
)
RW_RELATION_INFO = relation(
    "rw_catalog",
    "rw_relation_info",
    "schemaname text, relationname text, relationowner int4, definition text, relationtype text, relationid int4,"
    "relationtimezone text, fragments text",
    _relation_info,
)
RW_INDEXES = relation(
    "rw_catalog",
    "rw_indexes",
    "id int4, name text, primary_table_id int4, key_columns _int2, include_columns _int2, schema_id int4, owner int4,"
    "definition text, acl _text, initialized_at timestamptz, created_at timestamptz",
    _indexes,
)
RW_SUBSCRIPTIONS = relation(
    "rw_catalog",
    "rw_subscriptions",
    "id int4, name text, schema_id int4, schema_name text, owner int4, definition text, retention_seconds int8,"
    "acl _text",
    _subscriptions,
)
RW_RELATION_STATS = relation(
    "rw_catalog",
    "rw_relation_stats",
    "id int4, schema_name text, name text, relation_type text, status text, rows_in int8, rows_out int8,"
    "busy_ms float8, error_count int8, stored_rows int8, stored_bytes int8, state_bytes int8,"
    "target_id int4",
    _stats,
)
RW_INTERNAL_TABLES = relation(
    "rw_catalog",
    "rw_internal_tables",
    "id int4, name text, schema_id int4, job_id int4, owner int4, definition text, acl _text",
    _internal_tables,
)
