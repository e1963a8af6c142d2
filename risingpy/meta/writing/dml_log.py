"""The log of clients' rows, as the barrier loop sees it: rows that are durable and not yet in an epoch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.errors import SqlError, StalePlan, UndefinedTable
from risingpy.plan.catalog import Catalog
from risingpy.storage.log.segment import LogRecord
from risingpy.storage.log.spill import Spill as Spill  # what sessions know of the log, with TableChange
from risingpy.storage.log.write_ahead_log import WriteAheadLog
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning


@dataclass(frozen=True, slots=True)
class TableChange:
    """Rows to write to a table: `op` and all its columns in storage order, hidden ones included.

    `version` is the table's version on which the statement was planned. `spill`: the log's file that already has the
    rows, if they were spilled.
    """

    table_id: int
    version: int
    chunk: pa.Table
    spill: Spill | None = None

    def record(self) -> LogRecord:
        """The change as a record of the log."""
        if self.spill is not None:
            return LogRecord.of_spill(self.table_id, self.version, self.spill.name)
        return LogRecord.of(self.table_id, self.version, self.chunk)


def refuse_stale(catalog: Catalog, change: TableChange) -> None:
    """Raises StalePlan if the table was altered since the statement was planned, SqlError if it is gone or failed."""
    relation = catalog.relations.get(change.table_id)
    if relation is None:
        raise UndefinedTable(f"table with id {change.table_id} was dropped meanwhile")
    if relation.has_stopped:
        raise SqlError(
            f'table "{relation.name}" has stopped because of an error',
            sqlstate="55000",
            hint="The server's log has the error. DROP the table and create it again.",
        )
    if relation.version != change.version:
        stale = StalePlan(f'table "{relation.name}" was altered meanwhile', hint="Run the statement again.")
        stale.written = change.table_id
        raise stale


class DmlLog:
    """Appends groups of changes, and knows which are pending.

    A group (a statement or a transaction) is never split between epochs, so that no reader sees half of it.
    """

    def __init__(
        self,
        directory: Path,
        committed_lsn: int,
        wake: Callable[[], None],
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self._log = WriteAheadLog(directory, segment_bytes=tuning.log_segment_bytes)
        self._wake = wake
        self._guard = threading.Lock()
        self._committed = committed_lsn
        # (last lsn of a group, rows), oldest first. Rows left by an earlier run are one group: its groups are unknown.
        self._pending: deque[tuple[int, int]] = deque()
        if self._log.last_lsn > committed_lsn:
            left = self._log.read(committed_lsn, self._log.last_lsn)
            self._pending.append((self._log.last_lsn, sum(record.table().num_rows for record in left)))

    @property
    def last_lsn(self) -> int:
        return self._log.last_lsn

    @property
    def bytes_on_disk(self) -> int:
        return self._log.size_bytes

    def spill(self) -> Spill:
        """A file for the rows of one large change."""
        return self._log.spill()

    def append(self, changes: Sequence[TableChange]) -> int:
        """Makes the changes durable as one group and returns the lsn to wait for."""
        lsn = self._log.append([change.record() for change in changes])
        with self._guard:
            # A later group of another thread may be noted first. An epoch that took that group has taken this one, too,
            # and may even be committed by now.
            if lsn > self._committed:
                self._pending.append((lsn, sum(change.chunk.num_rows for change in changes)))
        self._wake()
        return lsn

    def next_epoch(self, most_rows: int) -> tuple[int, int]:
        """(lsn, rows) of the whole groups that the next epoch takes: at least one if any is pending."""
        with self._guard:
            lsn, rows = self._committed, 0
            # Concurrent appenders may note their groups out of order; the order of the log is that of the lsn.
            for group_lsn, group_rows in sorted(self._pending):
                if rows and rows + group_rows > most_rows:
                    break
                lsn, rows = max(lsn, group_lsn), rows + group_rows
        return lsn, rows

    def committed(self, lsn: int) -> None:
        """Forgets the groups up to `lsn`, and deletes the part of the log that has them."""
        with self._guard:
            self._committed = lsn
            self._pending = deque(group for group in self._pending if group[0] > lsn)
        self._log.truncate(lsn)

    def close(self) -> None:
        self._log.close()
