"""Changes of constraints as functions from one `MetaState` to the next.

A table and its unique indexes are changed in one step, so that no crash leaves one without the other. Tables to which a
foreign key refers get a new version with it: a statement that was planned before is planned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import DuplicateRelation, SerializationFailure
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.objects.comments import with_comments_of_copy
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    Catalog,
    CreatedRelation,
    ForeignKey,
    Index,
    IndexDefinition,
    IndexedRelation,
    Table,
    TableConstraint,
)


@dataclass(frozen=True, slots=True)
class NewUnique:
    """A unique index; `definition` leaves its relation open."""

    name: str
    definition: IndexDefinition
    text: str


@dataclass(frozen=True, slots=True)
class RemadeKey:
    """An index (its id) that is made anew under its name, since a column has another type; see `NewUnique`."""

    index_id: int
    definition: IndexDefinition
    text: str


@dataclass(frozen=True, slots=True)
class KeyChanges:
    """Unique indexes that come, those (ids) that go, new names by id, and foreign keys that go: (table, key).

    `remade` are indexes over columns with other types. `refitted` are foreign keys of other tables (their ids) to them.
    """

    added: tuple[NewUnique, ...] = ()
    dropped: tuple[int, ...] = ()
    renamed: tuple[tuple[int, str], ...] = ()
    lost: tuple[tuple[int, int], ...] = ()
    remade: tuple[RemadeKey, ...] = ()
    refitted: tuple[tuple[int, ForeignKey], ...] = ()


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
    for dropped in (*changes.dropped, *(each.index_id for each in changes.remade)):
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


def with_remade(state: MetaState, before: Catalog, table_id: int, changes: KeyChanges) -> MetaState:
    """`state` with indexes made anew, in creation, and the foreign keys that refer by them or to changed columns.

    They go on after a restart. `before` has them as they were: with an index, `without_lost_keys` took its keys away.
    """
    was = [before.relations[each.index_id] for each in changes.remade]
    indexes = [each for each in was if isinstance(each, Index)]
    state, now = with_indexes(state, _table(state, table_id), indexes, changes)
    return with_references(state, before, (table_id, table_id), now, changes)


def with_indexes(
    state: MetaState, relation: IndexedRelation, indexes: Sequence[Index], changes: KeyChanges = NO_KEY_CHANGES
) -> tuple[MetaState, dict[int, int]]:
    """`state` with the indexes of an earlier form of a relation, in creation, on what is the relation now.

    Also the new ids of indexes, by the old ones.
    """
    remade = {each.index_id: each for each in changes.remade}
    now: dict[int, int] = {}
    for index in indexes:
        anew = remade.get(index.relation_id, RemadeKey(index.relation_id, index.index, index.definition))
        definition = replace(anew.definition, relation_id=relation.relation_id)
        state, new_id = add_index(state, NewIndex(index.name, relation, definition, anew.text))
        now[index.relation_id] = new_id
        new = replace(state.catalog.relations[new_id], owner=index.owner, database_id=index.database_id)
        state = with_comments_of_copy(with_relations(state, [new]), index, new)
    return state, now


def with_references(
    state: MetaState, before: Catalog, table_ids: tuple[int, int], indexes: Mapping[int, int], changes: KeyChanges
) -> MetaState:
    """`state` with the foreign keys that refer to a table (its id before, and now) by its indexes as they are now.

    The catalog `before` has them all: whoever takes a table or an index out of a state takes its foreign keys away.
    """
    was_id, table_id = table_ids
    refitted = {(child_id, key.constraint_id): key for child_id, key in changes.refitted}

    def refers(child_id: int, key: TableConstraint) -> TableConstraint:
        key = refitted.get((child_id, key.constraint_id), key)
        if not isinstance(key, ForeignKey) or key.table_id != was_id:
            return key
        index_id = None if key.index_id is None else indexes.get(key.index_id, key.index_id)
        return replace(key, table_id=table_id, index_id=index_id)

    tables = [(table_id, _table(state, table_id).constraints)]
    children = {child.relation_id: child for child, _ in before.foreign_keys_to(was_id)}
    tables += [(child_id, child.constraints) for child_id, child in children.items() if child_id != was_id]
    for child_id, constraints in tables:
        after = tuple(refers(child_id, each) for each in constraints)
        state = with_relations(state, [replace(_table(state, child_id), constraints=after)])
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
