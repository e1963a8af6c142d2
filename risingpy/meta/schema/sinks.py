"""CREATE SINK and ALTER SINK, as functions from state to state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.connectors.targets.choice import target_of
from risingpy.connectors.targets.engine_options import engine_options
from risingpy.connectors.targets.target import SinkTarget
from risingpy.errors import Check, SerializationFailure, SqlError, unchecked
from risingpy.meta.durable_state import with_status, without_job
from risingpy.meta.schema.options import OptionChanges, with_changes
from risingpy.meta.schema.relations import check_new_name, check_unchanged, with_job
from risingpy.meta.schema.secrets import check_hidden
from risingpy.meta.sinks.into_tables import feeds, with_sinks_connected
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.estimated_rows import TableRows, no_table_rows
from risingpy.optimizer.stream.sinks import WantedSink, plan_sink
from risingpy.plan.catalog import Catalog, CreatedRelation, JobStatus, Sink, Table
from risingpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True)
class NewSink:
    """CREATE SINK: its query and what its options say. Without `snapshot` only later changes are delivered.

    `depends_on` are the relations that it reads, as they were bound. `identity`: see `Sink`. The query of a sink `into`
    a table gives the table's visible columns.
    """

    schema_name: str
    name: str
    plan: LogicalPlan
    column_names: tuple[str, ...]
    definition: str
    depends_on: tuple[CreatedRelation, ...]
    functions: tuple[int, ...]
    stored: StoredOptions
    wanted: WantedSink
    identity: str
    snapshot: bool = True
    into: Table | None = None


def add_sink(
    state: MetaState, sink: NewSink, table_rows: TableRows = no_table_rows, check: Check = unchecked
) -> tuple[MetaState, Sink]:
    """(`state` with the sink and its job, the sink). The job is in creation if it is to read a snapshot.

    Its options are checked by `sink_target`.
    """
    check_new_name(state, sink.schema_name, sink.name)
    needed = sink.depends_on if sink.into is None else (*sink.depends_on, sink.into)
    check_unchanged(state, needed)
    check_hidden(state, sink.stored.hidden)
    if sink.into is not None:
        _refuse_cycle(state, sink.depends_on, sink.into)
    allocate = IdAllocator(state.next_id)
    planned = plan_sink(
        sink.plan,
        state.catalog,
        allocate=allocate,
        name=sink.name,
        output_names=sink.column_names,
        wanted=sink.wanted,
        into=sink.into,
        table_rows=table_rows,
        check=check,
    )
    job = planned.job
    relation = Sink(
        relation_id=job.table.table_id,
        schema_name=sink.schema_name,
        name=sink.name,
        columns=job.columns,
        definition=sink.definition,
        stream_key=job.stream_key,
        append_only=job.append_only,
        table=job.table,
        watermarks=job.watermarks,
        status=JobStatus.CREATING if sink.snapshot else JobStatus.CREATED,
        version=state.catalog.version + 1,
        type=planned.type,
        primary_key=planned.primary_key,
        identity=sink.identity,
        options=sink.stored.options,
        message_format=sink.stored.message_format,
        hidden=sink.stored.hidden,
        depends_on=tuple(sorted({relation.relation_id for relation in needed})),
        functions=sink.functions,
        into=None if sink.into is None else sink.into.relation_id,
    )
    after = with_sinks_connected(with_job(state, relation, job, allocate))
    return replace(after, fresh_jobs=after.fresh_jobs | {relation.relation_id}), relation


def _refuse_cycle(state: MetaState, read: Sequence[CreatedRelation], into: Table) -> None:
    """Raises SqlError (42P17) if the rows of the sink would come from the table that it goes into."""
    for relation in read:
        if feeds(state.catalog, into.relation_id, relation.relation_id):
            raise SqlError(
                f'the sink would read what it writes: {relation.noun} "{relation.name}" has rows of "{into.name}"',
                sqlstate="42P17",
            )


def sink_target(catalog: Catalog, sink: Sink, vault: Vault) -> SinkTarget:
    """The other side of a sink, not yet connected.

    Raises InvalidParameterValue or FeatureNotSupported if the options are wrong, SecretKeyUnavailable.
    """
    options = opened(vault, catalog.resolved(sink))
    with options.masked_errors():
        return target_of(options.options, sink.schema, options.message_format)


def with_sink_options(
    state: MetaState, sink_id: int, changes: OptionChanges, text: Callable[[str, str, str], str], vault: Vault
) -> MetaState:
    """`state` with other values of a sink's options; `text` puts one into the sink's definition."""
    sink = state.catalog.relations.get(sink_id)
    if not isinstance(sink, Sink):
        raise SerializationFailure("the sink was dropped meanwhile", hint="Run the statement again.")
    check_hidden(state, changes.hidden)
    options, hidden = with_changes(sink.options, sink.hidden, changes)
    changed = replace(sink, options=options, hidden=hidden)
    for name, value in changes.texts:
        changed = replace(changed, definition=text(changed.definition, name, value))
    engine_options(dict(changed.options), changed.message_format)
    sink_target(state.catalog, changed, vault)
    relations = {**state.catalog.relations, sink_id: changed}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))


def with_failed_sink(state: MetaState, sink_id: int, reason: str) -> MetaState:
    """`state` with a sink that has given up: its job stops, and what it has not delivered is deleted."""
    sink = state.catalog.relations.get(sink_id)
    if not isinstance(sink, Sink) or sink.has_stopped:
        return state
    relations = {**state.catalog.relations, sink_id: replace(sink, failure=reason)}
    told = replace(state, catalog=replace(state.catalog, relations=relations))
    stopped = with_status(without_job(told, sink_id), sink_id, JobStatus.FAILED)
    return replace(
        stopped,
        graph_version=state.graph_version + 1,
        purge=stopped.purge | {sink.table.table_id},
        fresh_jobs=state.fresh_jobs - {sink_id},
    )
