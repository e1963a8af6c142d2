"""ALTER TABLE … ADD PRIMARY KEY: a copy of the table under its new key takes the table's place.

The key says where rows are stored and on which shard, so no row can stay where it is. The copy is in creation while it
is filled: no statement sees it, and a server that restarts removes it. One change of the state, between two epochs,
drops the table and gives its name to the copy. Until then the table is as it was. Materialized views that read the
table are built anew in the same way (`jobs/views_of_copy.py`). The same change makes the indexes of all of them anew,
which know rows by what the key replaces; they read the copy as any new index reads its relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported, SerializationFailure
from risingpy.meta.durable_state import with_status, without_relations
from risingpy.meta.schema.alter import check_unchanged
from risingpy.meta.schema.constraints import with_relations
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.jobs.views_of_copy import Anew, Copies, in_place, with_copied_views
from risingpy.meta.schema.objects.comments import with_comments_of_copy
from risingpy.meta.schema.objects.sequences import with_sequences_of_copy
from risingpy.meta.schema.relations import with_all_readers, with_job
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.estimated_rows import TableRows
from risingpy.optimizer.stream.jobs import plan_table
from risingpy.plan.catalog import (
    Index,
    IndexedRelation,
    JobStatus,
    MaterializedView,
    Table,
    View,
    is_temporary,
)


@dataclass(frozen=True, slots=True)
class NewKey:
    """`table` is the table as it is; `primary_key` are the ids of the columns that become its key, `name` its name.

    `anew` binds the queries of the materialized views that read the table.
    """

    table: Table
    primary_key: tuple[int, ...]
    definition: str
    anew: Anew
    name: str | None = None


def add_copies(state: MetaState, change: NewKey, table_rows: TableRows) -> tuple[MetaState, Copies]:
    """(`state` with the empty copy and those of its views, and their jobs; the copies, which no statement can name)."""
    state, copy = add_copy(state, change)
    return with_copied_views(state, check_unchanged(state, change.table), copy, change.anew, table_rows)


def add_copy(state: MetaState, change: NewKey) -> tuple[MetaState, Table]:
    """(`state` with the empty copy and its job, the copy, which no statement can name)."""
    before = check_unchanged(state, change.table)
    refuse_readers(state, before)
    allocate = IdAllocator(state.next_id)
    relation_id = allocate()
    columns = tuple(
        replace(column, history=None, not_null=column.not_null or column.column_id in change.primary_key)
        for column in before.columns
        if not column.hidden
    )
    places = {column.column_id: i for i, column in enumerate(columns)}
    key = tuple(places[column_id] for column_id in change.primary_key)
    planned = plan_table(
        table_id=relation_id,
        name=before.name,
        columns=columns,
        primary_key=key,
        append_only=before.append_only,
        on_conflict=before.on_conflict,
    )
    copy = replace(
        before,
        relation_id=relation_id,
        name=f"{before.name} with a key {relation_id}",
        columns=planned.columns,
        definition=change.definition,
        primary_key=key,
        key_name=change.name,
        stream_key=planned.stream_key,
        status=JobStatus.CREATING,
        watermarks=planned.watermarks,
        table=planned.table,
        version=state.catalog.version + 1,
        next_column_id=max(before.next_column_id, 1 + max(column.column_id for column in before.columns)),
    )
    return with_job(state, copy, planned, allocate), copy


def put_in_place(state: MetaState, change: NewKey, copies: Copies) -> MetaState:
    """`state` with the filled copy as the table, and its views over it. Plain views read these from now on.

    Raises SerializationFailure if other views read the table than those that have copies.
    """
    before, catalog = check_unchanged(state, change.table), state.catalog
    copy_id = copies[0][1]
    refuse_readers(state, before, copies)
    pairs = [(catalog.relations[old], catalog.relations[new]) for old, new in copies if new in catalog.relations]
    if len(pairs) < len(copies):
        raise SerializationFailure("the table's copy was dropped meanwhile", hint="Run the statement again.")
    copy = catalog.relations[copy_id]
    assert isinstance(copy, Table)
    state = with_sequences_of_copy(state, before, copy)
    for old, new in pairs:
        state = with_comments_of_copy(state, old, new)
    indexes = [(new.relation_id, catalog.indexes_of(old.relation_id)) for old, new in pairs]
    placed = in_place(with_status(state, copy_id, JobStatus.CREATED).catalog.relations, copies)
    state = without_relations(state, [*(each for _, found in indexes for each in found), *(old for old, _ in pairs)])
    relations = {key: placed[key] for key in state.catalog.relations}
    state = replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))
    for relation_id, found in indexes:
        now = state.catalog.relations[relation_id]
        assert isinstance(now, IndexedRelation)
        state = with_indexes(state, now, found)
    return state


def with_indexes(state: MetaState, relation: IndexedRelation, indexes: Sequence[Index]) -> MetaState:
    """`state` with the indexes of an earlier form of a relation, in creation, on what is the relation now."""
    for index in indexes:
        definition = replace(index.index, relation_id=relation.relation_id)
        state, new_id = add_index(state, NewIndex(index.name, relation, definition, index.definition))
        new = replace(state.catalog.relations[new_id], owner=index.owner, database_id=index.database_id)
        state = with_comments_of_copy(with_relations(state, [new]), index, new)
    return state


def refuse_readers(state: MetaState, table: Table, copies: Copies = ()) -> None:
    """Raises FeatureNotSupported if a sink or subscription knows the table's rows by the row id that the key replaces.

    So does a foreign key that refers to the table, which knows it by its id. With `copies`, raises
    SerializationFailure if one is missing.
    """
    for child, key in state.catalog.foreign_keys_to(table.relation_id):
        refers = f'constraint "{key.name}" of table "{child.name}" refers to it'
        raise FeatureNotSupported(
            f'cannot add a primary key to table "{table.name}": {refers}',
            hint="Drop the constraint, add the key, and add the constraint again.",
        )
    made, copied = {new for _, new in copies}, {old for old, _ in copies}
    for reader in with_all_readers(state, [table]):
        if reader == table or isinstance(reader, View | Index) or reader.relation_id in made:
            continue
        if not isinstance(reader, MaterializedView) or is_temporary(reader):
            raise FeatureNotSupported(
                f'cannot add a primary key to table "{table.name}": {reader.noun} "{reader.name}" reads its rows',
                hint=f"Drop the {reader.noun}, add the key, and create it again.",
            )
        if copies and reader.relation_id not in copied:
            message = f'{reader.noun} "{reader.name}" was created meanwhile'
            raise SerializationFailure(message, hint="Run the statement again.")
