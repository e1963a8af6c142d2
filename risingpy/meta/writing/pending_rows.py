"""The newest logged rows that no committed epoch has yet, by their keys.

A statement that changes one row by its key reads it here, or else in the committed state. So it need not wait for the
epoch that takes the change before it. Rows of large statements are not kept: who needs a row of their table waits for
their epoch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.executors.change_chunk import INSERT
from risingpy.meta.writing.row_keys import RowKey


@dataclass(frozen=True, slots=True)
class KeyedChunk:
    """A table's change chunk, and the key of each of its rows."""

    table_id: int
    version: int
    chunk: pa.Table
    keys: Sequence[RowKey]


@dataclass(frozen=True, slots=True)
class PendingRow:
    """What a key has since the change at `lsn`: the row at `place` of a chunk, or none, if `place` is None.

    `version` is that of the table on which the change was planned.
    """

    lsn: int
    version: int
    chunk: pa.Table
    place: int | None

    def row(self) -> pa.Table:
        """The row, if there is one: all columns of the table, c0…"""
        return self.chunk.slice(self.place or 0, 0 if self.place is None else 1).drop_columns(["op"])


_Newest = tuple[int, KeyedChunk, int | None]
"""Of a key: the lsn of its last change, the chunk, and the row's place there; None: it is gone."""


class NewestRows:
    """The last row of each key among change chunks, in the order in which they are added. Not for several threads."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[RowKey, _Newest]] = {}

    def add(self, change: KeyedChunk, lsn: int = 0) -> None:
        """Adds the rows of a chunk, which replace those of the same keys."""
        rows = self._rows.setdefault(change.table_id, {})
        ops = change.chunk.column(0).to_pylist()
        for place, (op, key) in enumerate(zip(ops, change.keys, strict=True)):
            rows[key] = lsn, change, place if op == INSERT else None

    def find(self, table_id: int, key: RowKey) -> PendingRow | None:
        """The last change of a key; None if it has none here."""
        return _pending(self._rows.get(table_id, {}).get(key))

    def find_each(self, table_id: int, keys: Sequence[RowKey]) -> list[PendingRow | None]:
        """The same of each key."""
        rows = self._rows.get(table_id)
        return [_pending(rows.get(key)) for key in keys] if rows else [None] * len(keys)

    def remove(self, table_id: int, keys: Iterable[RowKey], up_to_lsn: int) -> None:
        """Removes what these keys have, unless it is newer than `up_to_lsn`."""
        rows = self._rows.get(table_id, {})
        for key in keys:
            found = rows.get(key)
            if found is not None and found[0] <= up_to_lsn:
                del rows[key]
        if not rows:
            self._rows.pop(table_id, None)


def _pending(found: _Newest | None) -> PendingRow | None:
    if found is None:
        return None
    lsn, change, place = found
    return PendingRow(lsn, change.version, change.chunk, place)


class PendingRows:
    """The newest rows among the groups of the log that no epoch has. Any thread may call its methods.

    Who changes a row, or reads it here to change it, holds the lock of its key, or its table alone: so a key's changes
    are added in the order of the log.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._rows = NewestRows()
        self._groups: list[tuple[int, KeyedChunk]] = []
        self._not_kept: dict[int, int] = {}  # by table: the lsn of the last group whose rows are not kept here
        self._left_over: dict[int, int] = {}  # the same, of groups from before the log was opened

    def add(self, lsn: int, changes: Iterable[KeyedChunk], others: Iterable[int]) -> None:
        """Adds a group of the log: the changes whose rows have keys, and the tables of the `others`."""
        with self._guard:
            for change in changes:
                self._rows.add(change, lsn)
                self._groups.append((lsn, change))
            for table_id in others:
                self._not_kept[table_id] = max(lsn, self._not_kept.get(table_id, 0))

    def add_left_over(self, lsn: int, tables: Iterable[int]) -> None:
        """Adds what the log had when it was opened."""
        with self._guard:
            self._not_kept.update(dict.fromkeys(tables, lsn))
            self._left_over = dict(self._not_kept)

    def committed(self, lsn: int) -> None:
        """Forgets the groups up to `lsn`, which a published epoch has."""
        with self._guard:
            done = [change for at, change in self._groups if at <= lsn]
            self._groups = [group for group in self._groups if group[0] > lsn]
            self._not_kept = {table_id: at for table_id, at in self._not_kept.items() if at > lsn}
            self._left_over = {table_id: at for table_id, at in self._left_over.items() if at > lsn}
            for change in done:
                self._rows.remove(change.table_id, change.keys, lsn)

    def find(self, table_id: int, key: RowKey, of: int | None = None) -> PendingRow | int | None:
        """What a key has last; None: what the committed state has. A number: what that has from this lsn on.

        `of` is the table if the key is one of its unique index.
        """
        (found,) = self.find_each(table_id, (key,), of)
        return found

    def find_each(
        self, table_id: int, keys: Sequence[RowKey], of: int | None = None
    ) -> Sequence[PendingRow | int | None]:
        """The same of each key."""
        with self._guard:
            rows, not_kept = self._rows.find_each(table_id, keys), self._not_kept.get(table_id)
            if of is not None and not_kept is None:
                not_kept = self._left_over.get(of)
        if not_kept is None:
            return rows
        return [row if row is not None and row.lsn > not_kept else not_kept for row in rows]
