"""A session's transaction: the writes that it has not logged yet, and the tables and rows whose locks it holds.

The writes stay here until the commit logs them as one group, so they become visible and durable together. The session's
own reads see them: `batch/own_changes.py` applies them to a table's committed rows. What short statements write is
`kept` in plain Python (`meta/writing/kept_rows`), and becomes a change like all others when anybody else asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import pyarrow as pa

from risingpy.batch import EarlierChanges
from risingpy.errors import FeatureNotSupported, InternalError, IoError, SqlError, UndefinedSavepoint
from risingpy.frontend.constraints.deferral import Deferral
from risingpy.frontend.own_writes.later_commit import committed_later
from risingpy.frontend.own_writes.own_rows import OwnChunks, OwnRows, discard_spills
from risingpy.frontend.own_writes.saved_place import SavedPlace
from risingpy.meta.database import Database
from risingpy.meta.schema.drafts.draft import Draft
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.dml_log import TableChange
from risingpy.meta.writing.kept_rows import KeptRows, chunks_of
from risingpy.meta.writing.pending_rows import PendingRow
from risingpy.meta.writing.row_keys import MOST_KEYS, RowKey
from risingpy.meta.writing.table_locks import HeldLock, HeldRows, LockMode
from risingpy.plan.catalog import Index, Table


class TransactionStatus(Enum):
    """A session's status; the value is the byte in ReadyForQuery."""

    IDLE = b"I"
    ACTIVE = b"T"
    FAILED = b"E"


@dataclass(slots=True)
class Transaction:
    """At most one is open per session. Used by the thread that serves the session only.

    `kept` is newer than all other changes. `followed` are commits of others that were not durable when this one has
    read what they wrote: it cannot be before they are.
    """

    database: Database
    status: TransactionStatus = TransactionStatus.IDLE
    implicit: bool = False  # the statements of one text, or those up to the client's Sync
    reads_by_default: Callable[[], bool] = lambda: False  # what default_transaction_read_only says now
    last_lsn: int = 0
    process_id: int = 0  # the session's name in messages
    written_rows: int = 0  # so far, and how large they are
    written_bytes: int = 0
    deferral: Deferral = field(default_factory=Deferral)
    kept: KeptRows = field(default_factory=KeptRows)
    followed: list[TransactionRows] = field(default_factory=list)
    refused: SqlError | None = None  # why the commit that was under way has failed
    chosen_read_only: bool | None = None  # by BEGIN or SET TRANSACTION
    _changes: list[TableChange] = field(default_factory=list)
    _held: list[HeldLock | HeldRows] = field(default_factory=list)
    _savepoints: list[SavedPlace] = field(default_factory=list)
    _own_rows: OwnRows = field(default_factory=OwnRows)
    _own_chunks: OwnChunks = field(default_factory=OwnChunks)

    @property
    def read_only(self) -> bool:
        """Whether it may not write: always, if the server only reads what another one leads."""
        if self.database.followed is not None:
            return True
        return self.reads_by_default() if self.chosen_read_only is None else self.chosen_read_only

    @property
    def is_open(self) -> bool:
        return self.implicit or self.status is not TransactionStatus.IDLE

    @property
    def has_changes(self) -> bool:
        """Whether this transaction has written anything yet."""
        return bool(self._changes or self.kept.count)

    @property
    def has_chunks(self) -> bool:
        """Whether it has changes that are not `kept`."""
        return bool(self._changes)

    @property
    def holds_locks(self) -> bool:
        """Whether it has locked anything, or has savepoints."""
        return bool(self._held or self._savepoints)

    @property
    def has_savepoints(self) -> bool:
        return bool(self._savepoints)

    def begin(self, *, read_only: bool | None = None) -> None:
        self.status = TransactionStatus.ACTIVE
        self.chosen_read_only = self.reads_by_default() if read_only is None else read_only

    def lock(self, table_id: int, mode: LockMode, cancelled: threading.Event, *, wait: bool = True) -> None:
        """Locks the table until the transaction ends. Raises LockNotAvailable if it would have to wait and must not."""
        locks = self.database.writes.locks
        if not locks.covers(table_id, mode, process_id=self.process_id):
            self._held.append(locks.acquire(table_id, mode, cancelled, process_id=self.process_id, wait=wait))

    def keep(self, relation_id: int, cancelled: threading.Event) -> None:
        """Locks a relation alone until the transaction ends, also if the running statement has locked it for itself."""
        locks = self.database.writes.locks
        self._held.append(locks.acquire(relation_id, LockMode.ALONE, cancelled, process_id=self.process_id))

    def hold(self, table_id: int, cancelled: threading.Event) -> None:
        """Locks the table alone until the transaction ends, and waits until epochs have all rows logged before."""
        self.lock(table_id, LockMode.ALONE, cancelled)
        self.database.reads.wait_for_lsn(self.database.writes.last_lsn, cancelled)

    def hold_rows(self, table_id: int, keys: Sequence[RowKey], cancelled: threading.Event) -> None:
        """Locks rows by their keys until the transaction ends. Their newest forms are then those to change."""
        self._held += self.database.writes.row_locks(table_id, keys, cancelled, process_id=self.process_id)

    def take_rows(self, table_id: int, keys: Sequence[RowKey], cancelled: threading.Event) -> None:
        """As `hold_rows`, but raises LockNotAvailable where it would have to wait."""
        locks = self.database.writes.locks
        self.lock(table_id, LockMode.KEYS, cancelled, wait=False)
        for key in keys:
            if not locks.covers(table_id, LockMode.ALONE, key, process_id=self.process_id):
                held = locks.acquire(
                    table_id, LockMode.ALONE, cancelled, key=key, process_id=self.process_id, wait=False
                )
                self._held.append(held)

    def release_statement_locks(self) -> None:
        """Without an open transaction: releases what a statement has locked and not released by its commit."""
        if not self.is_open and not self.has_changes:
            self._let_go(0)

    def own_rows(self, table: Table, keys: Sequence[RowKey], index: Index | None = None) -> list[PendingRow | None]:
        """What this transaction has written last for each key, if it has. The table `has_row_keys`.

        With an `index`, the keys are those of that unique index, which has a `unique_key`. Raises StalePlan as
        `changes_of` does.
        """
        self.settle()
        return self._own_rows.find_each(self._changes, table, keys, index)

    def has_large_change(self, table_id: int) -> bool:
        """Whether the transaction has written so many rows to a table at once that their keys are not looked at."""
        return table_id in self._own_rows.large

    def own_chunk_row(self, table: Table, key: RowKey, index: Index | None = None) -> PendingRow | None:
        """The same among the changes that are not `kept`, which are older."""
        return self._own_rows.find(self._changes, table, key, index) if self._changes else None

    def settle(self) -> None:
        """Makes what is `kept` changes like all others."""
        if not self.kept.count:
            return
        kept, self.kept = self.kept, KeptRows()
        writes, catalog = self.database.writes, self.database.reads.catalog
        for each in chunks_of([kept], writes.next_row_ids):
            if each.chunk.num_rows:
                writes.sequences.pass_rows(catalog, each.table, each.chunk.columns[1:])
                table = each.table
                self.write(TableChange(table.relation_id, table.version, each.chunk, rules=table.rules))

    def write(self, change: TableChange) -> None:
        """Adds rows, which the commit will log."""
        self.settle()
        self._changes.append(change)
        self._count(change)
        if change.chunk.num_rows > MOST_KEYS:
            self._own_rows.large.add(change.table_id)

    def forget_rows_of(self, table_ids: Collection[int]) -> None:
        """The commit, which comes next, will not log what was written to these tables."""
        self.settle()
        forgotten = [each for each in self._changes if each.table_id in table_ids]
        self._changes = [each for each in self._changes if each.table_id not in table_ids]
        discard_spills(forgotten)

    def has_spilled(self, table_id: int) -> bool:
        """Whether it has written so much to a table at once that the rows are in a file."""
        return any(each.table_id == table_id and each.spill is not None for each in self._changes)

    def renew_rows(self, table_id: int, renewed: Callable[[TableChange], TableChange]) -> None:
        """A table that this transaction has written to, and has not spilled for, gets another form: so do its rows."""
        self.settle()
        if not any(each.table_id == table_id for each in self._changes):
            return
        before = tuple(self._changes)
        self._savepoints = [
            replace(each, earlier=before[: each.changes]) if each.earlier is None else each for each in self._savepoints
        ]
        self._changes = [renewed(each) if each.table_id == table_id else each for each in before]
        self._look_again()

    def set_savepoint(self, name: str, restore: Callable[[], None]) -> None:
        """SAVEPOINT. `restore` is called when the transaction goes back to it."""
        self.settle()
        self._savepoints.append(SavedPlace(name, len(self._changes), len(self._held), restore, self.deferral.copy()))

    def release_savepoint(self, name: str) -> None:
        """Forgets the newest savepoint of that name, and those after it. UndefinedSavepoint if there is none."""
        del self._savepoints[self._find_savepoint(name) :]

    def go_back_to(self, name: str) -> None:
        """Forgets the writes since the newest savepoint of that name, which stays; clears the failure.

        Raises UndefinedSavepoint if there is none.
        """
        place = self._find_savepoint(name)
        del self._savepoints[place + 1 :]
        self._forget_since(self._savepoints[place])
        self._savepoints[place].restore()
        self.deferral = self._savepoints[place].deferral.copy()
        self.status = TransactionStatus.ACTIVE

    def write_with(self, draft: Draft, cancelled: threading.Event) -> None:
        """Makes all writes durable in one step with the transaction's changes of the schema. On an error, nothing."""
        self.settle()
        changes, self._changes = self._changes, []
        kept = draft.kept(changes)
        discard_spills([each for each in changes if each.table_id not in {one.table_id for one in kept}])
        writes, catalog = self.database.writes, draft.state.catalog
        try:
            if self.database.is_shared and any(each.spill is not None for each in kept):
                message = "a COPY of more than 64 MiB in a transaction that changes the schema is not supported"
                raise FeatureNotSupported(f"{message} with --state", hint="COMMIT the changes of the schema first.")
            writes.write_with(
                lambda rows: draft.commit(rows, cancelled), catalog, kept, cancelled, process_id=self.process_id
            )
        except IoError:
            raise  # as in `commit`
        except BaseException:
            discard_spills(kept)
            raise
        if kept:
            self.last_lsn = writes.last_lsn

    def commit(self, cancelled: threading.Event | None, committed: Callable[[], None]) -> None:
        """Logs all writes, durably, as one group; on an error, nothing. Calls `committed` before it releases locks."""
        refused, self.refused = self.refused, None
        if refused is not None:
            raise refused
        self.settle()
        changes, self._changes = self._changes, []
        try:
            if changes:
                self.last_lsn = self.database.writes.write(changes, cancelled, process_id=self.process_id)
            committed()
        except IoError:
            raise  # the group may be in the log nevertheless, and then needs its spills
        except BaseException:
            discard_spills(changes)
            raise
        finally:
            self._end()

    def rollback(self) -> None:
        discard_spills(self._changes)
        self._changes = []
        self.refused = None
        self._end()

    def wait_for_followed(self, cancelled: threading.Event | None = None) -> None:
        """Returns when all is durable that this transaction has read. Raises SerializationFailure if that has failed.

        To be called before anything but short statements: what they read is not in the log yet.
        """
        if self.followed:
            followed, self.followed = self.followed, []
            self.database.writes.group_commit.coming.wait_for(followed, cancelled)

    def take(self, table_id: int, mode: LockMode, key: RowKey | None = None, *, follows: bool = True) -> bool:
        """Locks a table, or a row, until the transaction ends, if that needs no waiting. See `LockRequest`."""
        locks = self.database.writes.locks
        if locks.covers(table_id, mode, key, process_id=self.process_id):
            return True
        held = locks.take(table_id, mode, key, process_id=self.process_id, follows=follows)
        if held is not None:
            self._held.append(held)
        return held is not None

    def adopt(self, held: HeldLock) -> None:
        """A lock that the transaction has waited for is its own until it ends."""
        self._held.append(held)

    def begin_commit(self, done: Callable[[bool], Callable[[], None]]) -> Callable[[], None]:
        """Has what is `kept` logged, in the transaction's turn; what this returns begins it. All locks are there.

        `done` is called when that is over, in another thread; if it has failed, `commit` raises why. Who follows may
        have the rows from now on.
        """

        def ended(error: SqlError | None, lsn: int) -> Callable[[], None]:
            self.refused, self.last_lsn = error, max(self.last_lsn, lsn)
            return done(error is None)

        self.refused = InternalError("internal error: the commit has not come to its end")
        kept, followed, self.kept, self.followed = self.kept, self.followed, KeptRows(), []
        return committed_later(self.database.writes, kept, followed, self._held, ended)

    def end_committed(self) -> None:
        """The commit that was begun is done, or there was nothing to log."""
        self._end()

    def fail(self) -> None:
        """Forgets the writes since the last savepoint, and releases the tables locked since.

        An explicit transaction stays failed until its end, or until it goes back to a savepoint.
        """
        explicit, chosen = self.status is not TransactionStatus.IDLE, self.chosen_read_only
        if self._savepoints:
            self._forget_since(self._savepoints[-1])
        else:
            self.rollback()
        if explicit:
            self.status, self.chosen_read_only = TransactionStatus.FAILED, chosen

    @property
    def changed_tables(self) -> frozenset[int]:
        """The tables that this transaction has written to."""
        self.settle()
        return self.chunk_tables

    @property
    def chunk_tables(self) -> frozenset[int]:
        """The same of its changes that are not `kept`."""
        self._own_chunks.look_at(self._changes)
        return frozenset(self._own_chunks.newest)

    def changes_of(self, table: Table) -> list[pa.Table]:
        """The chunks that this transaction wrote to a table so far.

        Raises StalePlan if they have the table's form before an ALTER: the commit will refuse them.
        """
        self.settle()
        self._own_chunks.look_at(self._changes)
        return self._own_chunks.of(table)

    def so_far(self) -> tuple[EarlierChanges, int]:
        """What it has written so far, whatever it writes later, and in how many changes."""
        self.settle()
        self._own_chunks.look_at(self._changes)
        chunks = {table_id: list(each) for table_id, each in self._own_chunks.tables.items()}
        return EarlierChanges(chunks), len(self._changes)

    def changes_since(self, count: int, table_id: int) -> list[pa.Table]:
        """The chunks that it has written to a table after its first `count` changes."""
        self.settle()
        return [each.chunk for each in self._changes[count:] if each.table_id == table_id]

    def _count(self, change: TableChange) -> None:
        self.written_rows += change.chunk.num_rows
        self.written_bytes += change.chunk.nbytes

    def _end(self) -> None:
        self.written_rows = self.written_bytes = 0
        self.status = TransactionStatus.IDLE
        self.implicit = False
        self.chosen_read_only = None
        self.deferral = Deferral()
        self._savepoints = []
        self.kept, self.followed = KeptRows(), []
        self._own_rows = OwnRows()
        self._own_chunks = OwnChunks()
        self._let_go(0)

    def _find_savepoint(self, name: str) -> int:
        for place in reversed(range(len(self._savepoints))):
            if self._savepoints[place].name == name:
                return place
        raise UndefinedSavepoint(f'savepoint "{name}" does not exist')

    def _forget_since(self, savepoint: SavedPlace) -> None:
        self.kept = KeptRows()
        forgotten = self._changes[savepoint.changes :]
        del self._changes[savepoint.changes :]
        if savepoint.earlier is not None:
            self._changes = list(savepoint.earlier)
        self._look_again()
        discard_spills(forgotten)
        self._let_go(savepoint.held)

    def _look_again(self) -> None:
        """Other changes than before are there: forgets what was computed of them."""
        self._own_rows = OwnRows(large={c.table_id for c in self._changes if c.chunk.num_rows > MOST_KEYS})
        self._own_chunks = OwnChunks()
        self.written_rows = self.written_bytes = 0
        for change in self._changes:
            self._count(change)

    def _let_go(self, kept: int) -> None:
        """Releases all but the first `kept` tables. No pending write depends on reads of the others."""
        released = self._held[kept:]
        del self._held[kept:]
        if released:
            self.database.writes.locks.release_all(released)
