"""rw_catalog's view of running work: views being created, jobs, fragments, epochs, and errors that became NULL."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from risingpy.frontend.job_progress import CREATE_TYPES, progress_text
from risingpy.frontend.system_catalog.oids import DATABASE_OID
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.meta.epochs.epoch_times import EpochPhase
from risingpy.meta.vector_indexes.graphs import GraphStatus
from risingpy.plan.catalog import MaterializedView, Table, is_temporary
from risingpy.plan.operator_work import OperatorWork
from risingpy.plan.state_tables import state_tables
from risingpy.plan.traversal import nodes_of_fragment


def _progress(state: SystemState) -> Iterable[Row]:
    for entry in state.progress():
        made = entry.relation
        if is_temporary(made) and not state.may_watch(state.role_name(made.owner)):  # another session's SUBSCRIBE
            continue
        yield (
            *(made.relation_id, made.definition, CREATE_TYPES[state.is_awaited(made.relation_id)]),
            progress_text(entry),
            None if entry.began is None else datetime.fromtimestamp(entry.began, UTC),
            *(entry.rows, entry.total, entry.rows_per_second, entry.seconds_left, entry.limit),
        )


def _jobs(state: SystemState) -> Iterable[Row]:
    parallelism = state.parameters.get("parallelism", "")
    for found in state.relations:
        if isinstance(found, Table | MaterializedView):
            yield found.relation_id, found.name, DATABASE_OID, found.status.value.upper(), parallelism


def _set_aside(state: SystemState) -> Iterable[Row]:
    for job in state.set_aside():
        since = datetime.fromtimestamp(job.since / 1000, UTC)
        made = job.relation
        yield made.relation_id, made.schema_name, made.name, since, job.reason, job.position, job.seconds * 1000


def _errors(state: SystemState) -> Iterable[Row]:
    for relation_id, count in state.errors.items():
        found = state.catalog.relations.get(relation_id)
        if found is not None and count:
            yield relation_id, found.schema_name, found.name, count


def _fragments(state: SystemState) -> Iterable[Row]:
    """What each fragment does in an epoch, and what it has done on all shards since the server started."""
    work, parallelism = state.work(), int(state.parameters.get("parallelism", "1"))
    for job in state.jobs:
        for fragment in job.fragments:
            nodes = list(nodes_of_fragment(fragment.root))
            done = [work.get((fragment.fragment_id, place), OperatorWork()) for place in range(len(nodes))]
            yield (
                *(fragment.fragment_id, job.job_id, fragment.stage, [type(node).__name__ for node in nodes]),
                [table.table_id for node in nodes for table in state_tables(node)],
                [source.fragment_id for source in fragment.inputs],
                *(parallelism, done[0].rows_out, sum(each.nanoseconds for each in done) / 1e6),
            )


def _epochs(state: SystemState) -> Iterable[Row]:
    """The last committed epochs, the newest first."""
    for epoch in reversed(state.epochs()):
        began_at = datetime.fromtimestamp(epoch.began_at, UTC)
        phases = (epoch.phases.get(phase, 0.0) * 1000 for phase in EpochPhase)
        head = epoch.epoch, began_at, epoch.rows, epoch.stages, epoch.is_one_task
        yield *head, *phases, epoch.seconds * 1000


def _graphs(state: SystemState) -> Iterable[Row]:
    """The graphs in memory of indexes of vectors: until one is built, searches compare all rows."""
    known = state.graphs()
    for index, indexed in state.indexes:
        if index.index.nearest is not None:
            graph = known.get(index.relation_id, GraphStatus(None))
            names = index.schema_name, index.name, indexed.name
            yield index.relation_id, *names, graph.state, graph.vectors, graph.error


RW_VECTOR_INDEXES = relation(
    "rw_catalog",
    "rw_vector_indexes",
    "id int4, schema_name text, name text, table_name text, state text, vectors int8, error text",
    _graphs,
)
RW_DDL_PROGRESS = relation(
    "rw_catalog",
    "rw_ddl_progress",
    "ddl_id int8, ddl_statement text, create_type text, progress text, initialized_at timestamptz, rows_read int8,"
    "total_rows int8, rows_per_second float8, seconds_left float8, rate_limit int8",
    _progress,
)
RW_SET_ASIDE_JOBS = relation(
    "rw_catalog",
    "rw_set_aside_jobs",
    "id int4, schema_name text, name text, since timestamptz, reason text, epoch int8, behind_ms float8",
    _set_aside,
)
RW_STREAMING_JOBS = relation(
    "rw_catalog", "rw_streaming_jobs", "id int4, name text, database_id int4, status text, parallelism text", _jobs
)
RW_FRAGMENTS = relation(
    "rw_catalog",
    "rw_fragments",
    "fragment_id int4, table_id int4, stage int4, operators _text, state_table_ids _int4, upstream_fragment_ids _int4,"
    "parallelism int4, rows_out int8, busy_ms float8",
    _fragments,
)
RW_EPOCHS = relation(
    "rw_catalog",
    "rw_epochs",
    "epoch int8, began_at timestamptz, rows int8, stages int4, is_one_task bool, plan_ms float8, run_ms float8,"
    "commit_ms float8, publish_ms float8, total_ms float8",
    _epochs,
)
RW_STREAMING_ERRORS = relation(
    "rw_catalog",
    "rw_streaming_errors",
    "relation_id int4, schema_name text, relation_name text, error_count int8",
    _errors,
)
