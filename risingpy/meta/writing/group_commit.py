"""Small writes of many sessions, made durable together: one chunk for each table, one append to the log, one fsync.

    commit.add(write)    # from any thread, and never blocks
    commit.begin()       # so does this: the thread of the commits takes all that was added
    write.done(written)  # in that thread; None: nothing of the write is in the log

What is added while a group is on its way to the disk goes into the next one. The thread waits for no lock, and has no
errors for small writes: one is given back if somebody has its table or its row, or if a value is not what the table
takes. So nobody waits for the lock of another.

A transaction's rows come with their locks, so they are only refused if the log is. Others may have read them since they
were added (`coming`): these follow in the order in which all were added, and are refused if they are.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import InternalError, SqlError
from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.writing.coming_rows import ComingRows, Done, TransactionRows, Wake, Written
from risingpy.meta.writing.dml_log import DmlLog, TableChange, UniqueKeys, keys_in_index, refuse_stale
from risingpy.meta.writing.kept_rows import chunks_of
from risingpy.meta.writing.row_changes import Change, ChangingRows, FindCommitted
from risingpy.meta.writing.row_guard import Passes, RowGuard
from risingpy.meta.writing.row_keys import RowKey, has_row_keys, keys_of
from risingpy.meta.writing.sequence_counters import SequenceCounters
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import Table

_log = logging.getLogger(__name__)

_THREAD = "group-commit"


_KeysOfIndexes = Mapping[int, Sequence[RowKey]]  # by the index's id
_Logged = tuple[TableChange, Sequence[RowKey] | None, _KeysOfIndexes]

Row = Sequence[object]
"""A row's columns without its number, as Arrow takes their values."""


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """New rows for a table. `rows` is called once, and may raise SqlError. `guard`: what looks at them, if anything."""

    table: Table
    rows: Callable[[], Sequence[Row]]
    done: Done
    guard: RowGuard | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowChange:
    """UPDATE or DELETE of one row of a table whose newest row the log knows. See `row_changes`.

    Nothing guards the columns that change, but for what `passes` looks at. With `row` it is an INSERT … ON CONFLICT:
    the row is added if the key has none, else changed; without `change` that stays as it is.
    """

    table: Table
    key: RowKey
    change: Change | None
    committed: FindCommitted
    done: Done
    passes: Passes | None = None
    row: Callable[[], Row] | None = None


SmallWrite = NewRows | RowChange
_New = tuple[NewRows, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class _NewOfTable:
    """New rows: whose they are, all their columns, their primary keys, and those in unique indexes that are known."""

    new: Sequence[_New]
    columns: list[pa.Array]
    keys: list[RowKey]
    unique_keys: _KeysOfIndexes

    def only(self, allowed: Sequence[bool]) -> _NewOfTable:
        """The rows of the writes all of whose rows are allowed."""
        if all(allowed):
            return self
        found: list[_New] = []
        places: list[int] = []
        begin = 0
        for write, rows in self.new:
            end = begin + len(rows)
            if all(allowed[begin:end]):
                found.append((write, rows))
                places.extend(range(begin, end))
            begin = end
        taken = pa.array(places, pa.int64())
        keys = [self.keys[place] for place in places] if self.keys else []
        unique = {index: [each[place] for place in places] for index, each in self.unique_keys.items()}
        return _NewOfTable(found, [column.take(taken) for column in self.columns], keys, unique)

    def counts(self) -> dict[SmallWrite, int]:
        """Each write and its rows."""
        return {write: len(rows) for write, rows in self.new}


@dataclass(frozen=True, slots=True)
class _TableGroup:
    """The writes to one table that are done. `change`: what goes into the log; None: they have found no rows.

    `keys` are those of the change's rows, which are locked; None if they have none that can be locked. `unique_keys`
    are all those that they have in the indexes of which it is known.
    """

    change: TableChange | None
    keys: Sequence[RowKey] | None
    writes: Mapping[SmallWrite, int]  # and their rows
    unique_keys: _KeysOfIndexes = field(default_factory=dict)


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
        self._added: list[SmallWrite | TransactionRows] = []
        self._guard = threading.Lock()
        self.coming = ComingRows()
        self._begun: queue.SimpleQueue[bool] = queue.SimpleQueue()  # False: it is to end
        self._thread: threading.Thread | None = None

    def add(self, write: SmallWrite | TransactionRows) -> None:
        """The next `begin` has it written."""
        with self._guard:
            self._added.append(write)
            if isinstance(write, TransactionRows):
                self.coming.add(write)

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
                small = [each for each in writes if not isinstance(each, TransactionRows)]
                self._commit(small, [each for each in writes if isinstance(each, TransactionRows)])

    def _commit(self, writes: Sequence[SmallWrite], transactions: Sequence[TransactionRows]) -> None:
        lsn, found, error = None, dict[SmallWrite, int](), None
        catalog = self._published.state.catalog
        sound = [each for each in transactions if each.is_founded(catalog)]
        try:
            with ExitStack() as held:
                logged = self._transactions(sound)
                groups = [self._group(each, held) for each in _by_table(writes)]
                logged += [(each.change, each.keys, each.unique_keys) for each in groups if each.change is not None]
                found = {write: rows for group in groups for write, rows in group.writes.items()}
                lsn = self._logged(logged) if logged else 0
        except SqlError as refusal:  # of small writes, whoever takes the long way learns what it is
            error = refusal
        except Exception as failure:
            _log.exception("a group of writes failed")
            error = InternalError(f"internal error: {failure}")
        if lsn is None:
            found = {}
        self.coming.end(transactions, error)
        # What is durable is never given back, whatever has failed since: it would be written twice.
        wakes = {_told(write, Written(lsn or 0, found[write]) if write in found else None) for write in writes}
        wakes |= {_told(each, Written(lsn or 0, 0) if each.error is None else None) for each in transactions}
        for wake in wakes:
            wake()

    def _logged(self, logged: Sequence[_Logged]) -> int:
        catalog = self._published.state.catalog
        unique_keys = []
        for change, _, known in logged:
            for index in catalog.unique_indexes_of(change.table_id):
                found = known.get(index.relation_id) or keys_in_index(catalog, index, change)
                unique_keys.append(UniqueKeys(index.relation_id, change, found))
        changes = [change for change, _, _ in logged]
        return self._log.append(changes, keys=[keys for _, keys, _ in logged], unique_keys=unique_keys)

    def _transactions(self, transactions: Sequence[TransactionRows]) -> list[_Logged]:
        """What the log gets of transactions, as if they were one: a group of the log is never split."""
        catalog, found = self._published.state.catalog, list[_Logged]()
        for each in chunks_of([each.rows for each in transactions], self._next_row_ids):
            table = each.table
            if each.chunk.num_rows:
                self._sequences.pass_rows(catalog, table, each.chunk.columns[1:])
                change = TableChange(table.relation_id, table.version, each.chunk, rules=table.rules)
                found.append((change, each.keys, {}))
        return found

    def _group(self, writes: Sequence[SmallWrite], held: ExitStack) -> _TableGroup:
        """What can be written to a table now, with its locks `held`."""
        table = writes[0].table
        new: Sequence[_New] = [(w, of_write) for w in writes if isinstance(w, NewRows) and (of_write := _rows_of(w))]
        changes = [write for write in writes if isinstance(write, RowChange)]
        try:
            rows = _NewOfTable(new, self._columns(table, [row for _, of_write in new for row in of_write]), [], {})
            held.callback(self._locks.acquire(table.relation_id, LockMode.KEYS, wait=False).release)
            if not has_row_keys(table):
                return self._finished(table, self._looked_at(rows, held))
            keys = keys_of(table, [rows.columns[index] for index in table.primary_key])
            rows_held = self._locks.take_free_rows(table.relation_id, {*keys, *(each.key for each in changes)})
            held.callback(rows_held.release)
            free = frozenset(rows_held.keys)
            rows = self._looked_at(replace(rows, keys=keys).only([key in free for key in keys]), held)
            # A change of a row that comes in the same group takes the long way: nobody has that row yet.
            coming = frozenset(rows.keys)
            possible = [each for each in changes if each.key in free and each.key not in coming]
            return self._with_changes(table, possible, rows) if possible else self._finished(table, rows)
        except (SqlError, pa.ArrowException, ValueError, TypeError, OverflowError):
            return _TableGroup(None, None, {})

    def _looked_at(self, rows: _NewOfTable, held: ExitStack) -> _NewOfTable:
        """Those that may come, with all locks `held` that this needs."""
        guard = rows.new[0][0].guard if rows.new else None
        if guard is None:
            return rows
        looked = guard.look(rows.columns, rows.keys, self._log, self._locks, held)
        return replace(rows, unique_keys=looked.unique_keys).only(looked.allowed)

    def _with_changes(self, table: Table, changes: Sequence[RowChange], rows: _NewOfTable) -> _TableGroup:
        """The group with the changes of single rows, and the new rows."""
        counts = rows.counts()
        pending, committed = self._log.pending_row, changes[0].committed
        newest = ChangingRows(table, [each.key for each in changes], pending, committed)
        for each in changes:
            found = _changed(newest, each)
            if found is not None:
                counts[each] = found
        changed = newest.changed()
        if changed is None:
            return replace(self._finished(table, rows), writes=counts)
        old, stay, keys = changed
        passes = changes[0].passes
        if passes is not None and stay and not all(passes([_whole(each) for each in stay])):
            return self._finished(table, rows)
        pieces = zip(old.columns, stay, rows.columns, strict=True)
        columns = [pa.concat_arrays([*_chunks(a), *_chunks(b), *_chunks(c)]) for a, b, c in pieces]
        return self._group_of(table, _ops(old.num_rows, len(columns[0])), columns, [*keys, *rows.keys], counts)

    def _finished(self, table: Table, rows: _NewOfTable) -> _TableGroup:
        """The group of new rows."""
        keys = rows.keys if has_row_keys(table) else None
        group = self._group_of(table, _ops(0, len(rows.columns[0])), rows.columns, keys, rows.counts())
        return replace(group, unique_keys=rows.unique_keys)

    def _group_of(
        self,
        table: Table,
        ops: npt.NDArray[np.int8],
        columns: list[pa.Array],
        keys: Sequence[RowKey] | None,
        counts: Mapping[SmallWrite, int],
    ) -> _TableGroup:
        """The group of a chunk. Raises what `refuse_stale` raises."""
        catalog = self._published.state.catalog
        chunk = make_chunk(ops, columns)
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


def _told(write: SmallWrite | TransactionRows, written: Written | None) -> Wake:
    """Has told it how the write has ended. One who cannot take the answer keeps no other from getting his."""
    try:
        return write.done(written)
    except Exception:
        _log.exception("a write's end could not be told")
        return _nobody


def _nobody() -> None:
    """Wakes nobody."""


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


def _ops(old: int, rows: int) -> npt.NDArray[np.int8]:
    """Those of old rows, and then of new ones."""
    ops = np.full(rows, INSERT, np.int8)
    ops[:old] = DELETE
    return ops


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _changed(newest: ChangingRows, write: RowChange) -> int | None:
    if write.row is None:
        return None if write.change is None else newest.change(write.key, write.change)
    try:
        return newest.insert(write.key, write.row(), write.change)
    except SqlError:  # it cannot be computed
        return None


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
