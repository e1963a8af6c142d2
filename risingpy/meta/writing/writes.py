"""Writes rows to the log, under the locks of their tables, and with row ids that are used only once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.durable_state import RowIds
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.writing.dml_log import DmlLog, TableChange, refuse_stale
from risingpy.meta.writing.identity_counters import IdentityCounters
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.storage.log.spill import Spill


class Writes:
    """Any thread may call these. Methods that block take a `cancelled` event and raise QueryCanceled.

    `identity_counters` number the rows of tables with an identity column.
    """

    def __init__(
        self,
        published: PublishedState,
        log: DmlLog,
        *,
        locks: TableLocks,
        row_ids: RowIds,
        identity_counters: IdentityCounters,
    ) -> None:
        self.locks = locks
        self.identity_counters = identity_counters
        self._published = published
        self._log = log
        self._row_ids = row_ids
        self._row_id_guard = threading.Lock()

    @property
    def last_lsn(self) -> int:
        """The position of the last logged change."""
        return self._log.last_lsn

    def table_lock(
        self, table_id: int, cancelled: Cancelled = None, *, process_id: int = 0
    ) -> AbstractContextManager[None]:
        """Holds a table alone, for statements that read before they write. Reentrant in a thread."""
        return self.locks.held((table_id,), LockMode.ALONE, cancelled, process_id=process_id)

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
        tables = {change.table_id for change in changes}
        with self.locks.held(tables, LockMode.SHARED, cancelled, process_id=process_id):
            for change in changes:
                refuse_stale(self._published.state.catalog, change)
            return self._log.append(changes)
