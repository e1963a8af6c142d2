"""What a group of UPDATEs and DELETEs of single rows makes of a table's rows, whose keys are locked.

    key 1: n = n + 1;  key 2: deleted;  key 1: n = n + 1   →   −(1, 5) −(2, 9) +(1, 7)

Statements on one row follow each other here as they came: each has the row that the one before it has left. The log
gets what the row was and what it is in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.meta.writing.pending_rows import PendingRow
from risingpy.meta.writing.row_keys import RowKey, keys_of
from risingpy.plan.catalog import Table
from risingpy.types.far_moments import values_of

Old = Callable[[int], object]

Change = Callable[[Old], "Mapping[int, object] | None"]
"""The new values of the columns that change, from the old ones; None: the row goes. Raises SqlError."""

FindPending = Callable[[int, RowKey], "PendingRow | int | None"]
FindCommitted = Callable[[Table, pa.Table], pa.Table]


@dataclass(slots=True)
class _RowState:
    """A row: at which place of the standing rows it is (None: it is none of them), and what has changed."""

    place: int | None
    is_there: bool
    new: dict[int, object] = field(default_factory=dict)

    @property
    def has_changed(self) -> bool:
        return bool(self.new) if self.is_there else self.place is not None


class ChangingRows:
    """The newest rows of some keys of a table: the last in the log, else the committed ones."""

    def __init__(self, table: Table, keys: Sequence[RowKey], pending: FindPending, committed: FindCommitted) -> None:
        """Raises SqlError if committed rows cannot be read."""
        self._table = table
        self._states: dict[RowKey, _RowState] = {}
        self._unknown: set[RowKey] = set()  # only who waits for an epoch learns what these are
        chunks: dict[int, tuple[pa.Table, list[RowKey], list[int]]] = {}
        left: list[RowKey] = []
        for key in dict.fromkeys(keys):
            found = pending(table.relation_id, key)
            if found is None:
                left.append(key)
            elif isinstance(found, int) or found.version != table.version:
                self._unknown.add(key)
            elif found.place is None:
                self._states[key] = _RowState(None, is_there=False)
            else:
                _, of_chunk, places = chunks.setdefault(id(found.chunk), (found.chunk, [], []))
                of_chunk.append(key)
                places.append(found.place)
        pieces, standing = [], []
        for chunk, of_chunk, places in chunks.values():
            pieces.append(chunk.take(pa.array(places)).drop_columns(["op"]))
            standing += of_chunk
        if left:
            found_rows = committed(table, _key_columns(table, left))
            pieces.append(found_rows)
            standing += keys_of(table, [found_rows.column(index) for index in table.primary_key])
        self._rows = pa.concat_tables(pieces).combine_chunks() if pieces else _no_rows(table)
        self._states.update({key: _RowState(place, is_there=True) for place, key in enumerate(standing)})
        for key in left:
            self._states.setdefault(key, _RowState(None, is_there=False))
        self._values: dict[int, list[object]] = {}

    def change(self, key: RowKey, change: Change) -> int | None:
        """Does one change; how many rows it has found. None, and nothing is done, if it must take the long way."""
        if key in self._unknown:
            return None
        state = self._states[key]
        if not state.is_there:
            return 0
        try:
            new = change(self._old(state))
        except SqlError:
            return None
        if new is None:
            state.is_there, state.new = False, {}
        else:
            state.new.update(new)
        return 1

    def insert(self, key: RowKey, row: Sequence[object], change: Change | None) -> int | None:
        """Adds a row (all columns), or does the change of the one that stands; without one, nothing. As `change`."""
        if key in self._unknown:
            return None
        state = self._states[key]
        if not state.is_there:
            state.is_there, state.new = True, dict(enumerate(row))
            return 1
        return 0 if change is None else self.change(key, change)

    def _old(self, state: _RowState) -> Old:
        place = state.place

        def old(column: int) -> object:
            if column in state.new:
                return state.new[column]
            assert place is not None  # a row that was added has all its columns in `new`
            return self._column(column)[place]

        return old

    def changed(self) -> tuple[pa.Table, list[pa.Array], list[RowKey]] | None:
        """The rows that have changed as they were, all columns of those that stand as they are now, and the keys.

        The keys are those of the old rows, then those of the new ones. None if nothing has changed.
        """
        changed = [(key, each) for key, each in self._states.items() if each.has_changed]
        if not changed:
            return None
        gone = [(key, each.place) for key, each in changed if each.place is not None]
        old = self._rows.take(pa.array([place for _, place in gone], pa.int64()))
        standing = [(key, each) for key, each in changed if each.is_there]
        columns = []
        for column, described in enumerate(self._table.columns):
            if any(column in each.new for _, each in standing):
                olds = [self._old(each) for _, each in standing]
                columns.append(pa.array([each(column) for each in olds], described.type.arrow))
            else:
                columns.append(
                    self._rows.column(column).take(pa.array([each.place for _, each in standing], pa.int64()))
                )
        return old, columns, [key for key, _ in gone] + [key for key, _ in standing]

    def _column(self, column: int) -> list[object]:
        values = self._values.get(column)
        if values is None:
            values = self._values[column] = values_of(self._rows.column(column))
        return values


def _no_rows(table: Table) -> pa.Table:
    return pa.table({f"c{index}": pa.array([], column.type.arrow) for index, column in enumerate(table.columns)})


def _key_columns(table: Table, keys: Sequence[RowKey]) -> pa.Table:
    columns = zip(table.primary_key, zip(*keys, strict=True), strict=True)
    return pa.table({f"c{index}": pa.array(values, table.columns[index].type.arrow) for index, values in columns})
