"""FLUSH: returns when every view has everything that was written before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.frontend.parser.ast import Flush, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Flush, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        session.database.flush(session.cancelled)
        return Result("FLUSH")

    return PreparedStatement(run)
