"""A session's transaction: the writes that it has not logged yet, and the tables and rows whose locks it holds.

The writes stay here until the commit logs them as one group, so they become visible and durable together. The session's
own reads see them: `batch/own_changes.py` applies them to a table's committed rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa

from risingpy.errors import IoError, StalePlan, UndefinedSavepoint
from risingpy.frontend.constraints.deferral import Deferral
from risingpy.meta.database import Database
from risingpy.meta.writing.dml_log import TableChange
from risingpy.meta.writing.pending_rows import KeyedChunk, NewestRows, PendingRow
from risingpy.meta.writing.row_keys import MOST_KEYS, RowKey, keys_at, unique_places
from risingpy.meta.writing.table_locks import HeldLock, HeldRows, LockMode
from risingpy.plan.catalog import Index, Table

_MOST_CHUNKS = 32  # of a table, before they become one


class TransactionStatus(Enum):
    """A session's status; the value is the byte in ReadyForQuery."""

    IDLE = b"I"
    ACTIVE = b"T"
    FAILED = b"E"


@dataclass(frozen=True, slots=True)
class _Savepoint:
    """How much was written, and how many tables were held; `restore` undoes the session's other changes."""

    name: str
    changes: int
    held: int
    restore: Callable[[], None]


@dataclass(slots=True)
class _OwnRows:
    """The newest rows among a transaction's changes, by key; each change is looked at once, when somebody asks."""

    rows: NewestRows = field(default_factory=NewestRows)
    large: set[int] = field(default_factory=set)  # the tables with a change of so many rows that nobody should ask
    seen: dict[int, int] = field(default_factory=dict)  # by table: how many of the changes the rows have

    def find(
        self, changes: Sequence[TableChange], table: Table, key: RowKey, index: Index | None = None
    ) -> PendingRow | None:
        """The last row of a primary key, or of a key of a unique index."""
        kept, places = table.relation_id, table.primary_key
        if index is not None:
            kept, places = index.relation_id, unique_places(table, index) or ()
        for place in range(self.seen.get(kept, 0), len(changes)):
            change = changes[place]
            if change.table_id == table.relation_id:
                _check_version(change, table)
                keys = keys_at(table, places, [change.chunk.column(1 + each) for each in places])
                self.rows.add(KeyedChunk(kept, change.version, change.chunk, keys))
        self.seen[kept] = len(changes)
        return self.rows.find(kept, key)


@dataclass(slots=True)
class _OwnChunks:
    """A transaction's chunks by table; each change is looked at once, when somebody asks.

    Many small chunks become one from time to time: each statement of a long transaction reads all of them.
    """

    seen: int = 0  # how many of the changes were looked at
    tables: dict[int, list[pa.Table]] = field(default_factory=dict)
    newest: dict[int, TableChange] = field(default_factory=dict)

    def look_at(self, changes: Sequence[TableChange]) -> None:
        for place in range(self.seen, len(changes)):
            change = changes[place]
            if change.table_id in self.newest and change.version != self.newest[change.table_id].version:
                continue  # `newest` is of the table's form before an ALTER, for which `of` raises
            self.newest[change.table_id] = change
            chunks = self.tables.setdefault(change.table_id, [])
            chunks.append(change.chunk)
            if len(chunks) > _MOST_CHUNKS:
                chunks[:] = [pa.concat_tables(chunks).combine_chunks()]
        self.seen = len(changes)

    def of(self, table: Table) -> list[pa.Table]:
        """The chunks of a table. Raises StalePlan if the table has another form now."""
        if table.relation_id not in self.newest:
            return []
        _check_version(self.newest[table.relation_id], table)
        return list(self.tables[table.relation_id])


@dataclass(slots=True)
class Transaction:
    """At most one is open per session. Used by the session's thread only."""

    database: Database
    status: TransactionStatus = TransactionStatus.IDLE
    implicit: bool = False  # the statements of one text, or those up to the client's Sync
    read_only: bool = False
    last_lsn: int = 0
    process_id: int = 0  # the session's name in messages
    written_rows: int = 0  # so far, and how large they are
    written_bytes: int = 0
    deferral: Deferral = field(default_factory=Deferral)
    _changes: list[TableChange] = field(default_factory=list)
    _held: list[HeldLock | HeldRows] = field(default_factory=list)
    _savepoints: list[_Savepoint] = field(default_factory=list)
    _own_rows: _OwnRows = field(default_factory=lambda: _OwnRows())
    _own_chunks: _OwnChunks = field(default_factory=lambda: _OwnChunks())

    @property
    def is_open(self) -> bool:
        return self.implicit or self.status is not TransactionStatus.IDLE

    @property
    def has_changes(self) -> bool:
        """Whether this transaction has written anything yet."""
        return bool(self._changes)

    def begin(self, *, read_only: bool = False) -> None:
        self.status = TransactionStatus.ACTIVE
        self.read_only = read_only

    def lock(self, table_id: int, mode: LockMode, cancelled: threading.Event, *, wait: bool = True) -> None:
        """Locks the table until the transaction ends. Raises LockNotAvailable if it would have to wait and must not."""
        locks = self.database.writes.locks
        if not locks.covers(table_id, mode):
            self._held.append(locks.acquire(table_id, mode, cancelled, process_id=self.process_id, wait=wait))

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
            if not locks.covers(table_id, LockMode.ALONE, key):
                held = locks.acquire(
                    table_id, LockMode.ALONE, cancelled, key=key, process_id=self.process_id, wait=False
                )
                self._held.append(held)

    def release_statement_locks(self) -> None:
        """Without an open transaction: releases what a statement has locked and not released by its commit."""
        if not self.is_open and not self._changes:
            self._let_go(0)

    def own_row(self, table: Table, key: RowKey, index: Index | None = None) -> PendingRow | None:
        """What this transaction has written last for a key, if it has. The table `has_row_keys`.

        With an `index`, the key is one of that unique index, which has `unique_places`. Raises StalePlan as
        `changes_of` does.
        """
        return self._own_rows.find(self._changes, table, key, index)

    def has_large_change(self, table_id: int) -> bool:
        """Whether the transaction has written so many rows to a table at once that their keys are not looked at."""
        return table_id in self._own_rows.large

    def write(self, change: TableChange) -> None:
        """Adds rows, which the commit will log."""
        self._changes.append(change)
        self._count(change, 1)
        if change.chunk.num_rows > MOST_KEYS:
            self._own_rows.large.add(change.table_id)

    def forget_rows_of(self, table_ids: Collection[int]) -> None:
        """The commit, which comes next, will not log what was written to these tables."""
        forgotten = [each for each in self._changes if each.table_id in table_ids]
        self._changes = [each for each in self._changes if each.table_id not in table_ids]
        _discard_spills(forgotten)

    def set_savepoint(self, name: str, restore: Callable[[], None]) -> None:
        """SAVEPOINT. `restore` is called when the transaction goes back to it."""
        self._savepoints.append(_Savepoint(name, len(self._changes), len(self._held), restore))

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
        self.status = TransactionStatus.ACTIVE

    def commit(self, cancelled: threading.Event | None = None) -> None:
        """Logs all writes, durably, as one group. On an error nothing is logged."""
        changes, self._changes = self._changes, []
        try:
            if changes:
                self.last_lsn = self.database.writes.write(changes, cancelled, process_id=self.process_id)
        except IoError:
            raise  # the group may be in the log nevertheless, and then needs its spills
        except BaseException:
            _discard_spills(changes)
            raise
        finally:
            self._end()

    def rollback(self) -> None:
        _discard_spills(self._changes)
        self._changes = []
        self._end()

    def fail(self) -> None:
        """Forgets the writes since the last savepoint, and releases the tables locked since.

        An explicit transaction stays failed until its end, or until it goes back to a savepoint.
        """
        explicit = self.status is not TransactionStatus.IDLE
        if self._savepoints:
            self._forget_since(self._savepoints[-1])
        else:
            self.rollback()
        if explicit:
            self.status = TransactionStatus.FAILED

    @property
    def changed_tables(self) -> frozenset[int]:
        """The tables that this transaction has written to."""
        self._own_chunks.look_at(self._changes)
        return frozenset(self._own_chunks.newest)

    def changes_of(self, table: Table) -> list[pa.Table]:
        """The chunks that this transaction wrote to a table so far.

        Raises StalePlan if they have the table's form before an ALTER: the commit will refuse them.
        """
        self._own_chunks.look_at(self._changes)
        return self._own_chunks.of(table)

    def _count(self, change: TableChange, sign: int) -> None:
        self.written_rows += sign * change.chunk.num_rows
        self.written_bytes += sign * change.chunk.nbytes

    def _end(self) -> None:
        self.written_rows = self.written_bytes = 0
        self.status = TransactionStatus.IDLE
        self.implicit = False
        self.read_only = False
        self.deferral = Deferral()
        self._savepoints = []
        self._own_rows = _OwnRows()
        self._own_chunks = _OwnChunks()
        self._let_go(0)

    def _find_savepoint(self, name: str) -> int:
        for place in reversed(range(len(self._savepoints))):
            if self._savepoints[place].name == name:
                return place
        raise UndefinedSavepoint(f'savepoint "{name}" does not exist')

    def _forget_since(self, savepoint: _Savepoint) -> None:
        forgotten = self._changes[savepoint.changes :]
        del self._changes[savepoint.changes :]
        self._own_rows = _OwnRows(large={c.table_id for c in self._changes if c.chunk.num_rows > MOST_KEYS})
        self._own_chunks = _OwnChunks()
        for change in forgotten:
            self._count(change, -1)
        _discard_spills(forgotten)
        self._let_go(savepoint.held)

    def _let_go(self, kept: int) -> None:
        """Releases all but the first `kept` tables. No pending write depends on reads of the others."""
        released = self._held[kept:]
        del self._held[kept:]
        for held in released:
            held.release()


def _check_version(change: TableChange, table: Table) -> None:
    """Raises StalePlan if the change has the table's form before an ALTER: the commit would refuse it."""
    if change.version != table.version:
        raise StalePlan(
            f'table "{table.name}" was altered after this transaction had written to it',
            hint="Run the transaction again.",
        )


def _discard_spills(changes: list[TableChange]) -> None:
    for change in changes:
        if change.spill is not None:
            change.spill.discard()
