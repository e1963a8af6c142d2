"""A group of a pushed source: changes of its tables, which go to the log together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import UndefinedTable
from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, make_chunk, ops_of
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.writing.dml_log import DmlLog, SourceOffset, Spill, TableChange
from risingpy.plan.catalog import Table
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.types.far_moments import values_of

KEPT_BYTES = 64 << 20  # in memory, per group; more goes through files of the log
MOST_PENDING_ROWS = 4 << 20  # of the log: a source waits while more rows wait for epochs


@dataclass(slots=True)
class _TableChanges:
    """A table's changes: those that are whole, in order, and the file that later ones are being written to."""

    table: Table
    parts: list[TableChange] = field(default_factory=list)
    spill: Spill | None = None

    def add(self, chunk: pa.Table) -> None:
        """Adds changes after all others, to the file if there is one."""
        change = self._change(chunk)
        if self.spill is not None:
            self.spill.append(change.record())
        else:
            self.parts.append(change)

    def to_file(self, made: Spill) -> None:
        """Moves what is in memory to the new file, which gets later changes, too. Files that are whole come before."""
        self.spill = made
        for part in self.parts:
            if part.spill is None:
                made.append(part.record())
        self.parts = [part for part in self.parts if part.spill is not None]

    def whole(self) -> list[TableChange]:
        """All changes; the file ends here."""
        if self.spill is not None:
            spill, self.spill = self.spill, None
            self.parts.append(TableChange(self.table.relation_id, self.table.version, spill.finish(), spill))
        return self.parts

    def discard(self) -> None:
        for spill in (self.spill, *(part.spill for part in self.parts)):
            if spill is not None:
                spill.discard()

    def _change(self, chunk: pa.Table) -> TableChange:
        return TableChange(self.table.relation_id, self.table.version, chunk)


class FeedGroup:
    """Implements `PushedGroup`. Of tables that were dropped meanwhile it takes nothing."""

    def __init__(
        self,
        source_id: int,
        log: DmlLog,
        published: PublishedState,
        wait_for_lsn: Callable[[int], object],
        stopping: threading.Event,
        decode: Callable[[Table, pa.Table], pa.Table],
    ) -> None:
        """`decode` makes changes of a table of messages."""
        self._decode = decode
        self._source_id = source_id
        self._log = log
        self._published = published
        self._wait_for_lsn = wait_for_lsn
        self._stopping = stopping
        self._changes: dict[int, _TableChanges] = {}
        self._kept_bytes = 0

    def add(self, table_id: int, chunk: pa.Table) -> None:
        changes = self._changes_of(table_id)
        if changes is None or not chunk.num_rows:
            return
        changes.add(chunk)
        if changes.spill is None:
            self._kept_bytes += chunk.nbytes
            if self._kept_bytes > KEPT_BYTES:
                self._spill_all()

    def add_messages(self, table_id: int, messages: pa.Table) -> None:
        changes = self._changes_of(table_id)
        if changes is not None and messages.num_rows:
            self.add(table_id, self._decode(changes.table, messages))

    def delete_all(self, table_id: int) -> None:
        changes = self._changes_of(table_id)
        if changes is None:
            return
        changes.discard()
        del self._changes[table_id]
        table = changes.table
        self._wait_for_lsn(self._log.last_lsn)
        _, view = self._published.acquire_view()
        try:
            key = [column.index for column in table.table.key]
            for batch in StorageTable(table.table, view).scan(key):
                self.add(table_id, _deletions(table, batch))
        finally:
            view.release()

    def current(self, table_id: int, keys: Sequence[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
        changes = self._changes_of(table_id)
        if changes is None:
            raise UndefinedTable("the table was dropped meanwhile")
        table = changes.table
        self._wait_for_lsn(self._log.last_lsn)
        _, view = self._published.acquire_view()
        try:
            found, values = StorageTable(table.table, view).get_rows(keys, table.table.value_columns)
        finally:
            view.release()
        columns: list[pa.Array] = [pa.nulls(len(found), column.type.arrow) for column in table.columns]
        for column, array in zip(table.table.key, keys, strict=True):
            columns[column.index] = array
        for index, array in zip(table.table.value_columns, values, strict=True):
            columns[index] = array
        return _with_changes(table, found, columns, keys, [part.chunk for part in changes.whole()])

    def commit(self, offset: str | None) -> None:
        while self._log.pending_rows > MOST_PENDING_ROWS and not self._stopping.wait(0.05):
            pass
        changes = [part for of_table in self._changes.values() for part in of_table.whole()]
        relations = self._published.state.catalog.relations
        for change in changes:
            if change.spill is not None and change.table_id not in relations:
                change.spill.discard()
        changes = [change for change in changes if change.table_id in relations]
        self._changes, self._kept_bytes = {}, 0  # now: if the log fails, it may have the files nevertheless
        if changes or offset is not None:
            self._log.append(changes, None if offset is None else SourceOffset(self._source_id, offset))

    def discard(self) -> None:
        for changes in self._changes.values():
            changes.discard()
        self._changes, self._kept_bytes = {}, 0

    def _changes_of(self, table_id: int) -> _TableChanges | None:
        """The table's changes so far; None if it is not there any more."""
        if table_id not in self._changes:
            table = self._published.state.catalog.relations.get(table_id)
            if not isinstance(table, Table):
                return None
            self._changes[table_id] = _TableChanges(table)
        return self._changes[table_id]

    def _spill_all(self) -> None:
        self._kept_bytes = 0
        for changes in self._changes.values():
            if changes.spill is None and any(part.spill is None for part in changes.parts):
                changes.to_file(self._log.spill())


def _deletions(table: Table, keys: pa.RecordBatch) -> pa.Table:
    """The deletions of rows of which `keys` has the key's columns, in the order of the stored key."""
    columns = [pa.nulls(keys.num_rows, column.type.arrow) for column in table.columns]
    for column, array in zip(table.table.key, keys.columns, strict=True):
        columns[column.index] = array
    return make_chunk(np.full(keys.num_rows, DELETE, np.int8), columns)


def _with_changes(
    table: Table,
    found: npt.NDArray[np.bool_],
    stored: list[pa.Array],
    keys: Sequence[pa.Array],
    chunks: Sequence[pa.Table],
) -> tuple[pa.Array, list[pa.Array]]:
    """The stored rows of the keys, replaced by what the chunks made of them."""
    wanted = {key: row for row, key in enumerate(zip(*(values_of(array) for array in keys), strict=True))}
    is_there = found.copy()
    for chunk in chunks:
        ops, columns = ops_of(chunk), columns_of(chunk)
        places = np.arange(len(found))  # of each wanted row: in the stored ones, or after them in the chunk
        written = zip(*(values_of(columns[column.index]) for column in table.table.key), strict=True)
        for place, key in enumerate(written):
            row = wanted.get(key)
            if row is not None:
                is_there[row] = ops[place] == INSERT
                places[row] = len(found) + place
        taken = pa.array(places)
        stored = [pa.concat_arrays([old, new]).take(taken) for old, new in zip(stored, columns, strict=True)]
    return pa.array(is_there), stored
