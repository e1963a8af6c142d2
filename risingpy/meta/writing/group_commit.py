"""Small writes of many sessions, made durable together: one chunk for each table, one append to the log, one fsync.

    commit.add(write)    # from any thread, and never blocks
    commit.begin()       # so does this: the thread of the commits takes all that was added
    write.done(lsn)      # in that thread; None: nothing of the write is in the log

What is added while a group is on its way to the disk goes into the next one. The thread waits for no lock, and has no
errors for anybody: a write is given back if somebody has its table or its row, or if a value is not what the table
takes. So nobody waits for the lock of another.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import INSERT, make_chunk
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.writing.dml_log import DmlLog, TableChange, refuse_stale
from risingpy.meta.writing.row_keys import RowKey, has_row_keys, keys_of
from risingpy.meta.writing.sequence_counters import SequenceCounters
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import Table

_log = logging.getLogger(__name__)

_THREAD = "group-commit"

Row = Sequence[object]
"""A row's columns without its number, as Arrow takes their values."""

Wake = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class SmallWrite:
    """New rows for a table that no constraint on other rows guards.

    `rows` is called once, in the thread of the commits; it may raise SqlError. `done` is called once, whatever happens,
    and returns what wakes whoever waits: that is called when all writes of the group are done.
    """

    table: Table
    rows: Callable[[], Sequence[Row]]
    done: Callable[[int | None], Wake]


@dataclass(frozen=True, slots=True)
class _Group:
    """The writes to one table that go into the log. `keys` are those of the rows, which are locked."""

    change: TableChange
    keys: Sequence[RowKey] | None
    writes: Sequence[SmallWrite]


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
        lsn, written = 0, frozenset[SmallWrite]()
        try:
            with ExitStack() as held:
                groups = [self._group(table, each, held) for table, each in _by_table(writes)]
                found = [group for group in groups if group is not None]
                if found:
                    lsn = self._log.append([group.change for group in found], keys=[group.keys for group in found])
                    written = frozenset(write for group in found for write in group.writes)
        except SqlError:  # whoever takes the long way learns what it is
            pass
        except Exception:
            _log.exception("a group of writes failed")
        wakes = {write.done(lsn if write in written else None) for write in writes}
        for wake in wakes:
            wake()

    def _group(self, table: Table, writes: Sequence[SmallWrite], held: ExitStack) -> _Group | None:
        """What can be written to a table now, with its locks `held`."""
        taken = [(write, rows) for write in writes if (rows := _rows_of(write))]
        try:
            columns = self._columns(table, [row for _, rows in taken for row in rows])
            table_id = table.relation_id
            held.callback(self._locks.acquire(table_id, LockMode.KEYS, wait=False).release)
            keys = keys_of(table, [columns[index] for index in table.primary_key]) if has_row_keys(table) else None
            free = [write for write, _ in taken]
            if keys is not None:
                rows_held = self._locks.take_free_rows(table_id, set(keys))
                held.callback(rows_held.release)
                free, places = _free(taken, keys, frozenset(rows_held.keys))
                if len(places) < len(keys):
                    columns, keys = [each.take(pa.array(places)) for each in columns], [keys[place] for place in places]
            if not free:
                return None
            catalog = self._published.state.catalog
            chunk = make_chunk(np.full(len(columns[0]), INSERT, np.int8), columns)
            change = TableChange(table_id, table.version, chunk, rules=table.rules)
            refuse_stale(catalog, change)
            self._sequences.pass_rows(catalog, table, columns)
        except (SqlError, pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return _Group(change, keys, free)

    def _columns(self, table: Table, rows: Sequence[Row]) -> list[pa.Array]:
        """All columns of the rows, with new numbers if the table's rows have some."""
        given = [*zip(*rows, strict=True)]
        columns = [pa.array(values, column.type.arrow) for values, column in zip(given, table.columns, strict=False)]
        if len(columns) < len(table.columns):
            first = self._next_row_ids(len(rows))
            columns.append(pa.array(np.arange(first, first + len(rows), dtype=np.int64)))
        return columns


def _by_table(writes: Iterable[SmallWrite]) -> Iterable[tuple[Table, Sequence[SmallWrite]]]:
    """The writes to each table, in their order. A table that was altered between them is two."""
    found: dict[tuple[int, int, int], list[SmallWrite]] = {}
    for write in writes:
        table = write.table
        found.setdefault((table.relation_id, table.version, table.rules), []).append(write)
    # In the order in which all statements lock tables.
    return [(each[0].table, each) for _, each in sorted(found.items())]


def _rows_of(write: SmallWrite) -> Sequence[Row]:
    """None of them if they cannot be computed."""
    try:
        return write.rows()
    except SqlError:
        return ()


def _free(
    taken: Sequence[tuple[SmallWrite, Sequence[Row]]], keys: Sequence[RowKey], free: frozenset[object]
) -> tuple[list[SmallWrite], list[int]]:
    """The writes all of whose keys are free, and the places of their rows."""
    found: list[SmallWrite] = []
    places: list[int] = []
    begin = 0
    for write, rows in taken:
        end = begin + len(rows)
        if free.issuperset(keys[begin:end]):
            found.append(write)
            places.extend(range(begin, end))
        begin = end
    return found, places
