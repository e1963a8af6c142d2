"""BACKUP TO: a copy of the whole database, at one epoch, while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from risingpy.frontend.parser.ast import Backup, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Backup, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        epoch = session.database.backup(Path(statement.directory), session.cancelled)
        session.notice(f"backup of epoch {epoch} in {statement.directory}")
        return Result("BACKUP")

    return PreparedStatement(run)
