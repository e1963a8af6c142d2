"""A statement of several changes of the schema, which is a transaction of its own unless one is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.transaction import TransactionStatus


@contextmanager
def one_transaction(session: StatementContext) -> Iterator[None]:
    """The changes of the block take effect in one step, with what it writes, or none does."""
    if session.transaction.status is not TransactionStatus.IDLE:
        yield
        return
    of_series = session.transaction.implicit
    session.scope.begin(read_only=False)
    session.scope.begin_statement(session.database, commits_so_far=False, changes_schema=True)
    try:
        yield
    except BaseException:
        session.scope.rollback()
        raise
    session.scope.commit()
    if of_series:
        session.scope.begin_implicit()
