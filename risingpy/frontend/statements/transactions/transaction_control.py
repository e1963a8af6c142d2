"""BEGIN, COMMIT, ROLLBACK, and LOCK TABLE.

A transaction's writes become durable and visible together at COMMIT, and so do its changes of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import LockNotAvailable, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Begin, Commit, LockTable, NamedTable, ParsedStatement, Rollback, SetTransaction
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.frontend.statements.transactions.read_write_transactions import begins, tell_none
from risingpy.frontend.statements.transactions.transaction_modes import present, set_modes, shown
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Table, View
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import SqlType

# PostgreSQL's modes in which other sessions may write.
_MODES_BESIDE_WRITERS = ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE")
_LOCKED_BY = {
    "ACCESS SHARE": Privilege.SELECT,
    "ROW EXCLUSIVE": Privilege.INSERT | Privilege.UPDATE | Privilege.DELETE | Privilege.TRUNCATE,
}
_LOCKED_BY_OTHERS = Privilege.UPDATE | Privilege.DELETE | Privilege.TRUNCATE


def bind_begin(
    session: StatementContext, parsed: ParsedStatement, statement: Begin, parameter_types: Sequence[SqlType]
) -> Command:
    """Only warns (25001) in a transaction, and only tells so where the session has none that write."""

    def run(parameters: Parameters) -> Result:
        if not statement.read_only and not begins(session):
            tell_none(session)
        elif session.transaction.status is TransactionStatus.ACTIVE:
            session.notice("there is already a transaction in progress", severity="WARNING", sqlstate="25001")
        else:
            session.scope.begin(read_only=statement.read_only)
            set_modes(session, replace(statement, read_only=None))
        return Result(CommandTag("START TRANSACTION" if statement.starts else "BEGIN"))

    return Command(run)


def bind_set(
    session: StatementContext, parsed: ParsedStatement, statement: SetTransaction, parameter_types: Sequence[SqlType]
) -> Command:
    """For this transaction, or for those that begin later. Outside of a transaction it only warns (25P01).

    Raises what `set_modes` does.
    """

    def run(parameters: Parameters) -> Result:
        if statement.of_session:
            for name, words in shown(statement.modes):
                session.settings.set(f"default_{name}", (words,))
        elif not session.transaction.is_open:
            message = "SET TRANSACTION can only be used in transaction blocks"
            session.notice(message, severity="WARNING", sqlstate="25P01")
        else:
            set_modes(session, statement.modes)
        return Result(CommandTag("SET"))

    return Command(run)


def bind_commit(
    session: StatementContext, parsed: ParsedStatement, statement: Commit, parameter_types: Sequence[SqlType]
) -> Command:
    """Logs the transaction's writes as one group. A failed transaction is rolled back and answers ROLLBACK.

    AND CHAIN raises 25P01 outside of a block.
    """

    def run(parameters: Parameters) -> Result:
        begin_next = _next_in_chain(session, "COMMIT", chain=statement.chain)
        failed = session.transaction.status is TransactionStatus.FAILED
        if failed:
            session.scope.rollback()
        else:
            _warn_outside(session)
            session.scope.commit()
        session.portals.end_transaction(committed=not failed)
        begin_next()
        return Result(CommandTag("ROLLBACK" if failed else "COMMIT"))

    return Command(run)


def bind_rollback(
    session: StatementContext, parsed: ParsedStatement, statement: Rollback, parameter_types: Sequence[SqlType]
) -> Command:
    """Forgets the transaction's writes and cursors; only warns outside a transaction. AND CHAIN raises 25P01 there."""

    def run(parameters: Parameters) -> Result:
        begin_next = _next_in_chain(session, "ROLLBACK", chain=statement.chain)
        _warn_outside(session)
        session.scope.rollback()
        session.portals.end_transaction(committed=False)
        begin_next()
        return Result(CommandTag("ROLLBACK"))

    return Command(run)


def _next_in_chain(session: StatementContext, command: str, *, chain: bool) -> Callable[[], None]:
    """What begins a transaction like the one that is open now, once that has ended; without `chain`, nothing."""
    if not chain:
        return lambda: None
    if session.transaction.status is TransactionStatus.IDLE:
        raise SqlError(f"{command} AND CHAIN can only be used in transaction blocks", sqlstate="25P01")
    modes = present(session)

    def begin() -> None:
        session.scope.begin(read_only=modes.read_only)
        set_modes(session, replace(modes, read_only=None))

    return begin


def _warn_outside(session: StatementContext) -> None:
    if session.transaction.status is TransactionStatus.IDLE and begins(session):
        session.notice("there is no transaction in progress", severity="WARNING", sqlstate="25P01")


def bind_lock(
    session: StatementContext, parsed: ParsedStatement, statement: LockTable, parameter_types: Sequence[SqlType]
) -> Command:
    """LOCK TABLE: until the transaction ends, no other session writes to the tables, or (weaker modes) alters them.

    Readers never wait. Binding raises UndefinedTable and WrongObjectType; running raises 25P01 outside of a
    transaction, and LockNotAvailable with NOWAIT.
    """
    named = [_lockable(session, table) for table in statement.tables]
    for relation in named:
        check_allowed(session, relation, _LOCKED_BY.get(statement.mode, _LOCKED_BY_OTHERS), any_of_them=True)
    tables = [relation for relation in named if isinstance(relation, Table)]  # a view has nothing to lock
    mode = LockMode.FORM if statement.mode in _MODES_BESIDE_WRITERS else LockMode.ALONE

    def run(parameters: Parameters) -> Result:
        if session.transaction.status is TransactionStatus.IDLE:
            raise SqlError("LOCK TABLE can only be used in transaction blocks", sqlstate="25P01")
        for table in tables:
            try:
                session.transaction.lock(table.relation_id, mode, session.cancelled, wait=not statement.no_wait)
            except LockNotAvailable as error:
                if statement.no_wait:
                    raise LockNotAvailable(f'could not obtain lock on relation "{table.name}"') from error
                raise
        return Result(CommandTag("LOCK TABLE"))

    return Command(run)


def _lockable(session: StatementContext, table: NamedTable) -> Table | View:
    relation = named_relation(session, table.name)
    if not isinstance(relation, Table | View):
        raise WrongObjectType(f'"{relation.name}" is not a table or view', position=table.name.position)
    return relation
