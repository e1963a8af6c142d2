"""Small writes of many sessions, made durable together: one chunk for each table, one append to the log, one fsync.

    commit.add(write)    # from any thread, and never blocks
    commit.begin()       # so does this: the thread of the commits takes all that was added
    write.done(written)  # in that thread; None: nothing of the write is in the log

What is added while a group is on its way to the disk goes into the next one. The thread waits for no lock, and has no
errors for anybody: a write is given back if somebody has its table or its row, or if a value is not what the table
takes. So nobody waits for the lock of another.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.writing.dml_log import DmlLog, TableChange, refuse_stale
from risingpy.meta.writing.row_changes import Change, ChangingRows, FindCommitted
from risingpy.meta.writing.row_keys import RowKey, has_row_keys, keys_of
from risingpy.meta.writing.sequence_counters import SequenceCounters
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import Table

_log = logging.getLogger(__name__)

_THREAD = "group-commit"

Row = Sequence[object]
"""A row's columns without its number, as Arrow takes their values."""

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


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """New rows for a table that no constraint on other rows guards. `rows` is called once, and may raise SqlError."""

    table: Table
    rows: Callable[[], Sequence[Row]]
    done: Done


@dataclass(frozen=True, slots=True, eq=False)
class RowChange:
    """UPDATE or DELETE of one row of such a table, whose newest row the log knows. See `row_changes`."""

    table: Table
    key: RowKey
    change: Change
    committed: FindCommitted
    done: Done


SmallWrite = NewRows | RowChange


@dataclass(frozen=True, slots=True)
class _TableGroup:
    """The writes to one table that are done. `change`: what goes into the log; None: they have found no rows.

    `keys` are those of the change's rows, which are locked; None if they have none that can be locked.
    """

    change: TableChange | None
    keys: Sequence[RowKey] | None
    writes: Mapping[SmallWrite, int]  # and their rows


class GroupCommit:
    """For all threads. Its own begins with the first write."""

    def __init__(
        self,
        published: PublishedState,
        log: DmlLog,
        locks: TableLocks,
        next_row_ids: Callable[[int], int],
        sequences: SequenceCounters,
    ) -> None:
        self._published = published
        self._log = log
        self._locks = locks
        self._next_row_ids = next_row_ids
        self._sequences = sequences
        self._added: list[SmallWrite] = []
        self._guard = threading.Lock()
        self._begun: queue.SimpleQueue[bool] = queue.SimpleQueue()  # False: it is to end
        self._thread: threading.Thread | None = None

    def add(self, write: SmallWrite) -> None:
        """The next `begin` has it written."""
        with self._guard:
            self._added.append(write)

    def begin(self) -> None:
        """Has written what was added."""
        if self._thread is None:
            with self._guard:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._serve, name=_THREAD, daemon=True)
                    self._thread.start()
        self._begun.put(True)

    def close(self) -> None:
        """After what was begun."""
        if self._thread is not None:
            self._begun.put(False)
            self._thread.join()

    def _serve(self) -> None:
        while self._begun.get():
            with self._guard:
                writes, self._added = self._added, []
            if writes:
                self._commit(writes)

    def _commit(self, writes: Sequence[SmallWrite]) -> None:
        lsn, written = 0, dict[SmallWrite, int]()
        try:
            with ExitStack() as held:
                groups = [self._group(each, held) for each in _by_table(writes)]
                logged = [(each.change, each.keys) for each in groups if each.change is not None]
                if logged:
                    lsn = self._log.append([change for change, _ in logged], keys=[keys for _, keys in logged])
                written = {write: rows for group in groups for write, rows in group.writes.items()}
        except SqlError:  # whoever takes the long way learns what it is
            pass
        except Exception:
            _log.exception("a group of writes failed")
        wakes = {write.done(Written(lsn, written[write]) if write in written else None) for write in writes}
        for wake in wakes:
            wake()

    def _group(self, writes: Sequence[SmallWrite], held: ExitStack) -> _TableGroup:
        """What can be written to a table now, with its locks `held`."""
        table = writes[0].table
        new = [(write, rows) for write in writes if isinstance(write, NewRows) and (rows := _rows_of(write))]
        changes = [write for write in writes if isinstance(write, RowChange)]
        try:
            columns = self._columns(table, [row for _, rows in new for row in rows])
            held.callback(self._locks.acquire(table.relation_id, LockMode.KEYS, wait=False).release)
            if not has_row_keys(table):
                return self._finished(table, make_chunk(_ops(0, len(columns[0])), columns), None, _counts(new))
            keys = keys_of(table, [columns[index] for index in table.primary_key])
            rows_held = self._locks.take_free_rows(table.relation_id, {*keys, *(each.key for each in changes)})
            held.callback(rows_held.release)
            free = frozenset(rows_held.keys)
            added, places = _free(new, keys, free)
            if len(places) < len(keys):
                columns, keys = [each.take(pa.array(places)) for each in columns], [keys[place] for place in places]
            # A change of a row that comes in the same group takes the long way: nobody has that row yet.
            possible = [each for each in changes if each.key in free and each.key not in frozenset(keys)]
            return self._with_changes(table, possible, columns, keys, _counts(added))
        except (SqlError, pa.ArrowException, ValueError, TypeError, OverflowError):
            return _TableGroup(None, None, {})

    def _with_changes(
        self,
        table: Table,
        changes: Sequence[RowChange],
        columns: list[pa.Array],
        keys: list[RowKey],
        counts: dict[SmallWrite, int],
    ) -> _TableGroup:
        """The group with the changes of single rows, and the new rows (all columns) with their keys."""
        if changes:
            pending, committed = self._log.pending_row, changes[0].committed
            newest = ChangingRows(table, [each.key for each in changes], pending, committed)
            for each in changes:
                found = newest.change(each.key, each.change)
                if found is not None:
                    counts[each] = found
            changed = newest.changed()
            if changed is not None:
                old, stay, changed_keys = changed
                pieces = zip(old.columns, stay, columns, strict=True)
                columns = [pa.concat_arrays([*_chunks(a), *_chunks(b), *_chunks(c)]) for a, b, c in pieces]
                return self._finished(
                    table, make_chunk(_ops(old.num_rows, len(columns[0])), columns), [*changed_keys, *keys], counts
                )
        return self._finished(table, make_chunk(_ops(0, len(columns[0])), columns), keys, counts)

    def _finished(
        self, table: Table, chunk: pa.Table, keys: Sequence[RowKey] | None, counts: Mapping[SmallWrite, int]
    ) -> _TableGroup:
        """The group of a chunk. Raises what `refuse_stale` raises."""
        catalog = self._published.state.catalog
        change = TableChange(table.relation_id, table.version, chunk, rules=table.rules)
        refuse_stale(catalog, change)
        if not chunk.num_rows:
            return _TableGroup(None, None, counts)
        self._sequences.pass_rows(catalog, table, chunk.columns[1:])
        return _TableGroup(change, keys, counts)

    def _columns(self, table: Table, rows: Sequence[Row]) -> list[pa.Array]:
        """All columns of the rows, with new numbers if the table's rows have some."""
        if not rows:
            return [pa.array([], column.type.arrow) for column in table.columns]
        given = [*zip(*rows, strict=True)]
        columns = [pa.array(values, column.type.arrow) for values, column in zip(given, table.columns, strict=False)]
        if len(columns) < len(table.columns):
            first = self._next_row_ids(len(rows))
            columns.append(pa.array(np.arange(first, first + len(rows), dtype=np.int64)))
        return columns


def _by_table(writes: Iterable[SmallWrite]) -> Iterable[Sequence[SmallWrite]]:
    """The writes to each table, in their order. A table that was altered between them is two."""
    found: dict[tuple[int, int, int], list[SmallWrite]] = {}
    for write in writes:
        table = write.table
        found.setdefault((table.relation_id, table.version, table.rules), []).append(write)
    return [each for _, each in sorted(found.items())]  # in the order in which all statements lock tables


def _rows_of(write: NewRows) -> Sequence[Row]:
    """None of them if they cannot be computed."""
    try:
        return write.rows()
    except SqlError:
        return ()


def _counts(new: Sequence[tuple[NewRows, Sequence[Row]]]) -> dict[SmallWrite, int]:
    return {write: len(rows) for write, rows in new}


def _ops(old: int, rows: int) -> npt.NDArray[np.int8]:
    """Those of old rows, and then of new ones."""
    ops = np.full(rows, INSERT, np.int8)
    ops[:old] = DELETE
    return ops


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _free(
    new: Sequence[tuple[NewRows, Sequence[Row]]], keys: Sequence[RowKey], free: frozenset[object]
) -> tuple[list[tuple[NewRows, Sequence[Row]]], list[int]]:
    """The writes all of whose keys are free, and the places of their rows."""
    found: list[tuple[NewRows, Sequence[Row]]] = []
    places: list[int] = []
    begin = 0
    for write, rows in new:
        end = begin + len(rows)
        if free.issuperset(keys[begin:end]):
            found.append((write, rows))
            places.extend(range(begin, end))
        begin = end
    return found, places
