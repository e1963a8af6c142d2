"""rw_catalog's view of running work: views being created, jobs, and the errors that became NULL."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import DATABASE_OID
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import MaterializedView, Table


def _progress(state: SystemState) -> Iterable[Row]:
    for entry in state.progress:
        made = entry.relation
        yield made.relation_id, made.definition, "FOREGROUND", f"{entry.rows_read} rows read", None, entry.rows_read


def _jobs(state: SystemState) -> Iterable[Row]:
    parallelism = state.parameters.get("parallelism", "")
    for found in state.relations:
        if isinstance(found, Table | MaterializedView):
            yield found.relation_id, found.name, DATABASE_OID, found.status.value.upper(), parallelism


def _errors(state: SystemState) -> Iterable[Row]:
    for relation_id, count in state.errors.items():
        found = state.catalog.relations.get(relation_id)
        if found is not None and count:
            yield relation_id, found.schema_name, found.name, count


RW_DDL_PROGRESS = relation(
    "rw_catalog",
    "rw_ddl_progress",
    "ddl_id int8, ddl_statement text, create_type text, progress text, initialized_at timestamptz, rows_read int8",
    _progress,
)
RW_STREAMING_JOBS = relation(
    "rw_catalog", "rw_streaming_jobs", "id int4, name text, database_id int4, status text, parallelism text", _jobs
)
RW_STREAMING_ERRORS = relation(
    "rw_catalog",
    "rw_streaming_errors",
    "relation_id int4, schema_name text, relation_name text, error_count int8",
    _errors,
)
