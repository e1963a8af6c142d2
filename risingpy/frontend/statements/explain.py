"""EXPLAIN of a query, a statement that writes, CREATE of a relation that has a plan. It runs and stores nothing.

EXPLAIN ANALYZE of a query runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from risingpy.batch import explain_plan, with_parameters
from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder import (
    bind_delete,
    bind_index,
    bind_insert,
    bind_merge,
    bind_query,
    bind_table,
    bind_update,
    bind_view,
)
from risingpy.frontend.binder.ddl.end_of_rows import ttl_of_view
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import (
    CreateIndex,
    CreateMaterializedView,
    CreateSink,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    Delete,
    Execute,
    Explain,
    ExplainKind,
    Insert,
    Merge,
    ParsedStatement,
    Select,
    Statement,
    Update,
)
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.create_source import new_source
from risingpy.frontend.statements.connectors.sink import new_sink
from risingpy.frontend.statements.create_table import new_table
from risingpy.frontend.statements.objects.like import with_likes
from risingpy.frontend.statements.prepare import executed_parts
from risingpy.frontend.statements.rights.checks import check_indexes
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.frontend.statements.writes.with_writes import has_writes
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.sinks import add_sink, sink_target
from risingpy.meta.schema.sources import add_source
from risingpy.meta.schema.tables import add_table
from risingpy.meta.state import IdAllocator
from risingpy.optimizer.explain import (
    ExplainFormat,
    explain_fragments,
    explain_logical,
    explain_stream,
    explain_trace,
)
from risingpy.optimizer.rules import optimize
from risingpy.optimizer.stream.closing_column import optimize_view
from risingpy.optimizer.stream.fragments import cut
from risingpy.optimizer.stream.jobs import plan_materialized_view
from risingpy.plan.catalog import Catalog, ExternalSource
from risingpy.plan.graph import Job
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import StreamPlan
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Explain, parameter_types: Sequence[SqlType]
) -> Command:
    """Rows of one text column, QUERY PLAN. The plan is made now, so a prepared EXPLAIN shows what it was made for."""
    if has_writes(statement.statement):
        raise FeatureNotSupported("EXPLAIN of a statement with data-modifying statements in WITH is not supported")
    fields = text_fields("QUERY PLAN")
    if statement.analyze:
        return _bind_analyze(session, statement)
    lines = _explained(session, parsed, statement)
    lasts = not isinstance(statement.statement, Execute)

    def run(parameters: Parameters) -> Result:
        return Result(CommandTag("EXPLAIN"), fields, text_rows(fields, [(line,) for line in lines]))

    return Command(run, fields, lasts=lasts)


def _explained(session: StatementContext, parsed: ParsedStatement, explain: Explain) -> list[str]:
    match explain.statement:
        case CreateMaterializedView() as view:
            return _explain_view(session, explain, view)
        case CreateSink() as sink:
            return _explain_sink(session, explain, parsed, sink)
        case CreateSource() as source:
            return _explain_source(session, explain, parsed, source)
        case CreateTable() as table:
            return _explain_table(session, explain, parsed.text, with_likes(session, table))
        case CreateIndex() as index:
            return _explain_index(session, explain, parsed.text, index)
    catalog = session.database.reads.catalog
    plan = _batch_plan(session, explain, catalog)
    if explain.kind is ExplainKind.LOGICAL:
        return explain_logical(plan, explain_format=explain.format)
    traced = explain_trace(plan, for_stream=False) if explain.trace else ()
    query = session.planned(optimize(plan, session.check), catalog)
    return [*traced, *explain_plan(query.plan, explain_format=explain.format)]


def _bind_analyze(session: StatementContext, explain: Explain) -> Command:
    """EXPLAIN ANALYZE of a query: runs it, and shows the plan and the time that it took."""
    explained = _executed(session, explain.statement)
    if not isinstance(explained.statement, Select):
        raise FeatureNotSupported(
            "EXPLAIN ANALYZE of a statement that writes is not supported",
            hint="EXPLAIN shows its plan. EXPLAIN ANALYZE MATERIALIZED VIEW name shows what a running view does.",
        )
    fields = text_fields("QUERY PLAN")

    def run(parameters: Parameters) -> Result:
        began = perf_counter()
        catalog = session.database.reads.catalog
        query = session.planned(optimize(_batch_plan(session, explain, catalog), session.check), catalog)
        planned = perf_counter()
        rows = sum(batch.num_rows for batch in session.run_query(query, parameters))
        ended = perf_counter()
        lines = explain_plan(query.plan, explain_format=explain.format)
        if explain.format is ExplainFormat.TEXT:
            lines += [
                f"Planning Time: {(planned - began) * 1000:.3f} ms",
                f"Execution Time: {(ended - planned) * 1000:.3f} ms",
                f"Rows: {rows}",
            ]
        return Result(CommandTag("EXPLAIN"), fields, text_rows(fields, [(line,) for line in lines]))

    return Command(run, fields)


@dataclass(frozen=True, slots=True)
class _Explained:
    """The explained statement. For an EXECUTE it is the prepared statement with the values of its parameters."""

    statement: Statement
    types: tuple[SqlType, ...] = ()
    values: tuple[object | None, ...] = ()


def _executed(session: StatementContext, statement: Statement) -> _Explained:
    if isinstance(statement, CreateTableAs) and isinstance(statement.query, Execute):
        statement = statement.query
    if not isinstance(statement, Execute):
        return _Explained(statement)
    executed = executed_parts(session, statement)
    if executed is None or not isinstance(executed.statement, ParsedStatement):
        raise FeatureNotSupported("EXPLAIN of a query of system relations is not supported")
    return _Explained(executed.statement.statement, executed.types, executed.values)


def _batch_plan(session: StatementContext, explain: Explain, catalog: Catalog) -> LogicalPlan:
    explained = _executed(session, explain.statement)
    return with_parameters(_bound_plan(session, explained.statement, explained.types, catalog), explained.values)


def _bound_plan(
    session: StatementContext, statement: Statement, types: Sequence[SqlType], catalog: Catalog
) -> LogicalPlan:
    path, values = session.search_path(), session.session_values()
    match statement:
        case Select() | CreateTableAs() | CreateView() if not isinstance(statement.query, Execute):
            return bind_query(statement.query, catalog, path, types, session=values).plan
        case Insert() as insert:
            return bind_insert(insert, catalog, path, types, session=values).plan
        case Update() as update:
            return bind_update(update, catalog, path, types, session=values).plan
        case Delete() as delete:
            return bind_delete(delete, catalog, path, types, session=values).plan
        case Merge() as merge:
            return bind_merge(merge, catalog, path, types, session=values).plan
    raise FeatureNotSupported(
        "EXPLAIN of this statement is not supported",
        hint="EXPLAIN takes SELECT, INSERT, UPDATE, DELETE, MERGE, EXECUTE, "
        "CREATE TABLE [AS], [MATERIALIZED] VIEW, INDEX, SOURCE and SINK.",
    )


def _explain_view(session: StatementContext, explain: Explain, statement: CreateMaterializedView) -> list[str]:
    """Plans the view as CREATE would, with the next free ids."""
    state = session.database.reads.state
    bound = bind_view(statement, state.catalog, session.search_path(), session=session.session_values())
    if explain.kind is ExplainKind.LOGICAL:
        return explain_logical(bound.query.plan, explain_format=explain.format)
    allocate = IdAllocator(state.next_id)
    planned = plan_materialized_view(
        optimize_view(
            bound.query.plan,
            state.catalog,
            emit_on_window_close=statement.emit_on_window_close,
            recursion_limit=statement.recursion_limit,
            check=session.check,
        ),
        state.catalog,
        allocate=allocate,
        name=statement.name.name,
        output_names=bound.column_names,
        emit_on_window_close=statement.emit_on_window_close,
        ttl=ttl_of_view(statement),
        table_rows=session.database.reads.table_rows,
        check=session.check,
    )
    job = cut(planned.table.table_id, planned, state.graph(), allocate)
    traced = explain_trace(bound.query.plan, for_stream=True) if explain.trace else ()
    return [*traced, *_job_lines(explain, planned.root, job)]


def _explain_sink(
    session: StatementContext, explain: Explain, parsed: ParsedStatement, statement: CreateSink
) -> list[str]:
    """Plans the sink's job as CREATE would; nothing is connected."""
    before = session.database.reads.state
    sink = new_sink(session, parsed, statement)
    if explain.kind is ExplainKind.LOGICAL:
        return explain_logical(sink.plan, explain_format=explain.format)
    after, relation = add_sink(before, sink, session.database.reads.table_rows, session.check)
    if relation.into is None:
        sink_target(after.catalog, relation, session.database.vault)
    job = after.jobs[relation.relation_id]
    return _job_lines(explain, job.fragments[-1].root, job)


def _explain_source(
    session: StatementContext, explain: Explain, parsed: ParsedStatement, statement: CreateSource
) -> list[str]:
    """What a view of the source's rows would read: the source itself has no job. Nothing is connected."""
    before = session.database.reads.state
    catalog = add_source(before, new_source(session, parsed, statement)).catalog
    (source_id,) = catalog.relations.keys() - before.catalog.relations.keys()
    source = catalog.relations[source_id]
    assert isinstance(source, ExternalSource)
    read = scan(source)
    if explain.kind is ExplainKind.LOGICAL:
        return explain_logical(read, explain_format=explain.format)
    allocate = IdAllocator(before.next_id + 1)
    names = [column.name for column in source.columns if not column.hidden]
    planned = plan_materialized_view(read, catalog, allocate=allocate, name=source.name, output_names=names)
    job = cut(planned.table.table_id, planned, before.graph(), allocate)
    return _job_lines(explain, planned.root, job)


def _explain_table(session: StatementContext, explain: Explain, text: str, statement: CreateTable) -> list[str]:
    """Plans the table's own job as CREATE would, and changes nothing: of a copied table it asks nobody."""
    if statement.copied is not None:
        what = "EXPLAIN of a table that copies another is not supported"
        raise FeatureNotSupported(what, position=statement.copied.position)
    defined = bind_table(
        statement,
        session.database.reads.catalog.only_types(),
        session.search_path(),
        session=session.session_values(),
    )
    stored = StoredOptions(statement.options, statement.message_format) if statement.is_fed else None
    before = session.database.reads.state
    after, _ = add_table(before, new_table(session, text, statement, defined, stored))
    (job_id,) = after.jobs.keys() - before.jobs.keys()
    job = after.jobs[job_id]
    return _job_lines(explain, job.fragments[-1].root, job)


def _explain_index(session: StatementContext, explain: Explain, text: str, statement: CreateIndex) -> list[str]:
    """Plans the index's job as CREATE would; the key of a unique one is planned as any other."""
    before = session.database.reads.state
    bound = bind_index(statement, before.catalog, session.search_path(), session=session.session_values())
    check_indexes(session, bound.relation)
    after, index_id = add_index(before, NewIndex(bound.name, bound.relation, bound.definition, text))
    job = after.jobs[index_id]
    return _job_lines(explain, job.fragments[-1].root, job)


def _job_lines(explain: Explain, root: StreamPlan, job: Job) -> list[str]:
    if explain.kind is ExplainKind.DISTSQL:
        return explain_fragments(job, explain.verbose, explain_format=explain.format)
    return explain_stream(root, explain.verbose, job=job, explain_format=explain.format)
