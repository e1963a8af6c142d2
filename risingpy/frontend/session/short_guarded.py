"""New rows of a table with UNIQUE, FOREIGN KEY or CHECK that a short statement adds in an open transaction.

    primary key   is locked, and no row has it
    UNIQUE        its key is locked, and no row has it
    FOREIGN KEY   the table it refers to stays as it is, and has the row

As `meta/writing/row_guard` looks at the rows of a group, but with locks that are the transaction's, and at what it has
written itself. Whatever breaks a rule, or would have to wait for another session's key, takes the long way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from risingpy.batch import PLAIN_KEYS, KeyProbe, NotPlain, probe_of_index, probe_of_table
from risingpy.frontend.session.waits import locked
from risingpy.meta.epochs.published_state import is_partial
from risingpy.meta.writing.row_guard import Reference, RowGuard
from risingpy.meta.writing.row_keys import RowKey
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Index, Table

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class _Unique:
    """A unique index, the positions of its columns, and what finds its committed rows."""

    index: Index
    places: tuple[int, ...]
    probe: KeyProbe


@dataclass(frozen=True, slots=True)
class _Referred:
    """A foreign key, and what finds the committed rows to which it refers."""

    reference: Reference
    probe: KeyProbe


@dataclass(frozen=True, slots=True)
class KeptGuard:
    """What guards a table's new rows, by their keys."""

    table: Table
    _guard: RowGuard
    _primary: KeyProbe | None
    _unique: tuple[_Unique, ...]
    _references: tuple[_Referred, ...]

    def look(self, context: SessionContext, rows: _Rows) -> None:
        """Returns if the rows (visible columns) may come; all locks that it takes are the transaction's then.

        Raises NotPlain, Awaits, and SqlError: what was locked until then stays so.
        """
        table, transaction = self.table, context.transaction
        targets = {each.reference.target.relation_id for each in self._references}
        if any(map(transaction.has_large_change, {table.relation_id, *targets})):
            raise NotPlain
        if self._guard.passes is not None and not all(self._guard.passes(_columns(table, rows))):
            raise NotPlain
        locked(context, table.relation_id, LockMode.KEYS)
        keys = [tuple(row[place] for place in table.primary_key) for row in rows] if self._primary else []
        for key in keys:
            locked(context, table.relation_id, LockMode.ALONE, key)
        for target_id in sorted(targets):
            locked(context, target_id, LockMode.FORM)
        self._check_forms(context)
        if self._primary is not None and (
            len(set(keys)) < len(keys) or any(self._stands(context, each) for each in keys)
        ):
            raise NotPlain
        for each in self._references:
            for row in rows:
                self._check_referred(context, each, tuple(row[place] for place in each.reference.places))
        for unique in self._unique:
            for row in rows:
                self._check_unique(context, unique, tuple(row[place] for place in unique.places))

    def _check_forms(self, context: SessionContext) -> None:
        """Raises NotPlain unless all tables are as they were when the statement was planned: no ALTER comes now."""
        relations = context.database.reads.catalog.relations
        for table in (self.table, *(each.reference.target for each in self._references)):
            now = relations.get(table.relation_id)
            same = isinstance(now, Table) and (now.version, now.rules) == (table.version, table.rules)
            if not same or (isinstance(now, Table) and now.has_stopped):
                raise NotPlain

    def _stands(self, context: SessionContext, key: RowKey) -> bool:
        assert self._primary is not None
        return _has_row(context, self.table, key, self._primary)

    def _check_referred(self, context: SessionContext, referred: _Referred, key: RowKey) -> None:
        if None in key:
            return
        target, index = referred.reference.target, referred.reference.index
        if index is None:
            stands = _has_row(context, target, key, referred.probe)
        else:
            # A row that is `kept` has no key that its table's committed one has not, or is left to the long way.
            own = context.transaction.own_chunk_row(target, key, index)
            if own is not None:
                stands = own.place is not None
            else:
                stands = _is_logged_or_committed(context, target, index.relation_id, key, referred.probe)
        if not stands:
            raise NotPlain

    def _check_unique(self, context: SessionContext, unique: _Unique, key: RowKey) -> None:
        if None in key:
            return
        transaction, index_id = context.transaction, unique.index.relation_id
        # A key that the transaction has locked, or that its changes have, is one that it has taken before, or given up.
        # Nobody follows others here: of those whose commit is under way it is not known which unique keys they bring.
        locks = context.database.writes.locks
        is_locked = locks.covers(index_id, LockMode.ALONE, key, process_id=transaction.process_id)
        if is_locked or transaction.own_chunk_row(self.table, key, unique.index) is not None:
            raise NotPlain
        for mode, wanted in ((LockMode.KEYS, None), (LockMode.ALONE, key)):
            if not transaction.take(index_id, mode, wanted, follows=False):
                raise NotPlain
        if _is_logged_or_committed(context, self.table, index_id, key, unique.probe):
            raise NotPlain


def kept_guard(guard: RowGuard) -> KeptGuard | None:
    """None if the keys of a table's rows are not of plain types, or if its rows refer to rows of its own."""
    table = guard.table
    primary = probe_of_table(table)
    if table.primary_key and primary is None:
        return None
    unique = []
    for index, places in guard.unique:
        probe = probe_of_index(index)
        if probe is None or not _are_plain(table, places):
            return None
        unique.append(_Unique(index, places, probe))
    references = []
    for each in guard.references:
        probe = probe_of_table(each.target) if each.index is None else probe_of_index(each.index)
        if probe is None or each.target.relation_id == table.relation_id or not _are_plain(table, each.places):
            return None
        references.append(_Referred(each, probe))
    return KeptGuard(table, guard, primary, tuple(unique), tuple(references))


def _are_plain(table: Table, places: Sequence[int]) -> bool:
    types = [table.columns[place].type for place in places]
    return all(each.kind in PLAIN_KEYS and not each.system for each in types)


def _columns(table: Table, rows: _Rows) -> list[pa.Array]:
    """All columns of the rows, as CHECK sees them; the numbers of rows, which no condition reads, are 0."""
    columns = [
        pa.array(values, each.type.arrow) for values, each in zip(zip(*rows, strict=True), table.columns, strict=False)
    ]
    if len(columns) < len(table.columns):
        columns.append(pa.array(np.zeros(len(rows), np.int64)))
    return columns


def _has_row(context: SessionContext, table: Table, key: RowKey, probe: KeyProbe) -> bool:
    """Whether the newest row of a primary key stands: the key is locked, or what takes it away holds the table alone.

    Raises NotPlain if that is not known without waiting.
    """
    transaction, table_id = context.transaction, table.relation_id
    kept = transaction.kept.find(table_id, key)
    if kept is not None:
        return kept.last is not None
    own = transaction.own_chunk_row(table, key)
    if own is not None:
        return own.place is not None
    # What is coming is asked for before the log: it is there until the log has it.
    coming = context.database.writes.group_commit.coming.find(table_id, key)
    if coming is not None:
        row, commit = coming
        if commit not in transaction.followed:
            transaction.followed.append(commit)
        return row.last is not None
    return _is_logged_or_committed(context, table, table_id, key, probe)


def _is_logged_or_committed(
    context: SessionContext, table: Table, relation_id: int, key: RowKey, probe: KeyProbe
) -> bool:
    """The same of a primary key, or of a key of a unique index, but for what transactions have that are not durable."""
    reads = context.database.reads
    of = None if relation_id == table.relation_id else table.relation_id
    pending = reads.pending_row(relation_id, key, of)
    if isinstance(pending, int) or (pending is not None and pending.version != table.version):
        raise NotPlain
    if pending is not None:
        return pending.place is not None
    glance = reads.glance(())
    if glance is None or is_partial(glance[0], (relation_id,)) or relation_id in glance[0].set_aside:
        raise NotPlain
    return probe.has_row(glance[1], key)
