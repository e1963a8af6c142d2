"""DISCARD, and what drivers send to reset a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.errors import SqlError
from risingpy.frontend.parser.ast import Discard, NoOperation, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.transaction import TransactionStatus
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Discard, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        if statement.what.lower() == "all":
            if session.transaction.status is not TransactionStatus.IDLE:
                raise SqlError("DISCARD ALL cannot run inside a transaction block", sqlstate="25001")
            session.portals.close_all()
            session.statements.clear()
            session.settings.reset("all")
        return Result(f"DISCARD {statement.what.upper()}")

    return PreparedStatement(run)


def prepare_no_operation(
    session: ClientSession, parsed: ParsedStatement, statement: NoOperation, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    return PreparedStatement(lambda parameters: Result(statement.tag))
