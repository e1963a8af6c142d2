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
from risingpy.meta.writing.unique_key import CannotCompute, UniqueKey
from risingpy.plan.catalog import Catalog, Index, Table
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class _Unique:
    """A unique index, what keys rows have there, and what finds its committed rows."""

    index: Index
    key: UniqueKey
    probe: KeyProbe


@dataclass(frozen=True, slots=True)
class _Referred:
    """A foreign key, and what finds the committed rows to which it refers."""

    reference: Reference
    probe: KeyProbe


@dataclass(frozen=True, slots=True)
class _Asked:
    """A key whose newest row only the committed state has, if any; whether the new rows need that row."""

    relation_id: int
    probe: KeyProbe
    key: RowKey
    must_stand: bool


@dataclass(slots=True)
class KeptGuard:
    """What guards a table's new rows, by their keys."""

    table: Table
    _guard: RowGuard
    _primary: KeyProbe | None
    _unique: tuple[_Unique, ...]
    _references: tuple[_Referred, ...]
    _looked_at: Catalog | None = None  # the last one in which all tables were as they are here

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
        # What the log has of all keys is looked at before the committed state is, once: an epoch may take rows between.
        asked: list[_Asked] = []
        if self._primary is not None:
            if len(set(keys)) < len(keys):
                raise NotPlain
            for key in keys:
                _ask_for_row(context, table, key, self._primary, asked, must_stand=False)
        for each in self._references:
            for row in rows:
                _ask_for_referred(context, each, tuple([row[place] for place in each.reference.places]), asked)
        for unique in self._unique:
            for key in _unique_keys(table, unique.key, rows):
                self._ask_for_unique(context, unique, key, asked)
        if asked:
            _look_at_committed(context, asked)

    def _check_forms(self, context: SessionContext) -> None:
        """Raises NotPlain unless all tables are as they were when the statement was planned: no ALTER comes now."""
        catalog = context.database.reads.catalog
        if catalog is self._looked_at:
            return
        relations = catalog.relations
        for table in (self.table, *(each.reference.target for each in self._references)):
            now = relations.get(table.relation_id)
            same = isinstance(now, Table) and (now.version, now.rules) == (table.version, table.rules)
            if not same or (isinstance(now, Table) and now.has_stopped):
                raise NotPlain
        self._looked_at = catalog

    def _ask_for_unique(self, context: SessionContext, unique: _Unique, key: RowKey, asked: list[_Asked]) -> None:
        if None in key:
            return
        transaction, index_id = context.transaction, unique.index.relation_id
        # A key that the transaction has locked, or that its changes have, is one that it has taken before, or given up.
        # Nobody follows others here: of those whose commit is under way it is not known which unique keys they bring.
        if transaction.own_chunk_row(self.table, key, unique.index) is not None:
            raise NotPlain
        if not transaction.take(index_id, LockMode.KEYS, follows=False):
            raise NotPlain
        held = context.database.writes.locks.take_free(index_id, key, process_id=transaction.process_id)
        if held is None:
            raise NotPlain
        transaction.adopt(held)
        stands = _is_logged(context, self.table, index_id, key)
        if stands:
            raise NotPlain
        if stands is None:
            asked.append(_Asked(index_id, unique.probe, key, must_stand=False))


def kept_guard(guard: RowGuard) -> KeptGuard | None:
    """None if the keys of a table's rows are not of plain types, or if its rows refer to rows of its own."""
    table = guard.table
    primary = probe_of_table(table)
    if table.primary_key and primary is None:
        return None
    unique = []
    for index, key in guard.unique:
        probe = probe_of_index(index)
        if probe is None or not _are_plain(key.types):
            return None
        unique.append(_Unique(index, key, probe))
    references = []
    for each in guard.references:
        probe = probe_of_table(each.target) if each.index is None else probe_of_index(each.index)
        if probe is None or each.target.relation_id == table.relation_id or not _are_plain(each.types):
            return None
        references.append(_Referred(each, probe))
    return KeptGuard(table, guard, primary, tuple(unique), tuple(references))


def _are_plain(types: Sequence[SqlType]) -> bool:
    return all(each.kind in PLAIN_KEYS and not each.system for each in types)


def _unique_keys(table: Table, key: UniqueKey, rows: _Rows) -> list[RowKey]:
    """Those of the rows. Raises NotPlain."""
    if key.places is not None:
        return [tuple([row[place] for place in key.places]) for row in rows]
    try:
        return key.keys(_columns(table, rows))
    except CannotCompute:
        raise NotPlain from None


def _columns(table: Table, rows: _Rows) -> list[pa.Array]:
    """All columns of the rows, as conditions see them; the numbers of rows, which none reads, are 0."""
    columns = [
        pa.array(values, each.type.arrow) for values, each in zip(zip(*rows, strict=True), table.columns, strict=False)
    ]
    if len(columns) < len(table.columns):
        columns.append(pa.array(np.zeros(len(rows), np.int64)))
    return columns


def _ask_for_row(
    context: SessionContext,
    table: Table,
    key: RowKey,
    probe: KeyProbe,
    asked: list[_Asked],
    *,
    must_stand: bool,
) -> None:
    stands = _has_row(context, table, key)
    if stands is None:
        asked.append(_Asked(table.relation_id, probe, key, must_stand))
    elif stands is not must_stand:
        raise NotPlain


def _ask_for_referred(context: SessionContext, referred: _Referred, key: RowKey, asked: list[_Asked]) -> None:
    if None in key:
        return
    target, index = referred.reference.target, referred.reference.index
    if index is None:
        _ask_for_row(context, target, key, referred.probe, asked, must_stand=True)
        return
    # A row that is `kept` has no key that its table's committed one has not, or is left to the long way.
    own = context.transaction.own_chunk_row(target, key, index)
    stands = _is_logged(context, target, index.relation_id, key) if own is None else own.place is not None
    if stands is None:
        asked.append(_Asked(index.relation_id, referred.probe, key, must_stand=True))
    elif not stands:
        raise NotPlain


def _has_row(context: SessionContext, table: Table, key: RowKey) -> bool | None:
    """Whether the newest row of a primary key stands: the key is locked, or what takes it away holds the table alone.

    None: the committed state tells. Raises NotPlain if that is not known without waiting.
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
    return _is_logged(context, table, table_id, key)


def _is_logged(context: SessionContext, table: Table, relation_id: int, key: RowKey) -> bool | None:
    """The same of a primary key, or of a key of a unique index, but for what transactions have that are not durable."""
    of = None if relation_id == table.relation_id else table.relation_id
    pending = context.database.reads.pending_row(relation_id, key, of)
    if pending is None:
        return None
    if isinstance(pending, int) or pending.version != table.version:
        raise NotPlain
    return pending.place is not None


def _look_at_committed(context: SessionContext, asked: Sequence[_Asked]) -> None:
    """Returns if the committed rows that must stand do, and no others. Raises NotPlain."""
    glance = context.database.reads.glance(())
    if glance is None:
        raise NotPlain
    state, view = glance
    for each in asked:
        relation_id = each.relation_id
        if state.set_aside and (relation_id in state.set_aside or is_partial(state, (relation_id,))):
            raise NotPlain
        if each.probe.has_row(view, each.key) is not each.must_stand:
            raise NotPlain
