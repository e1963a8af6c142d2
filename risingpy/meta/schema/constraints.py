"""Changes of constraints as functions from one `MetaState` to the next.

A table and its unique indexes are changed in one step, so that no crash leaves one without the other. Tables to which a
foreign key refers get a new version with it: a statement that was planned before is planned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import DuplicateRelation, SerializationFailure
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, ForeignKey, Index, IndexDefinition, Table, TableConstraint


@dataclass(frozen=True, slots=True)
class NewUnique:
    """A unique index; `definition` leaves its relation open."""

    name: str
    definition: IndexDefinition
    text: str


@dataclass(frozen=True, slots=True)
class KeyChanges:
    """Unique indexes that come, those (ids) that go, new names by id, and foreign keys that go: (table, key)."""

    added: tuple[NewUnique, ...] = ()
    dropped: tuple[int, ...] = ()
    renamed: tuple[tuple[int, str], ...] = ()
    lost: tuple[tuple[int, int], ...] = ()


NO_KEY_CHANGES = KeyChanges()


def with_constraint_ids(state: MetaState, table_id: int) -> MetaState:
    """`state` with ids for the table's new constraints: their own, and the table's in foreign keys to itself."""
    table, next_id = _table(state, table_id), state.next_id
    uniques = state.catalog.unique_indexes_of(table_id)
    plain = [index for index in uniques if not index.deferrable and index.index.predicate is None]
    own_indexes = {ids(index): index.relation_id for index in plain}
    numbered: list[TableConstraint] = []
    for each in table.constraints:
        if isinstance(each, ForeignKey):
            index_id = each.index_id
            if index_id == 0:
                index_id = own_indexes[frozenset(each.referenced)]
            each = replace(each, table_id=each.table_id or table_id, index_id=index_id)
        if not each.constraint_id:
            each = replace(each, constraint_id=next_id)
            next_id += 1
        numbered.append(each)
    if tuple(numbered) == table.constraints:
        return state
    changed = replace(table, constraints=tuple(numbered))
    return replace(with_relations(state, [changed]), next_id=next_id)


def ids(index: Index) -> frozenset[int]:
    """The ids of the columns that are keys."""
    return frozenset(key.expression.index for key in index.index.keys if hasattr(key.expression, "index"))


def without_lost_keys(state: MetaState, changes: KeyChanges) -> MetaState:
    """`state` without what goes, and with the new names."""
    for dropped in changes.dropped:
        index = state.catalog.relations.get(dropped)
        if index is not None:
            state = without_relation(state, index)
    for index_id, name in changes.renamed:
        index = state.catalog.relations[index_id]
        if state.catalog.find(name, index.schema_name, ()) is not None:
            raise DuplicateRelation(f'relation "{name}" already exists')
        state = with_relations(state, [replace(index, name=name)])
    for child_id, constraint_id in changes.lost:
        child = _table(state, child_id)
        kept = tuple(each for each in child.constraints if each.constraint_id != constraint_id)
        state = with_relations(state, [replace(child, constraints=kept)])
    return state


def with_uniques(state: MetaState, table_id: int, uniques: Iterable[NewUnique]) -> MetaState:
    """`state` with new unique indexes of a table, in creation."""
    for unique in uniques:
        table = _table(state, table_id)
        definition = replace(unique.definition, relation_id=table_id)
        state, index_id = add_index(state, NewIndex(unique.name, table, definition, unique.text))
        index = state.catalog.relations[index_id]
        state = with_relations(state, [replace(index, owner=table.owner, database_id=table.database_id)])
    return state


def referred_tables(before: Sequence[TableConstraint], after: Sequence[TableConstraint]) -> set[int]:
    """The tables to which foreign keys refer that are in one of the two only."""
    was = {each for each in before if isinstance(each, ForeignKey)}
    now = {each for each in after if isinstance(each, ForeignKey)}
    return {key.table_id for key in was ^ now}


def with_relations(state: MetaState, changed: Iterable[CreatedRelation]) -> MetaState:
    """`state` with these relations in the place of those of their ids."""
    relations = {**state.catalog.relations, **{each.relation_id: each for each in changed}}
    return replace(state, catalog=replace(state.catalog, relations=relations))


def _table(state: MetaState, table_id: int) -> Table:
    table = state.catalog.relations.get(table_id)
    if not isinstance(table, Table):
        raise SerializationFailure("a table was dropped meanwhile", hint="Run the statement again.")
    return table
