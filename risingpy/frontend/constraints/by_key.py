"""UNIQUE and FOREIGN KEY of few rows, by their keys: nobody waits for an epoch, and no table is held alone.

The keys of unique indexes that a statement takes or gives up are locked one by one, as the keys of its rows are. Under
that lock a key's newest row is the transaction's own, else the last one in the log, else the committed one, which the
index has. A table to which a foreign key refers is held in mode FORM: whoever takes a referenced key away holds it
alone.

What cannot be answered so is left to `enforcement`: keys of other types, MATCH FULL, and rows whose loss others notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from risingpy.frontend.constraints.guarded import enforced_keys, enforced_keys_to
from risingpy.frontend.constraints.row_keys import key_of, reference_of
from risingpy.frontend.constraints.violations import (
    columns_by_id,
    key_names,
    missing_reference,
    shown_key,
    unique_violation,
)
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.rows_by_key import newest_changes, newest_rows
from risingpy.meta.writing.row_guard import Reference
from risingpy.meta.writing.row_keys import (
    MOST_ROWS_BY_KEY,
    RowKey,
    keys_at,
    keys_of,
    log_has_newest_rows,
    values_as_keys,
)
from risingpy.meta.writing.table_locks import LockMode
from risingpy.meta.writing.unique_key import CannotCompute, Columns, unique_key
from risingpy.plan.catalog import Catalog, ForeignKey, Index, Table
from risingpy.types.far_moments import value_of


@dataclass(frozen=True, slots=True)
class _Reference:
    """A foreign key, and how its rows are found."""

    key: ForeignKey
    by_key: Reference


def can_go_by_key(session: StatementContext, table: Table, rows: int) -> bool:
    """Whether so many rows may be written to a guarded table by their keys."""
    catalog = session.database.reads.catalog
    if rows > MOST_ROWS_BY_KEY or session.transaction.has_large_change(table.relation_id):
        return False
    if table.primary_key and not log_has_newest_rows(catalog, table):
        return False
    if any(key_of(table, index) is None for index in catalog.unique_indexes_of(table.relation_id)):
        return False
    return all(_reference(session, catalog, table, key) is not None for key in enforced_keys(table))


def looked_at_by_key(session: StatementContext, table: Table, old: pa.Table, new: pa.Table) -> bool:
    """Looks at rows that go and come; their primary keys are locked, and `can_go_by_key`.

    False if only `enforcement` can tell, since a key may go to which rows refer, or cannot be computed. Raises 23505
    and 23503. The locks that it takes go with the transaction.
    """
    catalog = session.database.reads.catalog
    if old.num_rows and _takes_referenced(catalog, table, old, new):
        return False
    references = [_reference(session, catalog, table, key) for key in enforced_keys(table)]
    for target_id in sorted({each.by_key.target.relation_id for each in references if each is not None}):
        session.transaction.lock(target_id, LockMode.FORM, session.cancelled)
    try:
        for index in catalog.unique_indexes_of(table.relation_id):
            _look_at_unique(session, table, index, old, new)
    except CannotCompute:
        return False
    for reference in references:
        if reference is not None and new.num_rows:
            look = partial(_look_at_reference, session, table, reference, new)
            session.transaction.deferral.look(reference.key, look, None)
    return True


def _reference(session: StatementContext, catalog: Catalog, table: Table, key: ForeignKey) -> _Reference | None:
    if session.transaction.has_large_change(key.table_id):
        return None
    found = reference_of(catalog, table, key)
    return None if found is None else _Reference(key, found)


def _takes_referenced(catalog: Catalog, table: Table, old: pa.Table, new: pa.Table) -> bool:
    """Whether a key goes to which a foreign key refers."""
    places = {column.column_id: place for place, column in enumerate(table.columns)}
    for _, key in enforced_keys_to(catalog, table.relation_id):
        names = [f"c{places[column_id]}" for column_id in key.referenced]
        if not old.select(names).equals(new.select(names).slice(0, old.num_rows)):
            return True
    return False


def _look_at_unique(session: StatementContext, table: Table, index: Index, old: pa.Table, new: pa.Table) -> None:
    unique = key_of(table, index)
    assert unique is not None
    new_values = unique.values(new.columns)
    gone, come = unique.keys(old.columns), values_as_keys(unique.types, new_values)
    # A key that stays with its row is no news, and neither taken nor given up.
    kept = {place for place, key in enumerate(gone) if place < len(come) and come[place] == key}
    taken = {place: key for place, key in enumerate(come) if place not in kept and None not in key}
    given_up = [key for place, key in enumerate(gone) if place not in kept and None not in key]
    if not taken and not given_up:
        return
    session.transaction.hold_rows(index.relation_id, list({*taken.values(), *given_up}), session.cancelled)
    mine = set(_identities(table, old))
    seen = {come[place] for place in kept}
    standing = _standing(session, table, index, _values_at(new_values, list(taken)), list(taken.values()))
    for key, identity in zip(taken.values(), standing, strict=True):
        if key in seen or (identity is not None and identity not in mine):
            place = next(place for place, each in taken.items() if each == key)
            names = key_names(session, table, index)
            shown = shown_key(names, unique.types, [value_of(column, place) for column in new_values])
            raise unique_violation(table, index.name, shown)
        seen.add(key)


def _standing(
    session: StatementContext, table: Table, index: Index, values: Columns, keys: Sequence[RowKey]
) -> list[RowKey | None]:
    """For each unique key, what tells the row apart that has it now; None if none has. `values` are the keys'."""
    found: list[RowKey | None] = [None] * len(keys)
    committed = []
    for place, newest in enumerate(newest_changes(session, table, keys, index)):
        if newest is None:
            committed.append(place)
        elif newest.place is not None:
            (found[place],) = _identities(table, newest.row())
    if committed:
        stored = session.committed_by_index(index, _values_at(values, committed))
        if not stored.num_rows:
            return found
        ids = {column.column_id: place for place, column in enumerate(index.columns)}
        identity = [ids[table.columns[place].column_id] for place in table.stream_key]
        numbers = stored.column("_prefix").to_pylist()
        told = keys_at(table, table.stream_key, [stored.column(place) for place in identity])
        for number, each in zip(numbers, told, strict=True):
            found[committed[number]] = each
    return found


def _look_at_reference(session: StatementContext, table: Table, reference: _Reference, new: pa.Table) -> None:
    """Raises 23503 for the first row that refers to no row."""
    target, index, places = reference.by_key.target, reference.by_key.index, reference.by_key.places
    values = [new.column(f"c{place}") for place in places]
    keys = values_as_keys(reference.by_key.types, values)
    asked = {key: place for place, key in reversed(list(enumerate(keys))) if None not in key}
    if not asked:
        return
    first = _values_at(values, list(asked.values()))
    there: set[RowKey] = set()
    if index is None:
        at = target.primary_key
        newest = newest_rows(session, target, pa.table(dict(zip((f"c{place}" for place in at), first, strict=True))))
        there.update(keys_of(target, [newest.column(f"c{place}") for place in at]))
    else:
        unique = unique_key(target, index)
        assert unique is not None and unique.places is not None
        at, found = unique.places, _standing(session, target, index, first, list(asked))
        there.update(key for key, identity in zip(asked, found, strict=True) if identity is not None)
    if target.relation_id == table.relation_id:
        there.update(_keys(target, at, new))
    for key, place in sorted(asked.items(), key=lambda item: item[1]):
        if key not in there:
            columns = columns_by_id(table, reference.key.columns)
            own = {column.column_id: number for number, column in enumerate(table.columns)}
            given = [value_of(new.column(own[column.column_id]), place) for column in columns]
            shown = shown_key([column.name for column in columns], [column.type for column in columns], given)
            raise missing_reference(table, reference.key, target, shown)


def _values_at(values: Columns, places: list[int]) -> Columns:
    return values if len(places) == len(values[0]) else [each.take(pa.array(places, pa.int64())) for each in values]


def _keys(table: Table, places: Sequence[int], rows: pa.Table) -> list[RowKey]:
    return keys_at(table, places, [rows.column(f"c{place}") for place in places])


def _identities(table: Table, rows: pa.Table) -> list[RowKey]:
    """What tells rows apart: the primary key, or the row's number."""
    return _keys(table, table.stream_key, rows)
