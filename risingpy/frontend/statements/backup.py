"""BACKUP TO: copies the whole running database, as of one epoch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Backup, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.server_rights import check_writes_files
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Backup, parameter_types: Sequence[SqlType]
) -> Command:
    """Runs beside reads and writes. A notice names the epoch of the copy."""

    def run(parameters: Parameters) -> Result:
        check_writes_files(session)
        epoch = session.database.backup(Path(statement.directory), session.cancelled)
        session.notice(f"backup of epoch {epoch} in {statement.directory}")
        return Result(CommandTag("BACKUP"))

    return Command(run)
