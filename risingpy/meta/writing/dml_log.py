"""The log of clients' rows, as the barrier loop sees it: rows that are durable and not yet in an epoch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.errors import IoError, SqlError, StalePlan
from risingpy.meta.writing.pending_rows import KeyedChunk, PendingRow, PendingRows
from risingpy.meta.writing.row_keys import MOST_KEYS, RowKey
from risingpy.meta.writing.rows_of_change import RowsOfChange
from risingpy.meta.writing.unique_key import CannotCompute, unique_key
from risingpy.plan.catalog import Catalog, Index, Table
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


def unique_keys_of(catalog: Catalog, changes: Iterable[TableChange]) -> list[UniqueKeys]:
    """The keys of the changes' rows in each unique index of their tables; not those of changes of many rows."""
    found = []
    for change in changes:
        is_small = change.spill is None and change.chunk.num_rows <= MOST_KEYS
        for index in catalog.unique_indexes_of(change.table_id):
            keys = keys_in_index(catalog, index, change) if is_small else None
            found.append(UniqueKeys(index.relation_id, change, keys))
    return found


def keys_in_index(catalog: Catalog, index: Index, change: TableChange) -> Sequence[RowKey] | None:
    """The keys of a change's rows in a unique index of its table; None if they cannot be told one by one."""
    table = catalog.relations[change.table_id]
    assert isinstance(table, Table)
    key = unique_key(table, index)
    try:
        return None if key is None else key.keys(change.chunk.columns[1:])
    except CannotCompute:
        return None


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
    refuse_stale_form(catalog, change.table_id, change.version, change.rules)


def refuse_stale_form(catalog: Catalog, table_id: int, version: int, rules: int) -> None:
    """The same for a form of a table."""
    relation = catalog.relations.get(table_id)
    if relation is None:
        gone = StalePlan("the table was dropped or replaced meanwhile", hint="Run the statement again.")
        gone.written = table_id
        raise gone
    if relation.has_stopped:
        raise SqlError(
            f'table "{relation.name}" has stopped because of an error',
            sqlstate="55000",
            hint="The server's log has the error. DROP the table and create it again.",
        )
    if relation.version != version:
        stale = StalePlan(f'table "{relation.name}" was altered meanwhile', hint="Run the statement again.")
        stale.written = table_id
        raise stale
    if isinstance(relation, Table) and relation.rules != rules:
        other = StalePlan(f'table "{relation.name}" got other constraints meanwhile', hint="Run the statement again.")
        other.written = table_id
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
        of_change: RowsOfChange | None = None,
    ) -> None:
        """`of_change` are the rows of the last change of the schema that had any: the log may lack them."""
        spills = () if of_change is None else of_change.spills
        size = tuning.log_segment_bytes
        self._log = WriteAheadLog(directory, segment_bytes=size, truth=truth, kept_spills=spills)
        if of_change is not None and self._log.last_lsn < of_change.first_lsn:
            self._log.append(of_change.records)
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
        first: Callable[[RowsOfChange], None] | None = None,
    ) -> int:
        """Makes the changes durable as one group, with the source's offset after them; returns the lsn to wait for.

        `first` is called before the log has them: when it returns, they are durable already.

        `keys` has those of each change's rows, which the caller has locked; None, or no keys at all: it has locked the
        table, or no statement changes single rows of it. `unique_keys` are those of the changes' unique indexes.

        After an IoError the group may be in the log nevertheless, for the next start; every later call fails then.
        """
        records = [change.record() for change in changes]
        if offset is not None:
            records.append(offset.record())
            with self._guard:  # before the log has it: an epoch that takes the group must look for its offset
                self._has_offsets = True
        if first is None:
            lsn = self._log.append(records)
        else:
            lsn = self._log.append(records, lambda first_lsn: first(RowsOfChange(first_lsn, records)))
        try:
            self._note(lsn, changes, offset, keys, unique_keys)
        except BaseException as error:  # MemoryError, above all
            # Epochs and reads would not know of the group. Nobody may build on what they miss; a new start reads it.
            self._log.refuse_more(error)
            raise IoError(
                "the rows are durable, but the server has failed to take note of them",
                hint="Start the server again: it will have them. Do not send them again.",
            ) from error
        self._wake()
        return lsn

    def _note(
        self,
        lsn: int,
        changes: Sequence[TableChange],
        offset: SourceOffset | None,
        keys: Sequence[Sequence[RowKey] | None],
        unique_keys: Sequence[UniqueKeys],
    ) -> None:
        """Knows from now on that the log has a group."""
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

    def pending_row(self, table_id: int, key: RowKey, of: int | None = None) -> PendingRow | int | None:
        """See `PendingRows.find`. The caller has locked the key."""
        return self._pending_rows.find(table_id, key, of)

    def pending_of_each(
        self, table_id: int, keys: Sequence[RowKey], of: int | None = None
    ) -> Sequence[PendingRow | int | None]:
        """The same of each key."""
        return self._pending_rows.find_each(table_id, keys, of)

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
