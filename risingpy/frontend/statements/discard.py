"""DISCARD, DEALLOCATE, and what drivers send to reset a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.frontend.parser.ast import Deallocate, Discard, NoOperation, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Discard, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        if statement.what.lower() == "all":
            session.settings.reset("all")
        return Result(f"DISCARD {statement.what.upper()}")

    return PreparedStatement(run)


def prepare_deallocate(
    session: ClientSession, parsed: ParsedStatement, statement: Deallocate, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    """Statements are prepared through the protocol, whose Close ends them: there is nothing to free here."""
    return PreparedStatement(lambda parameters: Result("DEALLOCATE" if statement.name else "DEALLOCATE ALL"))


def prepare_no_operation(
    session: ClientSession, parsed: ParsedStatement, statement: NoOperation, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    return PreparedStatement(lambda parameters: Result(statement.tag))
