"""The rows that short statements of a transaction have written, in plain Python until its commit, or until Arrow asks.

    UPDATE … id = 1; UPDATE … id = 1; INSERT … id = 2   →   −(1, 5) +(1, 7) +(2, 0)

A row is a list of datums (`storage/codec/datum_columns`), one for each column of its table. Of each key the log gets
the row that stood before, and the one that stands in the end: what happened in between concerns the transaction alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.meta.writing.row_keys import RowKey
from risingpy.plan.catalog import Table
from risingpy.storage.codec.datum_columns import Datum, column_of

_NUMBER_BYTES = 8  # of a row's number

RowDatums = Sequence[Datum]


@dataclass(slots=True)
class KeptRow:
    """What became of the row of a key: the one that goes (None: none is known that does), and the one that stands."""

    first: RowDatums | None
    last: RowDatums | None

    def become(self, row: RowDatums | None) -> None:
        """It is another row now; None: there is none."""
        if row is None and self.first is None:
            self.first = self.last  # a row that was added without a look at what had its key: the key goes in any case
        self.last = row


@dataclass(slots=True)
class _OfTable:
    """A table's rows: by their keys, and those of a table without a primary key, which yet lack their numbers."""

    table: Table
    by_key: dict[RowKey, KeptRow] = field(default_factory=dict)
    added: list[RowDatums] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KeptChunk:
    """A table's change chunk, and the keys of its rows; None if the table has no primary key."""

    table: Table
    chunk: pa.Table
    keys: Sequence[RowKey] | None


class KeptRows:
    """Of one transaction; for its session's thread until the commit begins. Tables have the form of their statements.

    `count` says how many rows were written, those included that have gone since.
    """

    def __init__(self) -> None:
        self.count = 0
        self._tables: dict[int, _OfTable] = {}

    @property
    def table_ids(self) -> KeysView[int]:
        return self._tables.keys()

    @property
    def tables(self) -> list[Table]:
        return [each.table for each in self._tables.values()]

    def find(self, table_id: int, key: RowKey) -> KeptRow | None:
        """What has become of a key's row; None: nothing was written for it."""
        of_table = self._tables.get(table_id)
        return None if of_table is None else of_table.by_key.get(key)

    def takes(self, table: Table) -> bool:
        """Whether rows of this form of the table can be added to what is there."""
        of_table = self._tables.get(table.relation_id)
        return of_table is None or (of_table.table.version, of_table.table.rules) == (table.version, table.rules)

    def put(self, table: Table, key: RowKey, old: RowDatums | None, new: RowDatums | None) -> None:
        """The row of a key becomes `new`. `old` is the one before this statement; None: nobody has looked for it."""
        self.count += 1
        rows = self._of(table).by_key
        kept = rows.get(key)
        if kept is None:
            rows[key] = KeptRow(old, new)
        else:
            kept.become(new)

    def add(self, table: Table, row: RowDatums) -> None:
        """Adds a row, without its number, to a table that has no primary key."""
        self.count += 1
        self._of(table).added.append(row)

    def keyed(self) -> Iterator[tuple[int, RowKey, KeptRow]]:
        """All rows that have a key, with the ids of their tables."""
        for table_id, of_table in self._tables.items():
            for key, row in of_table.by_key.items():
                yield table_id, key, row

    def _of(self, table: Table) -> _OfTable:
        of_table = self._tables.get(table.relation_id)
        if of_table is None:
            of_table = self._tables[table.relation_id] = _OfTable(table)
        return of_table

    def add_to(self, merged: dict[int, _OfTable]) -> None:
        """Adds the rows to those of transactions before it, by table."""
        for table_id, of_table in self._tables.items():
            into = merged.get(table_id)
            if into is None:
                into = merged[table_id] = _OfTable(of_table.table)
            into.added += of_table.added
            for key, row in of_table.by_key.items():
                known = into.by_key.get(key)
                if known is None:
                    into.by_key[key] = KeptRow(row.first, row.last)
                else:
                    known.become(row.last)


def chunks_of(transactions: Iterable[KeptRows], next_numbers: Callable[[int], int]) -> list[KeptChunk]:
    """The chunks of transactions that follow each other, as if they were one, by the ids of their tables.

    `next_numbers` gives the first of so many numbers for rows without a key.
    """
    merged: dict[int, _OfTable] = {}
    for kept in transactions:
        kept.add_to(merged)
    return [_chunk(merged[table_id], next_numbers) for table_id in sorted(merged)]


def _chunk(of_table: _OfTable, next_numbers: Callable[[int], int]) -> KeptChunk:
    table, added = of_table.table, of_table.added
    gone = [(key, row.first) for key, row in of_table.by_key.items() if row.first is not None]
    come = [(key, row.last) for key, row in of_table.by_key.items() if row.last is not None]
    if added and len(added[0]) < len(table.columns):
        first = next_numbers(len(added))
        added = [[*row, (first + place).to_bytes(_NUMBER_BYTES, "little")] for place, row in enumerate(added)]
    rows = [row for _, row in (*gone, *come)] + list(added)
    ops = np.full(len(rows), INSERT, np.int8)
    ops[: len(gone)] = DELETE
    pieces = zip(zip(*rows, strict=True), table.columns, strict=True) if rows else ()
    columns = [column_of(datums, column.type.arrow) for datums, column in pieces]
    if not rows:
        columns = [pa.array([], column.type.arrow) for column in table.columns]
    keys = [key for key, _ in (*gone, *come)]
    return KeptChunk(table, make_chunk(ops, columns), keys if table.primary_key else None)
