"""CREATE VIEW and CREATE MATERIALIZED VIEW."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder import bind_stored_plan, bind_view
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateView, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.jobs.creation import creation_of
from risingpy.frontend.statements.jobs.new_view import new_materialized_view
from risingpy.frontend.statements.jobs.replaced_view import replaced_view
from risingpy.frontend.statements.placing import made_temporary, new_schema, reads_temporaries, relation_schema, skipped
from risingpy.frontend.statements.rights.checks import check_owns_all, check_reads, check_uses_types
from risingpy.meta.schema.relations import NewView
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import View, is_temporary_schema
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateView, parameter_types: Sequence[SqlType]
) -> Command:
    """Stores the query's text and its plan; the relations that it reads cannot be dropped without CASCADE."""

    def run(parameters: Parameters) -> Result:
        catalog = session.scope.schema.shown(session.database.reads.catalog)
        bound = bind_view(statement, catalog, session.search_path(), session=session.session_values())
        reads_temporary = reads_temporaries(catalog, bound.query)
        schema = relation_schema(session, statement.name, temporary=statement.temporary or reads_temporary)
        if reads_temporary and not statement.temporary:
            session.notice(f'view "{statement.name.name}" will be a temporary view')
        if statement.or_replace:
            check_owns_all(session, lambda state: _replaced(state, schema, statement.name.name))
        check_uses_types(session, (column.domain or column.type for column in bound.columns))
        view = NewView(
            schema_name=schema,
            name=statement.name.name,
            columns=bound.columns,
            definition=parsed.text,
            query=statement.query.text,
            depends_on=tuple(catalog.relations[relation_id] for relation_id in bound.query.dependencies),
            functions=bound.query.functions,
            reads=bound.query.reads,
            plan=bind_stored_plan(statement, catalog, session.search_path(), session=session.session_values()),
        )
        if not session.ddl.create_view(
            view,
            if_not_exists=statement.if_not_exists,
            or_replace=statement.or_replace,
            cancelled=session.cancelled,
        ):
            skipped(session, statement.name)
        elif is_temporary_schema(schema):
            made_temporary(session, schema, statement.name.name)
        return Result(CommandTag("CREATE VIEW"))

    return Command(run)


def bind_materialized(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: CreateMaterializedView,
    parameter_types: Sequence[SqlType],
) -> Command:
    """Returns when the view has all rows that its inputs had. A notice tells what its plan cannot do well."""

    def run(parameters: Parameters) -> Result:
        catalog = session.scope.schema.shown(session.database.reads.catalog)
        bound = bind_view(statement, catalog, session.search_path(), session=session.session_values())
        if reads_temporaries(catalog, bound.query):
            raise FeatureNotSupported("materialized views must not use temporary tables or views")
        schema = new_schema(session, statement.name)
        if statement.with_no_data:
            session.notice("WITH NO DATA has no effect: a materialized view has its rows at all times")
        for name in statement.without_effect:
            session.notice(f'parameter "{name}" has no effect here')
        replaced = replaced_view(session, statement, schema, bound)
        check_uses_types(session, (column.domain or column.type for column in bound.columns))
        check_reads(session, bound.query)
        view = new_materialized_view(statement, parsed.text, schema, bound, catalog, session.check)
        created, notices = session.ddl.create_materialized_view(
            view,
            if_not_exists=statement.if_not_exists,
            creation=creation_of(session, statement.backfill_rate_limit),
            replaced=None if replaced is None else replaced.relation_id,
            cancelled=session.cancelled,
        )
        for notice in notices:
            session.notice(notice)
        _tell_of(session, statement, created=created)
        return Result(CommandTag("CREATE MATERIALIZED VIEW"))

    return Command(run)


def _tell_of(session: StatementContext, statement: CreateMaterializedView, *, created: bool) -> None:
    """The notices that the view was there already, or has no rows yet."""
    if not created:
        skipped(session, statement.name)
    elif session.scope.schema.is_there:
        session.notice(f'materialized view "{statement.name.name}" gets its rows when the transaction commits')


def _replaced(state: MetaState, schema: str, name: str) -> list[View]:
    found = state.catalog.find(name, schema, ())
    return [found] if isinstance(found, View) else []


def without_effect(session: StatementContext, storage_parameters: Sequence[str], *, unlogged: bool = False) -> None:
    """Sends a notice for each storage parameter of PostgreSQL's that a statement sets, and one for UNLOGGED."""
    if unlogged:
        session.notice("UNLOGGED has no effect here: the table's rows are as durable as any")
    for name in storage_parameters:
        session.notice(f'storage parameter "{name}" has no effect here')
