"""CREATE TYPE … AS ENUM."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateType, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import new_schema
from risingpy.meta.schema.objects.user_types import NewEnum, add_enum, check_label
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateType, parameter_types: Sequence[SqlType]
) -> Command:
    """The labels are checked now, and the name when the type is made."""
    for label in statement.labels:
        try:
            check_label(label.text)
        except SqlError as error:
            error.position = label.position
            raise

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        new = NewEnum(schema, statement.name.name, tuple(label.text for label in statement.labels))
        session.ddl.change(lambda state: add_enum(state, new), session.cancelled)
        return Result(CommandTag("CREATE TYPE"))

    return Command(run)
