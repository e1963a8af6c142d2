"""Begins and ends a session's transaction: writes, the schema, SET LOCAL, portals, temporary relations, NOTIFY."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from risingpy.errors import SqlError
from risingpy.frontend.drafted_schema import DraftedSchema
from risingpy.frontend.portals import Portals
from risingpy.frontend.session_notifications import SessionNotifications
from risingpy.frontend.session_temporaries import SessionTemporaries
from risingpy.frontend.settings import Settings, is_on
from risingpy.frontend.transaction import Transaction, TransactionStatus
from risingpy.meta.database import Database


class TransactionScope:
    """A session's transactions, one after the other. For the session's own thread."""

    def __init__(
        self,
        database: Database,
        transaction: Transaction,
        settings: Settings,
        portals: Portals,
        cancelled: threading.Event,
        look_at_deferred: Callable[[], None],
        temporaries: SessionTemporaries,
        schema: DraftedSchema,
        notifications: SessionNotifications,
    ) -> None:
        self._database = database
        self._transaction = transaction
        self._settings = settings
        settings.reads_only = lambda: transaction.read_only
        self._portals = portals
        self._cancelled = cancelled
        self._look_at_deferred = look_at_deferred
        self._temporaries = temporaries
        self.schema = schema
        self._notifications = notifications
        self._began: datetime | None = None
        self._ran_query = False

    def begin(self, *, read_only: bool | None) -> None:
        """BEGIN."""
        self._began, self._ran_query = datetime.now(UTC), False
        self._transaction.begin(read_only=read_only)
        self._settings.begin()

    @property
    def began(self) -> datetime | None:
        """When the transaction that is open began, which is what now() gives in it; None if none is."""
        return self._began if self._transaction.is_open else None

    def now(self) -> datetime:
        """What now() gives."""
        return self.began or datetime.now(UTC)

    @property
    def is_untouched(self) -> bool:
        """Whether a transaction block is open in which nothing has been written, locked or marked so far."""
        transaction = self._transaction
        is_open = transaction.status is TransactionStatus.ACTIVE
        return is_open and not (transaction.has_changes or transaction.holds_locks or self.schema.is_there)

    @property
    def has_run_query(self) -> bool:
        """Whether the transaction that is open has run a statement that reads or writes."""
        return self._ran_query or self._transaction.has_changes

    def note_query(self) -> None:
        """A statement has read something without `begin_statement`."""
        self._ran_query = True

    def refuse_block(self, command: str) -> None:
        """Raises 25001 for a command that cannot be undone, in BEGIN or among other statements of one text."""
        if self._transaction.is_open:
            raise SqlError(f"{command} cannot run inside a transaction block", sqlstate="25001")

    def begin_implicit(self) -> None:
        """Several statements come in one text or before one Sync: one transaction, if none is open."""
        if self._transaction.status is TransactionStatus.IDLE:
            if not self._transaction.implicit:
                self._began = datetime.now(UTC)
            self._transaction.implicit = True
            self._settings.begin()

    def commit(self) -> None:
        """Makes the writes durable, and ends the transaction if there is one.

        With rw_implicit_flush it returns when every view has them. If a constraint that was put off refuses a row,
        all is undone.
        """
        if self._transaction.deferral.put_off:
            try:
                self._look_at_deferred()
            except BaseException:
                self.rollback()
                raise
        try:
            self._temporaries.before_commit()
        except BaseException:
            self.rollback()
            raise
        wrote = self._transaction.has_changes
        flushes = is_on(self._settings.get("rw_implicit_flush"))
        try:
            self.schema.commit()
            self._transaction.commit(self._cancelled, self._notifications.commit)
        except BaseException:
            self.rollback()
            raise
        self._settings.end(committed=True)
        self._temporaries.end_transaction(committed=True)
        if wrote and flushes:
            self._database.reads.flush(self._cancelled)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to do at the commit but to log what short statements have written."""
        transaction = self._transaction
        if transaction.implicit or transaction.has_chunks or transaction.deferral.put_off or self.schema.is_there:
            return False
        if self._notifications.waits_for_commit:
            return False
        return self._temporaries.are_none and self._settings.ends_quietly(committed=True)

    def end_plain(self) -> None:
        """The commit of a plain transaction is done."""
        self._transaction.end_committed()
        self._settings.end(committed=True)
        self._portals.end_transaction(committed=True)

    def begin_statement(
        self, database: Database, *, commits_so_far: bool, changes_schema: bool, is_query: bool = True
    ) -> None:
        """A statement comes that commits what stands before it in its text, or that changes the schema in a block.

        `is_query`: it reads or writes, and is not about the session alone.
        Raises SerializationFailure if the transaction has read what another could not commit.
        """
        self._transaction.wait_for_followed(self._cancelled)
        self._ran_query |= is_query and self._transaction.is_open
        if commits_so_far:
            self.commit_so_far()
        if changes_schema and self._transaction.status is TransactionStatus.ACTIVE:
            self.schema.begin(database)

    def commit_so_far(self) -> None:
        """Commits the writes of earlier statements of the same text; the following ones are a new transaction."""
        if self._transaction.implicit and self._transaction.status is TransactionStatus.IDLE:
            self.commit()
            self.begin_implicit()

    def rollback(self) -> None:
        """Undoes writes, changes of the schema, and settings, and ends the transaction."""
        self.schema.forget()
        self._notifications.forget()
        self._transaction.rollback()
        self._settings.end(committed=False)
        self._temporaries.end_transaction(committed=False)

    def set_savepoint(self, name: str) -> None:
        """SAVEPOINT: writes, settings and portals from here on can be undone."""
        settings_before, portals = self._settings.mark(), frozenset(self._portals.named())
        without_made, schema_before = self._temporaries.mark(), self.schema.mark()
        read_only = self._transaction.chosen_read_only
        unsaid = self._notifications.mark()

        def restore() -> None:
            schema_before()
            settings_before()
            without_made()
            unsaid()
            self._portals.close_but(portals)
            self._transaction.chosen_read_only = read_only

        self._transaction.set_savepoint(name, restore)

    def end_series(self) -> None:
        """The client's Sync: an implicit transaction is committed, and portals end outside of a transaction block."""
        if self._transaction.status is TransactionStatus.IDLE:
            if self._transaction.implicit or self._notifications.waits_for_commit:
                self.commit()
            self._transaction.release_statement_locks()
            self._temporaries.end_transaction(committed=True)
            self._portals.end_transaction(committed=True)

    def fail(self) -> None:
        """A statement failed: an explicit transaction stays, failed; an implicit one is rolled back."""
        self._transaction.fail()
        if not self._transaction.has_savepoints:
            self.schema.forget()
            self._notifications.forget()
        if not self._transaction.is_open:
            self._settings.end(committed=False)
            self._temporaries.end_transaction(committed=False)
            self._portals.end_transaction(committed=False)
