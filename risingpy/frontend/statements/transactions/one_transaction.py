"""A statement that is a transaction of its own, unless one is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.transaction import TransactionStatus


@contextmanager
def in_transaction(session: StatementContext) -> Iterator[None]:
    """What the block writes is committed at its end, if no transaction is open; nothing of it if it fails."""
    if session.transaction.is_open:
        yield
        return
    session.scope.begin_implicit()
    with _committed(session):
        yield


@contextmanager
def one_transaction(session: StatementContext) -> Iterator[None]:
    """The same of changes of the schema: they take effect in one step, with what the block writes, or none does."""
    if session.transaction.status is not TransactionStatus.IDLE:
        yield
        return
    of_series = session.transaction.implicit
    session.scope.begin(read_only=False)
    session.scope.begin_statement(session.database, commits_so_far=False, changes_schema=True)
    with _committed(session):
        yield
    if of_series:
        session.scope.begin_implicit()


@contextmanager
def _committed(session: StatementContext) -> Iterator[None]:
    try:
        yield
    except BaseException:
        session.scope.rollback()
        raise
    session.scope.commit()
