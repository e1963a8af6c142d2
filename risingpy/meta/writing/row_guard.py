"""UNIQUE, FOREIGN KEY and CHECK of new rows that go into the log with a group: looked at by the rows' keys alone.

    UNIQUE        its key is locked, and no row has it: neither the log's last one of that key, nor a committed one
    FOREIGN KEY   the table it refers to stays as it is, and has the row
    primary key   no row has it: one that is replaced would give up its keys

Nobody waits here, and nobody is told of an error. A row stays out if somebody else has its key, if only an epoch would
tell, or if it breaks a rule: the long way waits for it, or raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from risingpy.meta.writing.dml_log import DmlLog
from risingpy.meta.writing.row_keys import RowKey, values_as_keys
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.meta.writing.unique_key import CannotCompute, UniqueKey
from risingpy.plan.catalog import Index, Table
from risingpy.types import SqlType

Columns = Sequence[pa.Array]
Passes = Callable[[Columns], Sequence[bool]]
"""For rows (all columns): whether each is one that CHECK allows. False also if only the evaluator can tell."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: the table to which it refers, by its primary key or a unique index, and the columns that refer.

    `places` are these columns' positions, in the order of that key; `types` those of both.
    """

    target: Table
    index: Index | None
    places: tuple[int, ...]
    types: tuple[SqlType, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Keys whose committed rows are asked for: of a table's primary key, or of a unique index of it.

    They are those of some `rows` of a group, whose rows all have `values`.
    """

    table: Table
    index: Index | None
    keys: Sequence[RowKey]
    rows: Sequence[int]
    values: Columns

    def columns(self) -> Columns:
        """The keys as arrays."""
        if len(self.rows) == len(self.values[0]):
            return self.values
        taken = pa.array(self.rows, pa.int64())
        return [column.take(taken) for column in self.values]


FindRows = Callable[[Sequence[Asked]], Sequence[Sequence[int]]]
"""For each: the numbers of those keys that a committed row has. All are looked up in the same state."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Which of some rows may be written, and all their keys, in each unique index by its id."""

    allowed: Sequence[bool]
    unique_keys: Mapping[int, Sequence[RowKey]]


@dataclass(frozen=True, slots=True)
class RowGuard:
    """What guards new rows of a table. `unique` are its unique indexes, and what keys rows have there."""

    table: Table
    unique: tuple[tuple[Index, UniqueKey], ...]
    references: tuple[Reference, ...]
    passes: Passes | None
    find_rows: FindRows

    def look(self, columns: Columns, keys: Sequence[RowKey], log: DmlLog, locks: TableLocks, held: ExitStack) -> Looked:
        """Looks at rows (all columns) that are to be written now. Their primary `keys`, if any, are locked; the rest is
        `held` after this.

        Raises SqlError if a table or an index is somebody else's.
        """
        look = _Look(self, columns, log, locks, held)
        if self.passes is not None:
            look.allowed = list(map(bool, self.passes(columns)))
        if self.table.primary_key:
            look.at_primary_keys(keys)
        for index, key in self.unique:
            look.at_unique_keys(index, key)
        for reference in self.references:
            look.at_reference(reference)
        look.at_committed_rows()
        return Looked(look.allowed, look.unique_keys)


@dataclass(frozen=True, slots=True)
class _Question:
    """Rows whose newest row of a key only the committed state has, if any; whether they need it."""

    asked: Asked
    must_stand: bool


class _Look:
    """One look at new rows; `allowed` says of each whether nothing has been found against it.

    The log is looked at before the committed state, of all keys: an epoch may take rows from there between.
    """

    def __init__(self, guard: RowGuard, columns: Columns, log: DmlLog, locks: TableLocks, held: ExitStack) -> None:
        self.allowed = [True] * len(columns[0])
        self._guard = guard
        self._columns = columns
        self._log = log
        self._locks = locks
        self._held = held
        self._questions: list[_Question] = []
        self.unique_keys: dict[int, Sequence[RowKey]] = {}

    def at_primary_keys(self, keys: Sequence[RowKey]) -> None:
        table = self._guard.table
        rows = self._first_of_each(keys)
        values = [self._columns[place] for place in table.primary_key]
        self._look_up(table, None, values, keys, rows, must_stand=False)

    def at_unique_keys(self, index: Index, key: UniqueKey) -> None:
        try:
            values = key.values(self._columns)
        except CannotCompute:
            self._refuse(range(len(self.allowed)))
            return
        keys = self.unique_keys[index.relation_id] = values_as_keys(key.types, values)
        rows, locks = self._first_of_each(keys), self._locks
        self._held.callback(locks.acquire(index.relation_id, LockMode.KEYS, wait=False).release)
        rows_held = locks.take_free_rows(index.relation_id, [keys[row] for row in rows])
        self._held.callback(rows_held.release)
        if len(rows_held.keys) < len(rows):
            free = frozenset(rows_held.keys)
            self._refuse([row for row in rows if keys[row] not in free])
            rows = [row for row in rows if keys[row] in free]
        self._look_up(self._guard.table, index, values, keys, rows, must_stand=False)

    def at_reference(self, reference: Reference) -> None:
        target, index = reference.target, reference.index
        self._held.callback(self._locks.acquire(target.relation_id, LockMode.FORM, wait=False).release)
        values = [self._columns[place] for place in reference.places]
        keys = values_as_keys(reference.types, values)
        rows = [row for row, key in enumerate(keys) if self.allowed[row] and None not in key]
        self._look_up(target, index, values, keys, rows, must_stand=True)

    def at_committed_rows(self) -> None:
        """The last: what the log did not know."""
        if not self._questions:
            return
        answers = self._guard.find_rows([each.asked for each in self._questions])
        for question, found in zip(self._questions, answers, strict=True):
            rows = question.asked.rows
            standing = {rows[number] for number in found}
            self._refuse([row for row in rows if (row in standing) is not question.must_stand])

    def _look_up(
        self,
        table: Table,
        index: Index | None,
        values: Columns,
        keys: Sequence[RowKey],
        rows: Sequence[int],
        *,
        must_stand: bool,
    ) -> None:
        """Looks at what the log has of the keys of these rows, which are locked, or whose table is."""
        if not rows:
            return
        of = None if index is None else table.relation_id
        pending = self._log.pending_of_each(
            table.relation_id if index is None else index.relation_id, [keys[row] for row in rows], of
        )
        asked = []
        for row, each in zip(rows, pending, strict=True):
            if each is None:
                asked.append(row)
            elif isinstance(each, int) or each.version != table.version or (each.place is not None) is not must_stand:
                self.allowed[row] = False  # only an epoch tells, or a rule is broken
        if asked:
            whose = [keys[row] for row in asked]
            self._questions.append(_Question(Asked(table, index, whose, asked, values), must_stand))

    def _first_of_each(self, keys: Sequence[RowKey]) -> list[int]:
        """The rows to look at. One whose key an earlier row has is refused; a key with a NULL is like no other."""
        seen: set[RowKey] = set()
        rows = []
        for row, key in enumerate(keys):
            if None in key or not self.allowed[row]:
                continue
            if key in seen:
                self.allowed[row] = False
            else:
                seen.add(key)
                rows.append(row)
        return rows

    def _refuse(self, rows: Iterable[int]) -> None:
        for row in rows:
            self.allowed[row] = False
