"""Transactions that have committed and are on their way to the disk, and the rows that they bring.

Who has one of these rows may follow its transaction: it reads the row here, and becomes durable after it or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.errors import SerializationFailure, SqlError
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.writing.dml_log import refuse_stale_form
from risingpy.meta.writing.kept_rows import KeptRow, KeptRows
from risingpy.meta.writing.row_keys import RowKey
from risingpy.plan.catalog import Catalog

_LOOK_SECONDS = 0.1  # how often one that waits looks whether it is cancelled

Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Written:
    """A write is durable: up to which position of the log it is, and how many rows it has found or added.

    The position is 0 if it had nothing to write.
    """

    lsn: int
    rows: int


Done = Callable[[Written | None], Wake]
"""Called once, whatever happens. What it returns is called when all writes of the group are done."""


@dataclass(slots=True, eq=False)
class TransactionRows:
    """What a transaction that commits has written, under locks that it has. It has `followed` others: see `ComingRows`.

    When it `is_over` without an `error`, it is durable.
    """

    rows: KeptRows
    followed: Sequence[TransactionRows]
    done: Done
    is_over: bool = False
    error: SqlError | None = None

    def is_founded(self, catalog: Catalog) -> bool:
        """Whether what it has read is durable, or before it in the group, and its tables take rows. Else it is refused.

        To be asked of the transactions of a group in their order.
        """
        try:
            if any(each.error is not None for each in self.followed):
                raise _unfounded()
            for table in self.rows.tables:
                refuse_stale_form(catalog, table.relation_id, table.version, table.rules)
        except SqlError as error:
            self.error = error
        return self.error is None


class ComingRows:
    """For all threads."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, RowKey], tuple[KeptRow, TransactionRows]] = {}
        self._over = threading.Condition()  # some transaction is
        self._calls: list[tuple[Sequence[TransactionRows], Callable[[], None]]] = []  # see `when_over`

    def add(self, transaction: TransactionRows) -> None:
        """The transaction has its place among the groups, and its rows' locks."""
        with self._over:
            for table_id, key, row in transaction.rows.keyed():
                self._rows[table_id, key] = row, transaction

    def find(self, table_id: int, key: RowKey) -> tuple[KeptRow, TransactionRows] | None:
        """What a key's row is in the last transaction that has it and is not durable yet; None: what the log has.

        To be asked before the log: a row is here until the log has it. Who reads it has its lock, follows the
        transaction, and commits through the same groups, or after `wait_for`.
        """
        return self._rows.get((table_id, key))

    def end(self, transactions: Sequence[TransactionRows], error: SqlError | None) -> None:
        """They are over: what they wrote is in the log, or, with an `error` of theirs or of all, has never been."""
        if not transactions:
            return
        with self._over:
            for each in transactions:
                each.is_over = True
                each.error = each.error or error
                for table_id, key, row in each.rows.keyed():
                    known = self._rows.get((table_id, key))
                    if known is not None and known[0] is row:
                        del self._rows[table_id, key]
            self._over.notify_all()
            calls, self._calls = self._calls, []
            due = []
            for awaited, call in calls:
                if all(each.is_over for each in awaited):
                    due.append(call)
                else:
                    self._calls.append((awaited, call))
        for call in due:
            call()

    def when_over(self, transactions: Sequence[TransactionRows], call: Callable[[], None]) -> None:
        """Has it called when these are over, in any thread, perhaps before this returns. It must not block."""
        with self._over:
            is_over = all(each.is_over for each in transactions)
            if not is_over:
                self._calls.append((transactions, call))
        if is_over:
            call()

    def wait_for(self, followed: Sequence[TransactionRows], cancelled: Cancelled = None) -> None:
        """Returns when these are durable. Raises SerializationFailure if one has failed, and QueryCanceled."""
        with self._over:
            while not all(each.is_over for each in followed):
                self._over.wait(_LOOK_SECONDS)
                check_of(cancelled)()
        if any(each.error is not None for each in followed):
            raise _unfounded()


def _unfounded() -> SerializationFailure:
    return SerializationFailure(
        "could not serialize access: a transaction whose rows this one has read could not be committed",
        hint="Run the transaction again.",
    )
