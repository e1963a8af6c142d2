"""The log of clients' rows, as the barrier loop sees it: rows that are durable and not yet in an epoch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.errors import SqlError, StalePlan
from risingpy.meta.writing.pending_rows import KeyedChunk, PendingRow, PendingRows
from risingpy.meta.writing.row_keys import RowKey
from risingpy.plan.catalog import Catalog, Table
from risingpy.storage.log.reader import LogReader
from risingpy.storage.log.segment import LogRecord
from risingpy.storage.log.spill import Spill as Spill  # what sessions know of the log, with TableChange
from risingpy.storage.log.write_ahead_log import LogTruth, WriteAheadLog
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning


@dataclass(frozen=True, slots=True)
class TableChange:
    """Rows to write to a table: `op` and all its columns in storage order, hidden ones included.

    `version` is the table's version on which the statement was planned. `spill`: the log's file that already has the
    rows, if they were spilled. `rules` are those of the table under which the rows were looked at.
    """

    table_id: int
    version: int
    chunk: pa.Table
    spill: Spill | None = None
    rules: int = 0

    def record(self) -> LogRecord:
        """The change as a record of the log."""
        if self.spill is not None:
            return LogRecord.of_spill(self.table_id, self.version, self.spill.name)
        return LogRecord.of(self.table_id, self.version, self.chunk)


@dataclass(frozen=True, slots=True)
class UniqueKeys:
    """The keys that a change's rows have in a unique index; None if they are too many to be kept one by one."""

    index_id: int
    change: TableChange
    keys: Sequence[RowKey] | None


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """How far the log has the rows of a pushed source. The text is its connector's."""

    source_id: int
    text: str

    def record(self) -> LogRecord:
        """The offset as a record of the log."""
        return LogRecord.of_offset(self.source_id, self.text)


def refuse_stale(catalog: Catalog, change: TableChange) -> None:
    """Raises StalePlan if the table was altered since the statement was planned, SqlError if it has failed.

    A table that is gone may have another one in its place (ADD PRIMARY KEY), which the statement finds by its name.
    """
    relation = catalog.relations.get(change.table_id)
    if relation is None:
        gone = StalePlan("the table was dropped or replaced meanwhile", hint="Run the statement again.")
        gone.written = change.table_id
        raise gone
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
    if isinstance(relation, Table) and relation.rules != change.rules:
        other = StalePlan(f'table "{relation.name}" got other constraints meanwhile', hint="Run the statement again.")
        other.written = change.table_id
        raise other


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
        truth: LogTruth | None = None,
    ) -> None:
        self._log = WriteAheadLog(directory, segment_bytes=tuning.log_segment_bytes, truth=truth)
        self._wake = wake
        self._guard = threading.Lock()
        self._committed = committed_lsn
        # (last lsn of a group, rows), oldest first. Rows left by an earlier run are one group: its groups are unknown.
        self._pending: deque[tuple[int, int]] = deque()
        self._last_of_table: dict[int, int] = {}  # the lsn of the last group of statements' rows, by table
        self._offsets: dict[int, str] = {}  # the last one of each source that the log has had since it was opened
        self._has_offsets = False  # also of a group that is being written
        self._reader = LogReader(directory)  # of offsets, for the barrier loop's thread
        self._pending_rows = PendingRows()
        if self._log.last_lsn > committed_lsn:
            left = list(self._log.read(committed_lsn, self._log.last_lsn))
            self._pending.append((self._log.last_lsn, sum(record.table().num_rows for record in left)))
            self._last_of_table = {record.table_id: record.lsn for record in left}
            self._offsets = self._reader.offsets(committed_lsn, self._log.last_lsn)
            self._has_offsets = bool(self._offsets)
            self._pending_rows.add_left_over(self._log.last_lsn, self._last_of_table)

    @property
    def last_lsn(self) -> int:
        return self._log.last_lsn

    @property
    def bytes_on_disk(self) -> int:
        return self._log.size_bytes

    def spill(self) -> Spill:
        """A file for the rows of one large change."""
        return self._log.spill()

    @property
    def pending_rows(self) -> int:
        """How many rows wait for an epoch."""
        with self._guard:
            return sum(rows for _, rows in self._pending)

    def last_lsn_of(self, table_ids: Iterable[int]) -> int:
        """The end of the last group that statements wrote to one of these tables since the log was opened, or 0.

        A group that is acknowledged is known here. One that the log had when it was opened may be a source's, too.
        """
        with self._guard:
            return max((self._last_of_table.get(table_id, 0) for table_id in table_ids), default=0)

    def last_offset(self, source_id: int) -> str | None:
        """The offset of a source's last group in the log; None if the log has had none since it was opened."""
        with self._guard:
            return self._offsets.get(source_id)

    def offsets_up_to(self, lsn: int) -> Mapping[int, str]:
        """The last offset of each source in the pending part of the log up to `lsn`. For the barrier loop's thread."""
        with self._guard:
            after, looks = self._committed, self._has_offsets
        return self._reader.offsets(after, lsn) if looks else {}

    def append(
        self,
        changes: Sequence[TableChange],
        offset: SourceOffset | None = None,
        keys: Sequence[Sequence[RowKey] | None] = (),
        unique_keys: Sequence[UniqueKeys] = (),
    ) -> int:
        """Makes the changes durable as one group, with the source's offset after them; returns the lsn to wait for.

        `keys` has those of each change's rows, which the caller has locked; None, or no keys at all: it has locked the
        table, or no statement changes single rows of it. `unique_keys` are those of the changes' unique indexes.
        """
        records = [change.record() for change in changes]
        if offset is not None:
            records.append(offset.record())
            with self._guard:  # before the log has it: an epoch that takes the group must look for its offset
                self._has_offsets = True
        lsn = self._log.append(records)
        with self._guard:
            if offset is not None:
                self._offsets[offset.source_id] = offset.text
            else:
                for change in changes:
                    self._last_of_table[change.table_id] = max(lsn, self._last_of_table.get(change.table_id, 0))
            # A later group of another thread may be noted first. An epoch that took that group has taken this one, too,
            # and may even be committed by now.
            if lsn > self._committed:
                self._pending.append((lsn, sum(change.chunk.num_rows for change in changes)))
        with_keys = list(zip(changes, keys or [None] * len(changes), strict=True))
        keyed = [KeyedChunk(c.table_id, c.version, c.chunk, found) for c, found in with_keys if found is not None]
        others = [change.table_id for change, found in with_keys if found is None]
        for unique in unique_keys:
            if unique.keys is None:
                others.append(unique.index_id)
            else:
                change = unique.change
                keyed.append(KeyedChunk(unique.index_id, change.version, change.chunk, unique.keys))
        self._pending_rows.add(lsn, keyed, others)
        self._wake()
        return lsn

    def pending_row(self, table_id: int, key: RowKey, of: int | None = None) -> PendingRow | int | None:
        """See `PendingRows.find`. The caller has locked the key."""
        return self._pending_rows.find(table_id, key, of)

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
        self._pending_rows.committed(lsn)
        self._log.truncate(lsn)

    def close(self) -> None:
        self._log.close()
