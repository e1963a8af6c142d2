"""SAVEPOINT, RELEASE SAVEPOINT, ROLLBACK TO SAVEPOINT.

A transaction's writes are kept in the session until COMMIT, so going back forgets the newest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.errors import NoActiveTransaction
from risingpy.frontend.parser.ast import ParsedStatement, ReleaseSavepoint, RollbackTo, Savepoint
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.transaction import TransactionStatus
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Savepoint, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        _require_block(session, "SAVEPOINT")
        session.set_savepoint(statement.name)
        return Result("SAVEPOINT")

    return PreparedStatement(run)


def prepare_release(
    session: ClientSession, parsed: ParsedStatement, statement: ReleaseSavepoint, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        _require_block(session, "RELEASE SAVEPOINT")
        session.transaction.release_savepoint(statement.name)
        return Result("RELEASE")

    return PreparedStatement(run)


def prepare_rollback_to(
    session: ClientSession, parsed: ParsedStatement, statement: RollbackTo, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        _require_block(session, "ROLLBACK TO SAVEPOINT")
        session.transaction.go_back_to(statement.name)
        return Result("ROLLBACK")

    return PreparedStatement(run)


def _require_block(session: ClientSession, what: str) -> None:
    if session.transaction.status is TransactionStatus.IDLE:
        raise NoActiveTransaction(f"{what} can only be used in transaction blocks")
