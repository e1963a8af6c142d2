"""UNIQUE, FOREIGN KEY and CHECK of new rows that go into the log with a group: looked at by the rows' keys alone.

    UNIQUE        its key is locked, and no row has it: neither the log's last one of that key, nor a committed one
    FOREIGN KEY   the table it refers to stays as it is, and has the row
    primary key   no row has it: one that is replaced would give up its keys

Nobody waits here, and nobody is told of an error. A row stays out if somebody else has its key, if only an epoch would
tell, or if it breaks a rule: the long way waits for it, or raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.meta.writing.dml_log import DmlLog
from risingpy.meta.writing.row_changes import FindCommitted
from risingpy.meta.writing.row_keys import RowKey, keys_at, keys_of, unique_places
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import Index, Table

Mask = npt.NDArray[np.bool_]
Columns = Sequence[pa.Array]
Passes = Callable[[Columns], Sequence[bool]]
"""For rows (all columns): whether each is one that CHECK allows. False also if only the evaluator can tell."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: the table to which it refers, by its primary key or a unique index, and the columns that refer.

    `places` are these columns' positions, in the order of that key.
    """

    target: Table
    index: Index | None
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowGuard:
    """What guards new rows of a table. `unique` has the positions of the columns of each index.

    `committed` finds committed rows, `has_committed` tells whether any of some primary keys has one, and `by_index`
    gives the numbers of those keys of an index that have one.
    """

    table: Table
    unique: tuple[tuple[Index, tuple[int, ...]], ...]
    references: tuple[Reference, ...]
    passes: Passes | None
    committed: FindCommitted
    has_committed: Callable[[Table, pa.Table], bool]
    by_index: Callable[[Index, Columns], list[int]]

    def look(self, columns: Columns, log: DmlLog, locks: TableLocks, held: ExitStack) -> Mask:
        """Which of the rows (all columns) may be written now. Their primary keys are locked; all else gets `held`.

        Raises SqlError if a table or an index is somebody else's.
        """
        allowed = np.ones(len(columns[0]), np.bool_)
        if self.passes is not None:
            allowed &= np.array(self.passes(columns), np.bool_)
        if self.table.primary_key:
            allowed &= self._are_new(columns, log)
        for index, places in self.unique:
            allowed &= self._are_unique(index, places, columns, log, locks, held)
        for reference in self.references:
            allowed &= self._refer(reference, columns, log, locks, held)
        return allowed

    def _are_new(self, columns: Columns, log: DmlLog) -> Mask:
        table = self.table
        keys = keys_of(table, [columns[place] for place in table.primary_key])
        allowed, asked = _first_of_each(keys), list[int]()
        for row in np.flatnonzero(allowed).tolist():
            standing = _in_log(log, table, table.relation_id, keys[row])
            if standing is None:
                asked.append(row)
            else:
                allowed[row] = standing is _Standing.GONE
        names = [f"c{place}" for place in table.primary_key]
        rows = pa.table([_taken(columns[place], asked) for place in table.primary_key], names=names)
        if asked and self.has_committed(table, rows):
            found = self.committed(table, rows)
            standing_keys = set(keys_of(table, [found.column(f"c{place}") for place in table.primary_key]))
            allowed[[row for row in asked if keys[row] in standing_keys]] = False
        return allowed

    def _are_unique(
        self,
        index: Index,
        places: tuple[int, ...],
        columns: Columns,
        log: DmlLog,
        locks: TableLocks,
        held: ExitStack,
    ) -> Mask:
        keys = keys_at(self.table, places, [columns[place] for place in places])
        allowed, asked = _first_of_each(keys), list[int]()
        held.callback(locks.acquire(index.relation_id, LockMode.KEYS, wait=False).release)
        rows_held = locks.take_free_rows(index.relation_id, {key for key in keys if None not in key})
        held.callback(rows_held.release)
        free = frozenset(rows_held.keys)
        for row in np.flatnonzero(allowed).tolist():
            if None in keys[row]:
                continue
            standing = (
                _Standing.UNKNOWN if keys[row] not in free else _in_log(log, self.table, index.relation_id, keys[row])
            )
            if standing is None:
                asked.append(row)
            else:
                allowed[row] = standing is _Standing.GONE
        allowed[[asked[number] for number in self._found(index, [columns[place] for place in places], asked)]] = False
        return allowed

    def _refer(self, reference: Reference, columns: Columns, log: DmlLog, locks: TableLocks, held: ExitStack) -> Mask:
        target, index = reference.target, reference.index
        held.callback(locks.acquire(target.relation_id, LockMode.FORM, wait=False).release)
        at = target.primary_key if index is None else unique_places(target, index) or ()
        referring = [columns[place] for place in reference.places]
        keys = keys_at(target, at, referring)
        allowed, asked = np.ones(len(keys), np.bool_), list[int]()
        for row, key in enumerate(keys):
            if None in key:
                continue
            standing = _in_log(log, target, target.relation_id if index is None else index.relation_id, key)
            if standing is None:
                asked.append(row)
            allowed[row] = standing is _Standing.STANDS
        if index is not None:
            allowed[[asked[number] for number in self._found(index, referring, asked)]] = True
        elif asked:
            wanted = pa.table([_taken(c, asked) for c in referring], names=[f"c{place}" for place in at])
            found = self.committed(target, _each_once(wanted))
            there = set(keys_of(target, [found.column(f"c{place}") for place in at]))
            allowed[[row for row in asked if keys[row] in there]] = True
        return allowed

    def _found(self, index: Index, columns: Columns, rows: list[int]) -> list[int]:
        """The numbers, among these rows, of those whose key a committed row has."""
        return self.by_index(index, [_taken(c, rows) for c in columns]) if rows else []


class _Standing(Enum):
    """What the log knows of a key."""

    STANDS = auto()  # a row has it
    GONE = auto()  # none has it any more
    UNKNOWN = auto()  # somebody has its lock, or only an epoch tells


def _in_log(log: DmlLog, table: Table, relation_id: int, key: RowKey) -> _Standing | None:
    """What the log knows of a key that is locked, or whose table is; None: the committed state has its newest row."""
    found = log.pending_row(relation_id, key, None if relation_id == table.relation_id else table.relation_id)
    if found is None:
        return None
    if isinstance(found, int) or found.version != table.version:
        return _Standing.UNKNOWN
    return _Standing.GONE if found.place is None else _Standing.STANDS


def _first_of_each(keys: Sequence[RowKey]) -> Mask:
    """False for rows whose key an earlier row has; a key with a NULL is like no other."""
    seen: set[RowKey] = set()
    allowed = np.ones(len(keys), np.bool_)
    for row, key in enumerate(keys):
        if key in seen:
            allowed[row] = False
        elif None not in key:
            seen.add(key)
    return allowed


def _taken(column: pa.Array, rows: list[int]) -> pa.Array:
    return column if len(rows) == len(column) else column.take(pa.array(rows, pa.int64()))


def _each_once(rows: pa.Table) -> pa.Table:
    return rows if rows.num_rows == 1 else rows.group_by(rows.column_names).aggregate([])
