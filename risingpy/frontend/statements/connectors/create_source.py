"""CREATE SOURCE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.frontend.binder import bind_table
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateSource, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.given_options import opened_statement
from risingpy.frontend.statements.connectors.source_options import checked_options, with_schema_columns
from risingpy.frontend.statements.create_table import with_row_id
from risingpy.frontend.statements.placing import new_schema, skipped
from risingpy.frontend.statements.rights.checks import check_uses_types
from risingpy.frontend.statements.rights.server_rights import check_source
from risingpy.meta.schema.sources import NewSource
from risingpy.plan.catalog import DEFAULT_SCHEMA
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSource, parameter_types: Sequence[SqlType]
) -> Command:
    """Options, format and columns are checked now, and the other system is reached when it runs."""
    source = new_source(session, parsed, statement)

    def run(parameters: Parameters) -> Result:
        check_uses_types(session, (column.type for column in source.columns if not column.hidden))
        placed = replace(source, schema_name=new_schema(session, statement.name))
        if not session.ddl.create_source(placed, if_not_exists=statement.if_not_exists, cancelled=session.cancelled):
            skipped(session, statement.name)
        return Result(CommandTag("CREATE SOURCE"))

    return Command(run)


def new_source(session: StatementContext, parsed: ParsedStatement, statement: CreateSource) -> NewSource:
    """The source as it is written, its options checked; what it would be called is not.

    A schema of messages is read now, since it says what the columns are.
    """
    statement, given = opened_statement(session, statement)
    with given.masked_errors(statement.name.position):
        check_source(session, dict(statement.options), statement.message_format, statement.name.position)
        statement = with_schema_columns(statement)
        defined = bind_table(
            statement,
            session.database.reads.catalog.only_types(),
            session.search_path(),
            session=session.session_values(),
        )
        options = checked_options(statement, defined)
        return NewSource(
            schema_name=statement.name.schema or DEFAULT_SCHEMA,
            name=statement.name.name,
            columns=with_row_id(defined.columns),
            stored=given.stored(options, statement.message_format),
            definition=shown_text(parsed),
            watermark=defined.watermark,
            included=defined.included,
        )
