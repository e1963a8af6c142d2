"""Waits without a thread, for a lock, commits, an epoch or a search: the event loop goes on with the statement then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from risingpy.errors import SqlError
from risingpy.frontend.results import Awaits, TakesLonger
from risingpy.frontend.transaction import Transaction
from risingpy.meta.cancellation import WaitEvent
from risingpy.meta.epochs.waiters import LsnCall
from risingpy.meta.vector_indexes.searches import Found, Search
from risingpy.meta.writing.row_keys import RowKey
from risingpy.meta.writing.table_locks import LockMode, LockRequest

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_Done = Callable[[int | None], Callable[[], None]]


class LockWait:
    """A transaction's wait for a table, or for a row. A cancelled statement takes the long way, which has the error."""

    def __init__(self, context: SessionContext, table_id: int, mode: LockMode, key: RowKey | None) -> None:
        self._context = context
        self._wanted = table_id, mode, key
        self._request: LockRequest | None = None
        self._done: _Done = _unbegun

    def awaited(self) -> Awaits:
        """The exception that has others begin and end it."""
        return Awaits(self.begin, self.end)

    def begin(self, done: _Done) -> Callable[[], None]:
        """See `Awaits`. Raises TakesLonger if it would wait for ever."""
        context, self._done = self._context, done
        locks, process_id = context.database.writes.locks, context.transaction.process_id
        context.cancelled.waits_for = WaitEvent.TABLE_LOCK
        context.cancelled.call_when_set(self._cancel)
        try:
            self._request = locks.ask(*self._wanted, self._given, process_id=process_id, follows=True)
        except SqlError:
            self._forget()
            raise TakesLonger from None
        if context.cancelled.is_set():  # before the request was there to be withdrawn
            self._cancel()
        return _nothing

    def end(self) -> None:
        """The lock is there: it is the transaction's from now on."""
        assert self._request is not None
        self._forget()
        self._context.transaction.adopt(self._context.database.writes.locks.held_by(self._request))

    def _given(self) -> None:
        self._done(0)()

    def _cancel(self) -> None:
        """From any thread, and perhaps more than once."""
        request = self._request
        if request is not None and self._context.database.writes.locks.withdraw(request):
            self._forget()
            self._done(None)()

    def _forget(self) -> None:
        self._context.cancelled.forget_call(self._cancel)
        self._context.cancelled.waits_for = None


class EpochWait:
    """A strict read's wait for the epoch that has the log up to `lsn`. If none comes, the long way has the error."""

    def __init__(self, context: SessionContext, text: str, lsn: int) -> None:
        self._context = context
        self._text = text
        self.lsn = lsn
        self.began = time.perf_counter()
        self._call = LsnCall(lsn, self._over)
        self.is_over = False
        self._done: _Done = _unbegun

    def awaited(self) -> Awaits:
        """The exception that has others begin and end it."""
        return Awaits(self._begin, self._end)

    def _begin(self, done: _Done) -> Callable[[], None]:
        context, self._done = self._context, done
        context.record.work(self._text)
        context.cancelled.waits_for = WaitEvent.EPOCH
        context.cancelled.call_when_set(self._cancel)
        context.database.reads.call_at(self._call)
        if context.cancelled.is_set():  # before there was anything to be withdrawn
            self._cancel()
        return _nothing

    def _end(self) -> None:
        self._forget()
        self.is_over = True

    def _over(self, is_readable: bool) -> Callable[[], None]:
        """From any thread."""
        if not is_readable:
            self._forget()
        return self._done(0 if is_readable else None)

    def _cancel(self) -> None:
        """From any thread, and perhaps more than once."""
        if self._context.database.reads.withdraw(self._call):
            self._over(False)()

    def _forget(self) -> None:
        self._context.cancelled.forget_call(self._cancel)
        self._context.cancelled.waits_for = None


class SearchWait:
    """A statement's wait for the rows nearest to a vector, `found` when it is over. `tries` came before it."""

    def __init__(self, context: SessionContext, asked: tuple[int, bytes, int, int], began: float, tries: int) -> None:
        self._context = context
        self.asked = asked
        self.began = began
        self.tries = tries
        self.found: Found | None = None

    def awaited(self) -> Awaits:
        """The exception that has others begin and end it."""
        return Awaits(self._begin, _nothing)

    def _begin(self, done: _Done) -> Callable[[], None]:
        def given(found: Found | None) -> Callable[[], None]:
            self.found = found
            return done(None if found is None else 0)

        wake = self._context.database.vector_indexes.ask(Search(*self.asked, given))
        if wake is None:
            raise TakesLonger
        return wake


def locked(context: SessionContext, table_id: int, mode: LockMode, key: RowKey | None = None) -> None:
    """Locks a table, or a row, until the transaction ends. Raises Awaits if it must wait: then it is begun again."""
    if not context.transaction.take(table_id, mode, key):
        raise LockWait(context, table_id, mode, key).awaited()


def look_at_followed(transaction: Transaction) -> None:
    """Before a short statement reads what may have been written by those whom the transaction has followed.

    So a transaction that has seen a part of another one sees all of it. Raises Awaits while they are not durable, and
    TakesLonger if one of them has failed.
    """
    followed, coming = transaction.followed, transaction.database.writes.group_commit.coming
    if not all(each.is_over for each in followed):

        def begin(done: _Done) -> Callable[[], None]:
            coming.when_over(followed, lambda: done(0)())
            return _nothing

        raise Awaits(begin, _nothing)
    if any(each.error is not None for each in followed):
        raise TakesLonger
    transaction.followed = []


def _nothing() -> None:
    """Nothing is left to do."""


def _unbegun(rows: int | None) -> Callable[[], None]:
    raise AssertionError("the wait has not begun")
