"""BEGIN, COMMIT and ROLLBACK without a thread, as most transactions need them.

A transaction that only short statements have written in is committed by the thread of the group commits, in its turn.
Whatever is unusual takes the long way: changes of the schema, SET LOCAL, deferred constraints, rw_implicit_flush.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from risingpy.errors import SqlError
from risingpy.frontend.parser.ast import Begin, Commit, ParsedStatement, Rollback
from risingpy.frontend.results import Begin as BeginLater
from risingpy.frontend.results import Prepared, TakesLonger
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.settings import is_on
from risingpy.frontend.statements.transactions.read_write_transactions import begins
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.writing.dml_log import refuse_stale_form
from risingpy.meta.writing.table_locks import LockMode

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


class Control(Enum):
    """What a statement does with the transaction; the value is its tag."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


_TEXTS = {
    "BEGIN": Control.BEGIN,
    "COMMIT": Control.COMMIT,
    "END": Control.COMMIT,
    "ROLLBACK": Control.ROLLBACK,
}
_LONGEST_TEXT = 32
_KINDS = {Control.BEGIN: Begin.__name__, Control.COMMIT: Commit.__name__, Control.ROLLBACK: Rollback.__name__}


class ShortControls:
    """Those of one session."""

    def __init__(self, context: SessionContext, clock: StatementClock) -> None:
        self._of = {each: SessionShortControl(context, clock, each) for each in Control}

    def of_text(self, text: str) -> SessionShortControl | None:
        """That of a text of the simple protocol; None if it is another one."""
        if len(text) > _LONGEST_TEXT:
            return None
        control = _TEXTS.get(text.strip(" \n;").upper())
        return None if control is None else self._of[control]

    def of(self, prepared: Prepared) -> SessionShortControl | None:
        """That of a statement; None if it is another one."""
        statement = prepared.statement
        match statement.statement if isinstance(statement, ParsedStatement) else None:
            case Begin(None, None, False):
                return self._of[Control.BEGIN]
            case Commit(False):
                return self._of[Control.COMMIT]
            case Rollback(False):
                return self._of[Control.ROLLBACK]
        return None


class SessionShortControl:
    """A `ShortControl`."""

    def __init__(self, context: SessionContext, clock: StatementClock, control: Control) -> None:
        self.is_stale = False
        self.tag = control.value
        self.status = (TransactionStatus.ACTIVE if control is Control.BEGIN else TransactionStatus.IDLE).value
        self._context = context
        self._clock = clock
        self._control = control
        self._changes = -1  # of the settings, when they were looked at last

    def run(self) -> BeginLater | None:
        """See `ShortControl`."""
        began = time.perf_counter()
        context, transaction = self._context, self._context.transaction
        expected = TransactionStatus.IDLE if self._control is Control.BEGIN else TransactionStatus.ACTIVE
        if transaction.status is not expected or transaction.implicit:
            raise TakesLonger
        if context.settings.changes != self._changes:
            self._look_at_settings()
        match self._control:
            case Control.BEGIN:
                if not begins(context):
                    raise TakesLonger
                context.scope.begin(read_only=None)
                context.record.began(self.tag)
            case Control.COMMIT:
                return self._commit(began)
            case Control.ROLLBACK:
                if context.scope.schema.is_there or not context.settings.ends_quietly(committed=False):
                    raise TakesLonger
                context.scope.rollback()
                context.portals.end_transaction(committed=False)
                context.record.ended(self.tag)
        self._clock.ran(_KINDS[self._control], time.perf_counter() - began)
        return None

    def _commit(self, began: float) -> BeginLater | None:
        context, transaction = self._context, self._context.transaction
        if not context.scope.is_plain:
            raise TakesLonger
        if not transaction.kept.count and not transaction.followed:
            self._end(began)
            return None
        self._lock_rows()
        context.record.work(self.tag)

        def begin(done: Callable[[int | None], Callable[[], None]]) -> Callable[[], None]:
            return transaction.begin_commit(lambda is_done: done(0 if is_done else None))

        return begin

    def end(self) -> None:
        """What `run` has begun is done: for who serves the session."""
        self._end(time.perf_counter())

    def _lock_rows(self) -> None:
        """Locks what INSERT has not locked. Raises TakesLonger if somebody has it, or the tables take no such rows."""
        context, transaction = self._context, self._context.transaction
        catalog, writes = context.database.reads.catalog, context.database.writes
        try:
            for table in transaction.kept.tables:
                refuse_stale_form(catalog, table.relation_id, table.version, table.rules)
                if not transaction.take(table.relation_id, LockMode.KEYS):
                    raise TakesLonger
        except SqlError:
            raise TakesLonger from None
        for table_id, key, _ in transaction.kept.keyed():
            if not transaction.take(table_id, LockMode.ALONE, key):
                raise TakesLonger
            coming = writes.group_commit.coming.find(table_id, key)
            if coming is not None and coming[1] not in transaction.followed:
                transaction.followed.append(coming[1])

    def _end(self, began: float) -> None:
        self._context.scope.end_plain()
        self._context.record.ended(self.tag)
        self._clock.ran(_KINDS[self._control], time.perf_counter() - began)

    def _look_at_settings(self) -> None:
        settings = self._context.settings
        if settings.get("log_statement") == "all" or int(settings.get("log_min_duration_statement")) >= 0:
            raise TakesLonger
        if is_on(settings.get("rw_implicit_flush")):
            raise TakesLonger
        self._changes = settings.changes
