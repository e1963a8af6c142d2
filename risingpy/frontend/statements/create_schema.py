"""CREATE SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateSchema, DropSchema, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSchema, parameter_types: Sequence[SqlType]
) -> Command:
    """IF NOT EXISTS of a schema that exists gives a notice (42P06)."""

    def run(parameters: Parameters) -> Result:
        if not session.ddl.create_schema(
            statement.name, if_not_exists=statement.if_not_exists, cancelled=session.cancelled
        ):
            session.notice(f'schema "{statement.name}" already exists, skipping', sqlstate="42P06")
        return Result(CommandTag("CREATE SCHEMA"))

    return Command(run)


def bind_drop(
    session: StatementContext, parsed: ParsedStatement, statement: DropSchema, parameter_types: Sequence[SqlType]
) -> Command:
    """Drops one schema after the other. A notice tells what IF EXISTS skipped and what CASCADE took along."""

    def run(parameters: Parameters) -> Result:
        for name in statement.names:
            notices = session.ddl.drop_schema(
                name,
                if_exists=statement.if_exists,
                cascade=statement.cascade,
                cancelled=session.cancelled,
                process_id=session.startup.process_id,
            )
            for notice in notices:
                session.notice(notice)
        return Result(CommandTag("DROP SCHEMA"))

    return Command(run)
