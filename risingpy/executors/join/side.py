"""One side of a join in one epoch: its changes, its tables, and the stored rows that match the other side's changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT
from risingpy.executors.join.keys import Keys
from risingpy.executors.join.pairs import RowsByKey, pairs
from risingpy.functions.aggregate.grouping import canonical_column, encoded_rows
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.state_table import StateTable

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ROWS_PER_PAGE = 1 << 16  # so many stored rows are read at a time: a hot key may have any number of rows


@dataclass(slots=True)
class SideRows:
    """Rows of a side: the input's columns, and the number of each row's key."""

    columns: list[pa.Array]
    codes: Integers

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Integers | Mask) -> SideRows:
        positions = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        if len(positions) == len(self.codes) and np.array_equal(positions, np.arange(len(positions))):
            return self
        taken = pa.array(positions)
        return SideRows([column.take(taken) for column in self.columns], self.codes[positions])


@dataclass(slots=True)
class Changed:
    """A side's rows that went, or those that came. `keys`: how many keys there are. `matches`: each row's so far."""

    rows: SideRows
    keys: int
    matches: Integers
    _index: RowsByKey | None = None

    @classmethod
    def of(cls, rows: SideRows, keys: int) -> Changed:
        return cls(rows, keys, np.zeros(len(rows), np.int64))

    @property
    def index(self) -> RowsByKey:
        """The rows by key."""
        if self._index is None:
            self._index = RowsByKey.of(self.rows.codes, self.keys)
        return self._index

    def pairs(self, rows: SideRows, limit: int) -> Iterator[tuple[Integers, Integers]]:
        """Pairs of equal key: positions in `rows` and in the changed rows. The smaller of the two is indexed."""
        if self._index is not None or len(self.rows) <= len(rows):
            yield from pairs(rows.codes, self.index, limit)
            return
        for j, i in pairs(self.rows.codes, RowsByKey.of(rows.codes, self.keys), limit):
            yield i, j


@dataclass(frozen=True, slots=True)
class SideLayout:
    """What is the same in all epochs. `table` begins with the input's `width` columns; `key` are the join key's."""

    key: tuple[int, ...]
    table: TableSchema
    width: int

    @property
    def holds_one_row_per_key(self) -> bool:
        return len(self.table.key) == len(self.key)


@dataclass(slots=True)
class JoinedSide:
    """One side in one epoch. Tables are read as they were before the epoch, and written at its end."""

    layout: SideLayout
    table: StateTable
    degrees: StateTable | None
    keys: Keys
    went: Changed
    came: Changed
    _new_degrees: list[tuple[list[pa.Array], Integers]] = field(default_factory=list)

    def kept_rows(self, codes: Integers) -> Iterator[SideRows]:
        """The stored rows of the keys in `codes`, without those that go in this epoch."""
        if not len(codes):
            return
        numbers, values = self.keys.of(codes)
        goes = np.zeros(self.keys.number, np.bool_)
        goes[self.went.rows.codes] = True
        for rows in self._stored_rows(numbers, values):
            kept = self._without_going(rows, goes)
            if len(kept):
                yield kept

    def _stored_rows(self, numbers: Integers, values: Sequence[pa.Array]) -> Iterator[SideRows]:
        if not self.layout.key:  # a nested-loop join: all rows have the same, empty key
            for count, columns in self.table.scan_pages(ROWS_PER_PAGE):
                yield SideRows(columns[: self.layout.width], np.zeros(count, np.int64))
            return
        if self.layout.holds_one_row_per_key:
            found, stored = self.table.get_rows(values)
            yield SideRows(self._row_columns(values, stored), numbers).take(found)
            return
        for owners, columns in self.table.scan_prefix_pages(values, ROWS_PER_PAGE):
            yield SideRows(columns[: self.layout.width], numbers[owners])

    def _row_columns(self, key: Sequence[pa.Array], stored: Sequence[pa.Array]) -> list[pa.Array]:
        schema = self.layout.table
        columns = dict(zip((column.index for column in schema.key), key, strict=True))
        columns |= dict(zip(schema.value_columns, stored, strict=True))
        return [columns[i] for i in range(self.layout.width)]

    def _without_going(self, rows: SideRows, goes: Mask) -> SideRows:
        candidates = np.flatnonzero(goes[rows.codes])
        if not len(candidates):
            return rows
        gone = pc.is_in(self.identities(rows.take(candidates)), self.identities(self.went.rows))
        stays = np.ones(len(rows), np.bool_)
        stays[candidates] = ~gone.to_numpy(zero_copy_only=False)
        return rows.take(stays)

    def identities(self, rows: SideRows) -> pa.BinaryArray:
        """One byte string per row, different from those of the side's other rows: its encoded table key."""
        key = self._table_key(rows)
        types = [self.layout.table.columns[column.index].type for column in self.layout.table.key]
        return encoded_rows(key, types, len(rows))

    def _table_key(self, rows: SideRows) -> list[pa.Array]:
        columns = self._table_columns(rows)
        return [columns[column.index] for column in self.layout.table.key]

    def _table_columns(self, rows: SideRows) -> list[pa.Array]:
        """The input's columns, then the canonical form of each key column whose type has several forms of a value."""
        schema = self.layout.table
        columns = list(rows.columns)
        for column, index in zip(schema.key, self.layout.key, strict=False):
            if column.index >= self.layout.width:
                columns.append(canonical_column(rows.columns[index], schema.columns[column.index].type))
        return columns

    def stored_degrees(self, rows: SideRows) -> Integers:
        """How many matches each of the stored `rows` had before the epoch."""
        assert self.degrees is not None
        _, (degrees,) = self.degrees.get_rows(self._table_key(rows))
        return np.asarray(degrees.fill_null(0).to_numpy(zero_copy_only=False), np.int64)

    def note_degrees(self, rows: SideRows, degrees: Integers) -> None:
        """Remembers `degrees` to be stored for `rows`; a row without matches gets no entry."""
        if len(rows):
            self._new_degrees.append((self._table_key(rows), degrees))

    def write(self) -> None:
        """Brings the tables up to date."""
        for changed, op in ((self.went, DELETE), (self.came, INSERT)):
            if len(changed.rows):
                self.table.apply_changes(np.full(len(changed.rows), op, np.int8), self._table_columns(changed.rows))
        if self.degrees is None:
            return
        had = self.went.matches > 0
        self._write_degrees(self._table_key(self.went.rows.take(had)), np.zeros(int(had.sum()), np.int64))
        has = self.came.matches > 0
        self._new_degrees.append((self._table_key(self.came.rows.take(has)), self.came.matches[has]))
        for key, degrees in self._new_degrees:
            self._write_degrees(key, degrees)

    def _write_degrees(self, key: Sequence[pa.Array], degrees: Integers) -> None:
        assert self.degrees is not None
        ops = np.where(degrees > 0, INSERT, DELETE).astype(np.int8)
        self.degrees.apply(ops, [*key, pa.array(degrees)])
