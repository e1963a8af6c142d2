"""CREATE TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.frontend.binder import TableDefinition, bind_table
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateTable, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.create_view import new_schema, skipped
from risingpy.frontend.written_rows import ROW_ID
from risingpy.meta.schema.relations import NewTable
from risingpy.plan.catalog import ColumnDesc, Identity
from risingpy.types import BIGINT, SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateTable, parameter_types: Sequence[SqlType]
) -> Command:
    """Checks the columns now and names the schema when it runs. IF NOT EXISTS of a table that exists gives a notice."""
    defined = bind_table(statement, session=session.session_values())

    def run(parameters: Parameters) -> Result:
        table = new_table(session, parsed.text, statement, defined)
        if not session.database.ddl.create_table(
            table, if_not_exists=statement.if_not_exists, cancelled=session.cancelled
        ):
            skipped(session, statement.name)
        return Result(CommandTag("CREATE TABLE"))

    return Command(run)


def new_table(session: StatementContext, definition: str, statement: CreateTable, defined: TableDefinition) -> NewTable:
    """The statement's table, in its schema."""
    return NewTable(
        schema_name=new_schema(session, statement.name),
        name=statement.name.name,
        columns=_with_counters(session, defined.columns if defined.primary_key else with_row_id(defined.columns)),
        primary_key=defined.primary_key,
        append_only=statement.append_only,
        definition=definition,
        on_conflict=defined.on_conflict,
        version_column=defined.version_column,
        watermark=defined.watermark,
        webhook=defined.webhook,
    )


def _with_counters(session: StatementContext, columns: tuple[ColumnDesc, ...]) -> tuple[ColumnDesc, ...]:
    """The columns; each identity column gets its own counter."""
    return tuple(
        column if column.identity is None else replace(column, identity=_counter(session, column.identity))
        for column in columns
    )


def _counter(session: StatementContext, identity: Identity) -> Identity:
    return replace(identity, counter=session.database.writes.next_row_ids(1))


def with_row_id(columns: tuple[ColumnDesc, ...]) -> tuple[ColumnDesc, ...]:
    """The columns, and the hidden number of the row."""
    return (*columns, ColumnDesc(len(columns) + 1, ROW_ID, BIGINT, not_null=True, hidden=True))
