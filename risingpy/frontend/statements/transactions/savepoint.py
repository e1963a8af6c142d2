"""SAVEPOINT, RELEASE SAVEPOINT, ROLLBACK TO SAVEPOINT.

A transaction's writes stay in the session until COMMIT, so ROLLBACK TO only has to forget the newest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import NoActiveTransaction
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement, ReleaseSavepoint, RollbackTo, Savepoint
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.transaction import TransactionStatus
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Savepoint, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises 25P01 outside a transaction block."""

    def run(parameters: Parameters) -> Result:
        _require_block(session, "SAVEPOINT")
        session.scope.set_savepoint(statement.name)
        return Result(CommandTag("SAVEPOINT"))

    return Command(run)


def bind_release(
    session: StatementContext, parsed: ParsedStatement, statement: ReleaseSavepoint, parameter_types: Sequence[SqlType]
) -> Command:
    """Keeps the writes since the savepoint. Raises 25P01 outside a block, 3B001 for an unknown name."""

    def run(parameters: Parameters) -> Result:
        _require_block(session, "RELEASE SAVEPOINT")
        session.transaction.release_savepoint(statement.name)
        return Result(CommandTag("RELEASE"))

    return Command(run)


def bind_rollback_to(
    session: StatementContext, parsed: ParsedStatement, statement: RollbackTo, parameter_types: Sequence[SqlType]
) -> Command:
    """Forgets the writes since the savepoint, which stays, and revives a failed transaction.

    Raises 25P01 outside a block, 3B001 for an unknown name.
    """

    def run(parameters: Parameters) -> Result:
        _require_block(session, "ROLLBACK TO SAVEPOINT")
        session.transaction.go_back_to(statement.name)
        return Result(CommandTag("ROLLBACK"))

    return Command(run)


def _require_block(session: StatementContext, what: str) -> None:
    if session.transaction.status is TransactionStatus.IDLE:
        raise NoActiveTransaction(f"{what} can only be used in transaction blocks")
