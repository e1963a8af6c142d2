"""A transaction's own changes, as its statements ask for them: the newest row of a key, and a table's chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from risingpy.errors import StalePlan
from risingpy.meta.writing.dml_log import TableChange
from risingpy.meta.writing.pending_rows import KeyedChunk, NewestRows, PendingRow
from risingpy.meta.writing.row_keys import RowKey, keys_of
from risingpy.meta.writing.unique_key import unique_key
from risingpy.plan.catalog import Index, Table

_MOST_CHUNKS = 32  # of a table, before they become one


@dataclass(slots=True)
class OwnRows:
    """The newest rows among a transaction's changes, by key; each change is looked at once, when somebody asks."""

    rows: NewestRows = field(default_factory=NewestRows)
    large: set[int] = field(default_factory=set)  # the tables with a change of so many rows that nobody should ask
    seen: dict[int, int] = field(default_factory=dict)  # by table: how many of the changes the rows have

    def find(
        self, changes: Sequence[TableChange], table: Table, key: RowKey, index: Index | None = None
    ) -> PendingRow | None:
        """The last row of a primary key, or of a key of a unique index."""
        (found,) = self.find_each(changes, table, (key,), index)
        return found

    def find_each(
        self, changes: Sequence[TableChange], table: Table, asked: Sequence[RowKey], index: Index | None = None
    ) -> list[PendingRow | None]:
        """The same of each key that is asked for."""
        kept = table.relation_id if index is None else index.relation_id
        for place in range(self.seen.get(kept, 0), len(changes)):
            change = changes[place]
            if change.table_id == table.relation_id:
                _check_version(change, table)
                self.rows.add(KeyedChunk(kept, change.version, change.chunk, _keys(table, index, change.chunk)))
        self.seen[kept] = len(changes)
        return self.rows.find_each(kept, asked)


def _keys(table: Table, index: Index | None, chunk: pa.Table) -> list[RowKey]:
    columns = chunk.columns[1:]
    if index is None:
        return keys_of(table, [columns[place] for place in table.primary_key])
    key = unique_key(table, index)
    assert key is not None  # whoever asks by an index knows that rows are found by its keys
    return key.keys(columns)


@dataclass(slots=True)
class OwnChunks:
    """A transaction's chunks by table; each change is looked at once, when somebody asks.

    Many small chunks become one from time to time: each statement of a long transaction reads all of them.
    """

    seen: int = 0  # how many of the changes were looked at
    tables: dict[int, list[pa.Table]] = field(default_factory=dict)
    newest: dict[int, TableChange] = field(default_factory=dict)

    def look_at(self, changes: Sequence[TableChange]) -> None:
        for place in range(self.seen, len(changes)):
            change = changes[place]
            if change.table_id in self.newest and change.version != self.newest[change.table_id].version:
                continue  # `newest` is of the table's form before an ALTER, for which `of` raises
            self.newest[change.table_id] = change
            chunks = self.tables.setdefault(change.table_id, [])
            chunks.append(change.chunk)
            if len(chunks) > _MOST_CHUNKS:
                chunks[:] = [pa.concat_tables(chunks).combine_chunks()]
        self.seen = len(changes)

    def of(self, table: Table) -> list[pa.Table]:
        """The chunks of a table. Raises StalePlan if the table has another form now."""
        if table.relation_id not in self.newest:
            return []
        _check_version(self.newest[table.relation_id], table)
        return list(self.tables[table.relation_id])


def _check_version(change: TableChange, table: Table) -> None:
    """Raises StalePlan if the change has the table's form before an ALTER: the commit would refuse it."""
    if change.version != table.version:
        raise StalePlan(
            f'table "{table.name}" was altered after this transaction had written to it',
            hint="Run the transaction again.",
        )


def discard_spills(changes: Iterable[TableChange]) -> None:
    """The changes will not be logged: their files go."""
    for change in changes:
        if change.spill is not None:
            change.spill.discard()
