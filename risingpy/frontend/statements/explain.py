"""EXPLAIN of a query, a statement that writes, or CREATE MATERIALIZED VIEW; nothing is run or kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder import bind_delete, bind_insert, bind_query, bind_update, bind_view
from risingpy.frontend.parser.ast import (
    CreateMaterializedView,
    Delete,
    Explain,
    ExplainKind,
    Insert,
    ParsedStatement,
    Select,
    Update,
)
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.frontend.wire.session_protocol import Result
from risingpy.meta.state import IdAllocator
from risingpy.optimizer.explain import explain_batch, explain_fragments, explain_logical, explain_stream
from risingpy.optimizer.fragments import cut
from risingpy.optimizer.logical import LogicalPlan
from risingpy.optimizer.rules import optimize
from risingpy.optimizer.stream import plan_materialized_view
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Explain, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    fields = text_fields("QUERY PLAN")
    lines = _explained(session, statement)

    def run(parameters: Parameters) -> Result:
        return Result("EXPLAIN", fields, text_rows(fields, [(line,) for line in lines]))

    return PreparedStatement(run, fields)


def _explained(session: ClientSession, statement: Explain) -> list[str]:
    if statement.analyze:
        raise FeatureNotSupported("EXPLAIN ANALYZE is not supported")
    if isinstance(statement.statement, CreateMaterializedView):
        return _explain_view(session, statement, statement.statement)
    plan = _batch_plan(session, statement)
    return explain_logical(plan) if statement.kind is ExplainKind.LOGICAL else explain_batch(optimize(plan))


def _batch_plan(session: ClientSession, statement: Explain) -> LogicalPlan:
    catalog, path, values = session.database.catalog, session.search_path(), session.session_values()
    match statement.statement:
        case Select() as select:
            return bind_query(select.query, catalog, path, (), session=values).plan
        case Insert() as insert:
            return bind_insert(insert, catalog, path, (), session=values).plan
        case Update() as update:
            return bind_update(update, catalog, path, (), session=values).plan
        case Delete() as delete:
            return bind_delete(delete, catalog, path, (), session=values).plan
    raise FeatureNotSupported(
        "EXPLAIN of this statement is not supported",
        hint="EXPLAIN takes SELECT, INSERT, UPDATE, DELETE and CREATE MATERIALIZED VIEW.",
    )


def _explain_view(session: ClientSession, explain: Explain, statement: CreateMaterializedView) -> list[str]:
    """Plans the view as CREATE would, with ids that would be the next ones."""
    state = session.database.state
    bound = bind_view(statement, state.catalog, session.search_path(), session=session.session_values())
    if explain.kind is ExplainKind.LOGICAL:
        return explain_logical(bound.query.plan)
    allocate = IdAllocator(state.next_id)
    planned = plan_materialized_view(
        optimize(bound.query.plan),
        state.catalog,
        allocate=allocate,
        name=statement.name.name,
        output_names=bound.column_names,
    )
    job = cut(planned.table.table_id, planned, state.graph(), allocate)
    if explain.kind is ExplainKind.DISTSQL:
        return explain_fragments(job, explain.verbose)
    return explain_stream(planned.root, explain.verbose, job=job)
