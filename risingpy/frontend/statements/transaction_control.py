"""BEGIN, COMMIT, ROLLBACK.

A transaction's writes become durable and visible together at COMMIT. Schema changes are no part of it: they take effect
at once, between two epochs.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Begin, Commit, ParsedStatement, Rollback
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.transaction import TransactionStatus
from risingpy.types import SqlType


def bind_begin(
    session: StatementContext, parsed: ParsedStatement, statement: Begin, parameter_types: Sequence[SqlType]
) -> Command:
    """Only warns (25001) in a transaction."""

    def run(parameters: Parameters) -> Result:
        if session.transaction.status is TransactionStatus.ACTIVE:
            session.notice("there is already a transaction in progress", severity="WARNING", sqlstate="25001")
        else:
            session.scope.begin(read_only=bool(statement.read_only))
        return Result(CommandTag("BEGIN"))

    return Command(run)


def bind_commit(
    session: StatementContext, parsed: ParsedStatement, statement: Commit, parameter_types: Sequence[SqlType]
) -> Command:
    """Logs the transaction's writes as one group. A failed transaction is rolled back and answers ROLLBACK."""

    def run(parameters: Parameters) -> Result:
        if session.transaction.status is TransactionStatus.FAILED:
            session.scope.rollback()
            session.portals.end_transaction(committed=False)
            return Result(CommandTag("ROLLBACK"))
        _warn_outside(session)
        session.scope.commit()
        session.portals.end_transaction(committed=True)
        return Result(CommandTag("COMMIT"))

    return Command(run)


def bind_rollback(
    session: StatementContext, parsed: ParsedStatement, statement: Rollback, parameter_types: Sequence[SqlType]
) -> Command:
    """Forgets the transaction's writes and cursors; only warns outside a transaction."""

    def run(parameters: Parameters) -> Result:
        _warn_outside(session)
        session.scope.rollback()
        session.portals.end_transaction(committed=False)
        return Result(CommandTag("ROLLBACK"))

    return Command(run)


def _warn_outside(session: StatementContext) -> None:
    if session.transaction.status is TransactionStatus.IDLE:
        session.notice("there is no transaction in progress", severity="WARNING", sqlstate="25P01")
