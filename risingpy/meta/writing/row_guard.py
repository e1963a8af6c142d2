"""UNIQUE, FOREIGN KEY and CHECK of new rows that go into the log with a group: looked at by the rows' keys alone.

    UNIQUE        its key is locked, and no row has it: neither the log's last one of that key, nor a committed one
    FOREIGN KEY   the table it refers to stays as it is, and has the row
    primary key   no row has it: one that is replaced would give up its keys

Nobody waits here, and nobody is told of an error. A row stays out if somebody else has its key, if only an epoch would
tell, or if it breaks a rule: the long way waits for it, or raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.meta.writing.dml_log import DmlLog
from risingpy.meta.writing.pending_rows import PendingRow
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

    `by_key` gives the numbers of those primary keys of a table that have a committed row, `by_index` the same of keys
    of an index.
    """

    table: Table
    unique: tuple[tuple[Index, tuple[int, ...]], ...]
    references: tuple[Reference, ...]
    passes: Passes | None
    by_key: Callable[[Table, Columns], list[int]]
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
        for row, standing in _in_log(log, table, table.relation_id, keys, np.flatnonzero(allowed).tolist()):
            if standing is None:
                asked.append(row)
            else:
                allowed[row] = standing is _Standing.GONE
        allowed[self._with_row(table, None, [columns[place] for place in table.primary_key], asked)] = False
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
        told = [row for row in np.flatnonzero(allowed).tolist() if None not in keys[row]]
        allowed[[row for row in told if keys[row] not in free]] = False
        mine = [row for row in told if keys[row] in free]
        for row, standing in _in_log(log, self.table, index.relation_id, keys, mine):
            if standing is None:
                asked.append(row)
            else:
                allowed[row] = standing is _Standing.GONE
        allowed[self._with_row(self.table, index, [columns[place] for place in places], asked)] = False
        return allowed

    def _refer(self, reference: Reference, columns: Columns, log: DmlLog, locks: TableLocks, held: ExitStack) -> Mask:
        target, index = reference.target, reference.index
        held.callback(locks.acquire(target.relation_id, LockMode.FORM, wait=False).release)
        at = target.primary_key if index is None else unique_places(target, index) or ()
        referring = [columns[place] for place in reference.places]
        keys = keys_at(target, at, referring)
        allowed, asked = np.ones(len(keys), np.bool_), list[int]()
        relation_id = target.relation_id if index is None else index.relation_id
        told = [row for row, key in enumerate(keys) if None not in key]
        for row, standing in _in_log(log, target, relation_id, keys, told):
            if standing is None:
                asked.append(row)
            allowed[row] = standing is _Standing.STANDS
        allowed[self._with_row(target, index, referring, asked)] = True
        return allowed

    def _with_row(self, table: Table, index: Index | None, keys: Columns, rows: list[int]) -> list[int]:
        """Those of the rows whose primary key, or key of an index, a committed row of the table has."""
        if not rows:
            return []
        asked = [_taken(column, rows) for column in keys]
        found = self.by_key(table, asked) if index is None else self.by_index(index, asked)
        return [rows[number] for number in found]


class _Standing(Enum):
    """What the log knows of a key."""

    STANDS = auto()  # a row has it
    GONE = auto()  # none has it any more
    UNKNOWN = auto()  # somebody has its lock, or only an epoch tells


def _in_log(
    log: DmlLog, table: Table, relation_id: int, keys: Sequence[RowKey], rows: Sequence[int]
) -> Iterable[tuple[int, _Standing | None]]:
    """What the log knows of these rows' keys, which are locked, or whose table is.

    None: the committed state has the key's newest row.
    """
    of = None if relation_id == table.relation_id else table.relation_id
    found = log.pending_of_each(relation_id, [keys[row] for row in rows], of)
    return zip(rows, (_standing(table, each) for each in found), strict=True)


def _standing(table: Table, found: PendingRow | int | None) -> _Standing | None:
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
