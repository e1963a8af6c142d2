"""FLUSH: returns when every view has all earlier writes."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Flush, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Flush, parameter_types: Sequence[SqlType]
) -> Command:
    """Waits for epochs to take in what was committed before; a cancel request ends the wait (57014)."""

    def run(parameters: Parameters) -> Result:
        session.database.reads.flush(session.cancelled)
        return Result(CommandTag("FLUSH"))

    return Command(run)
