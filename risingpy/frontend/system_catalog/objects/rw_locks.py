"""rw_locks: who has, and who waits for, which table or row, index or key of it, name, or advisory lock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from risingpy.frontend.drafted_schema import NAMES
from risingpy.frontend.system_catalog.index_text import key_text as index_key_text
from risingpy.frontend.system_catalog.system_relation import HIDDEN, Row, SystemState, relation
from risingpy.meta.writing.advisory_locks import AdvisoryKey
from risingpy.meta.writing.row_keys import key_text
from risingpy.meta.writing.seen_locks import SeenLock
from risingpy.meta.writing.unique_key import unique_key
from risingpy.plan.catalog import Index, Table


def _locks(state: SystemState) -> Iterable[Row]:
    for lock in state.locks():
        if lock.table_id == NAMES and lock.key is None:
            continue  # whoever has a name has it, too, and nobody ever waits for it
        since = datetime.fromtimestamp(lock.since, UTC)
        held = lock.process_id or None, lock.mode, lock.is_granted, since, list(lock.blocked_by)
        if isinstance(lock.key, AdvisoryKey):
            yield *_advisory(state, lock.key), *held
        else:
            yield *(_name(state, lock) if lock.table_id == NAMES else _relation(state, lock)), *held


def _name(state: SystemState, lock: SeenLock) -> Row:
    """A name that a transaction takes or gives up: nobody else can make or drop a relation of that name."""
    assert isinstance(lock.key, tuple)
    database_id, schema, name = lock.key
    return "name", _database(state, database_id), schema, name, None, None


def _advisory(state: SystemState, key: AdvisoryKey) -> Row:
    """A number that applications lock: its two halves, and whether they were given as two integers (2)."""
    database_id, *numbers = key.fields
    return "advisory", _database(state, database_id), None, None, None, f"({', '.join(map(str, numbers))})"


def _relation(state: SystemState, lock: SeenLock) -> Row:
    found = state.catalog.relations.get(lock.table_id)
    if found is None:  # the transaction that has the lock has made it, and nobody else can see it yet
        return "row" if lock.is_row else "table", None, None, None, lock.table_id, None
    whole, single = ("index", "key") if isinstance(found, Index) else ("table", "row")
    kind = single if lock.is_row else whole
    head = kind, _database(state, found.database_id), found.schema_name, found.name, lock.table_id
    if not lock.is_row:
        return *head, None
    assert isinstance(lock.key, tuple)
    table = state.catalog.indexed_by(found) if isinstance(found, Index) else found
    if not isinstance(table, Table):
        return *head, None
    if not state.may_read(table):  # a key is a part of a row
        return *head, HIDDEN
    if not isinstance(found, Index):
        columns = [table.columns[place] for place in table.primary_key]
        return *head, key_text([each.name for each in columns], [each.type for each in columns], lock.key)
    key = unique_key(table, found)
    names = [index_key_text(each, table) for each in found.index.keys]
    return *head, None if key is None else key_text(names, key.types, lock.key)


def _database(state: SystemState, database_id: int) -> str | None:
    database = state.catalog.databases.get(database_id)
    return None if database is None else database.name


RW_LOCKS = relation(
    "rw_catalog",
    "rw_locks",
    "kind text, database_name text, schema_name text, name text, relation_id int4, key text, pid int4, mode text,"
    "granted bool, since timestamptz, blocked_by _int4",
    _locks,
)
