"""Writes rows to the log, under the locks of their tables, and with row ids that are used only once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.durable_state import RowIds
from risingpy.meta.epochs.graph_changes import LoggedRows
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog, TableChange, refuse_stale, unique_keys_of
from risingpy.meta.writing.group_commit import GroupCommit
from risingpy.meta.writing.pending_rows import PendingRow
from risingpy.meta.writing.row_keys import MOST_KEYS, RowKey, has_row_keys, in_order, keys_of
from risingpy.meta.writing.sequence_counters import SequenceCounters
from risingpy.meta.writing.table_locks import HeldLock, HeldRows, LockMode, TableLocks
from risingpy.plan.catalog import Catalog, Table
from risingpy.storage.log.spill import Spill

_LockedKeys = Sequence[RowKey] | None
"""The keys of a change's rows, which are locked one by one; None: the table's lock has to do."""


class Writes:
    """Any thread may call these. Methods that block take a `cancelled` event and raise QueryCanceled.

    `sequences` knows where sequences stand. `group_commit` is for small writes of many sessions. `until_lsn` waits
    until a published epoch has the log so far.
    """

    def __init__(
        self,
        published: PublishedState,
        log: DmlLog,
        *,
        locks: TableLocks,
        row_ids: RowIds,
        sequences: SequenceCounters,
        until_lsn: Callable[[int, Cancelled], None],
    ) -> None:
        self.locks = locks
        self.sequences = sequences
        self._published = published
        self._log = log
        self._row_ids = row_ids
        self._until_lsn = until_lsn
        self._row_id_guard = threading.Lock()
        self.group_commit = GroupCommit(published, log, locks, self.next_row_ids, sequences)

    @property
    def last_lsn(self) -> int:
        """The position of the last logged change."""
        return self._log.last_lsn

    def table_lock(
        self, table_id: int, cancelled: Cancelled = None, *, process_id: int = 0
    ) -> AbstractContextManager[None]:
        """Holds a table alone, for statements that read before they write. Reentrant in a thread."""
        return self.locks.held((table_id,), LockMode.ALONE, cancelled, process_id=process_id)

    def row_locks(
        self, table_id: int, keys: Sequence[RowKey], cancelled: Cancelled = None, *, process_id: int = 0
    ) -> tuple[HeldLock, HeldRows]:
        """Locks rows by their keys, whether they exist or not; no key comes twice. The caller releases both."""
        table = self.locks.acquire(table_id, LockMode.KEYS, cancelled, process_id=process_id)
        try:
            rows = self.locks.acquire_rows(table_id, in_order(keys), cancelled, process_id=process_id)
        except BaseException:
            table.release()
            raise
        return table, rows

    def pending_rows(
        self, table_id: int, keys: Sequence[RowKey], cancelled: Cancelled = None, *, of: int | None = None
    ) -> list[PendingRow | None]:
        """What the log has last for each key; None: what the committed state has. The caller holds the rows' locks.

        Waits for the rows of large statements, which are found in the committed state only. If the keys are those of a
        unique index, called `table_id`, then `of` is its table.
        """
        found = self._log.pending_of_each(table_id, keys, of)
        awaited = max((each for each in found if isinstance(each, int)), default=0)
        if awaited:
            self._until_lsn(awaited, cancelled)
        return [None if isinstance(each, int) else each for each in found]

    def next_row_ids(self, count: int) -> int:
        """The first of `count` consecutive fresh values for `_row_id`."""
        with self._row_id_guard:
            return self._row_ids.take(count)

    def new_spill(self) -> Spill:
        """A file for rows of one change that are too many for memory."""
        return self._log.spill()

    def write(self, changes: Sequence[TableChange], cancelled: Cancelled = None, *, process_id: int = 0) -> int:
        """Makes the changes durable as one atomic group; returns the lsn to wait for to read them.

        Raises SerializationFailure if a table's definition changed since the statement was planned.
        """
        catalog = self._published.state.catalog
        keys = [_locked_keys(catalog, change) for change in changes]
        with self._locked(catalog, changes, keys, cancelled, process_id):
            for change in changes:
                refuse_stale(self._published.state.catalog, change)
            catalog = self._published.state.catalog
            return self._log.append(changes, keys=keys, unique_keys=unique_keys_of(catalog, changes))

    def write_with(
        self,
        change: Callable[[LoggedRows], MetaState],
        catalog: Catalog,
        changes: Sequence[TableChange],
        cancelled: Cancelled = None,
        *,
        process_id: int = 0,
    ) -> None:
        """Makes the changes durable in one step with a change of the schema, which `change` has applied with them.

        `catalog` is the one after it. Raises what `change` raises, and then nothing is written.
        """
        keys = [_locked_keys(catalog, each) for each in changes]
        with self._locked(catalog, changes, keys, cancelled, process_id):
            change(LoggedRows(changes, keys))

    @contextmanager
    def _locked(
        self,
        catalog: Catalog,
        changes: Sequence[TableChange],
        keys: Sequence[_LockedKeys],
        cancelled: Cancelled,
        process_id: int,
    ) -> Iterator[None]:
        """Locks what this thread has not locked yet: tables, then rows, in the order of their ids and keys."""
        modes: dict[int, set[LockMode]] = {}
        rows: dict[int, set[RowKey]] = {}
        for change, found in zip(changes, keys, strict=True):
            is_large = found is None and _has_row_keys(catalog, change)
            modes.setdefault(change.table_id, set()).add(LockMode.SHARED if is_large else LockMode.KEYS)
            rows.setdefault(change.table_id, set()).update(found or ())
        locks = self.locks
        with ExitStack() as stack:
            for table_id in sorted(modes):
                for mode in modes[table_id]:
                    if not locks.covers(table_id, mode, process_id=process_id):
                        stack.callback(locks.acquire(table_id, mode, cancelled, process_id=process_id).release)
            for table_id in sorted(rows):
                covers = partial(locks.covers, table_id, LockMode.ALONE, process_id=process_id)
                free = in_order(key for key in rows[table_id] if not covers(key))
                stack.callback(locks.acquire_rows(table_id, free, cancelled, process_id=process_id).release)
            yield


def _has_row_keys(catalog: Catalog, change: TableChange) -> bool:
    table = catalog.relations.get(change.table_id)
    return isinstance(table, Table) and has_row_keys(table)


def _locked_keys(catalog: Catalog, change: TableChange) -> _LockedKeys:
    """The keys of few rows; also None if the table was altered or dropped, so that the change will be refused."""
    table = catalog.relations.get(change.table_id)
    if not isinstance(table, Table) or table.version != change.version or not has_row_keys(table):
        return None
    if change.spill is not None or change.chunk.num_rows > MOST_KEYS:
        return None
    return keys_of(table, [change.chunk.column(1 + index) for index in table.primary_key])
