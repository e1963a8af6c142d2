"""CREATE INDEX: returns when the index has all rows."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import DuplicateRelation
from risingpy.frontend.binder import bind_index
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateIndex, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.create_view import without_effect
from risingpy.meta.schema.indexes import NewIndex
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateIndex, parameter_types: Sequence[SqlType]
) -> Command:
    """Binds when it runs, on the catalog of that moment. IF NOT EXISTS gives a notice (42P07)."""

    def run(parameters: Parameters) -> Result:
        catalog = session.database.reads.catalog
        bound = bind_index(statement, catalog, session.search_path(), session=session.session_values())
        index = NewIndex(bound.name, bound.relation, bound.definition, parsed.text)
        created = session.ddl.create_index(index, if_not_exists=statement.if_not_exists, cancelled=session.cancelled)
        without_effect(session, statement.storage_parameters)
        if not created:
            session.notice(f'relation "{bound.name}" already exists, skipping', sqlstate=DuplicateRelation.sqlstate)
        return Result(CommandTag("CREATE INDEX"))

    return Command(run)
