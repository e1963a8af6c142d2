"""What short writes do in an open transaction: rows in plain Python, which its commit will log.

The row is locked until the transaction ends, and the newest one is changed: the transaction's own, else the last of a
transaction that has committed and is on its way to the disk, else the log's last, else the committed one. Nothing here
blocks: who finds a lock with somebody else waits for it without a thread, and begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from risingpy.batch import (
    PLAIN_KEYS,
    Datums,
    NotPlain,
    PlainRewrite,
    WholeRows,
    datum_writer,
    plain_datum,
    plain_value,
    whole_rows,
)
from risingpy.frontend.session.short_guarded import KeptGuard
from risingpy.frontend.session.waits import locked
from risingpy.meta.epochs.published_state import is_partial
from risingpy.meta.writing.row_keys import RowKey
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Table

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


@dataclass(frozen=True, slots=True)
class KeptInsert:
    """New rows of a table, whose values are Python's: how they become datums, and where the key's values are."""

    table: Table
    _writers: tuple[Callable[[object], bytes | None], ...]
    _guard: KeptGuard | None

    def run(self, context: SessionContext, rows: Sequence[Sequence[object]]) -> None:
        """Adds rows (visible columns). Raises NotPlain, Awaits, and what Arrow raises for a wrong value."""
        kept, table = context.transaction.kept, self.table
        if not kept.takes(table):
            raise NotPlain
        found = [[write(value) for write, value in zip(self._writers, row, strict=True)] for row in rows]
        if self._guard is not None:
            self._guard.look(context, rows)
        for row, datums in zip(rows, found, strict=True):
            if table.primary_key:
                kept.put(table, tuple(row[place] for place in table.primary_key), None, datums)
            else:
                kept.add(table, datums)


def has_plain_key(table: Table) -> bool:
    """Whether the values of its primary key, as Python has them, are the key of a row."""
    types = [table.columns[index].type for index in table.primary_key]
    return all(each.kind in PLAIN_KEYS and not each.system for each in types)


def kept_insert(table: Table, *, log_has_newest_rows: bool, guard: KeptGuard | None = None) -> KeptInsert | None:
    """None if rows of the table are not kept: of each key, more than the last row may count."""
    if table.primary_key and not (log_has_newest_rows and has_plain_key(table)):
        return None
    visible = [column for column in table.columns if not column.hidden]
    writers = [datum_writer(column.type) for column in visible]
    known = tuple(each for each in writers if each is not None)
    return KeptInsert(table, known, guard) if len(known) == len(writers) else None


@dataclass(frozen=True, slots=True)
class KeptChange:
    """UPDATE or DELETE of one row by its key."""

    table: Table
    _rewrite: PlainRewrite
    _filled: tuple[int, ...]  # the columns that change, and in which no row may have a NULL
    _whole: WholeRows
    _readers: tuple[Callable[[bytes], object] | None, ...]  # by column

    def run(self, context: SessionContext, parameters: Sequence[object | None]) -> int:
        """Changes the row, or deletes it; how many rows it has found. Raises NotPlain, Awaits, and SqlError."""
        transaction, table = context.transaction, self.table
        if transaction.has_large_change(table.relation_id) or not transaction.kept.takes(table):
            raise NotPlain
        key = self._rewrite.key(parameters)
        locked(context, table.relation_id, LockMode.KEYS)
        locked(context, table.relation_id, LockMode.ALONE, key)
        now = context.database.reads.catalog.relations.get(table.relation_id)  # no ALTER can come from here on
        if not isinstance(now, Table) or (now.version, now.rules) != (table.version, table.rules) or now.has_stopped:
            raise NotPlain
        old = self._newest(context, key)
        if old is None:
            return 0
        transaction.kept.put(table, key, old, self._changed(old, parameters) if self._rewrite.columns else None)
        return 1

    def _changed(self, old: Datums, parameters: Sequence[object | None]) -> Datums:
        def value(column: int) -> object:
            datum, read = old[column], self._readers[column]
            if read is None:
                raise NotPlain
            return None if datum is None else read(datum)

        new = self._rewrite.new(value, parameters)
        if any(new[column] is None for column in self._filled):
            raise NotPlain
        changed = list(old)
        for column, found in new.items():
            changed[column] = plain_datum(found, self.table.columns[column].type)
        return changed

    def _newest(self, context: SessionContext, key: RowKey) -> Datums | None:
        """The newest row of a key whose lock the transaction has; None if there is none. Raises NotPlain."""
        transaction, database, table_id = context.transaction, context.database, self.table.relation_id
        kept = transaction.kept.find(table_id, key)
        if kept is not None:
            return _row(kept.last)
        own = transaction.own_chunk_row(self.table, key)
        if own is not None:
            return None if own.place is None else self._whole.logged(own.chunk, own.place)
        # What is coming is asked for before the log: it is there until the log has it.
        coming = database.writes.group_commit.coming.find(table_id, key)
        if coming is not None:
            row, commit = coming
            if commit not in transaction.followed:
                transaction.followed.append(commit)
            return _row(row.last)
        pending = database.reads.pending_row(table_id, key)
        if pending is not None:
            if isinstance(pending, int) or pending.version != self.table.version:
                raise NotPlain
            return None if pending.place is None else self._whole.logged(pending.chunk, pending.place)
        glance = database.reads.glance(())
        if glance is None or is_partial(glance[0], (table_id,)) or table_id in glance[0].set_aside:
            raise NotPlain
        return self._whole.committed(glance[1], key)


def _row(datums: Sequence[bytes | None] | None) -> Datums | None:
    return None if datums is None else list(datums)


def kept_change(table: Table, rewrite: PlainRewrite, filled: tuple[int, ...]) -> KeptChange | None:
    """None if the table's rows cannot be read as datums."""
    whole = whole_rows(table)
    if whole is None:
        return None
    return KeptChange(table, rewrite, filled, whole, tuple(plain_value(column.type) for column in table.columns))
