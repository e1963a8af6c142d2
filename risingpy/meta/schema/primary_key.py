"""ALTER TABLE … ADD PRIMARY KEY: a copy of the table under its new key takes the table's place.

The key says where rows are stored and on which shard, so no row can stay where it is. The copy is in creation while it
is filled: no statement sees it, and a server that restarts removes it. One change of the state, between two epochs,
drops the table and gives its name to the copy. Until then the table is as it was. The same change makes the table's
indexes anew, which know rows by what the key replaces; they read the copy as any new index reads its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported
from risingpy.meta.durable_state import with_status, without_relation
from risingpy.meta.schema.alter import check_unchanged, repointed_views
from risingpy.meta.schema.constraints import with_relations
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.objects.comments import with_comments_of_copy
from risingpy.meta.schema.objects.sequences import with_sequences_of_copy
from risingpy.meta.schema.relations import with_all_readers, with_job
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.repoint import rescanned_view
from risingpy.optimizer.stream.jobs import plan_table
from risingpy.plan.catalog import Index, JobStatus, Table, View


@dataclass(frozen=True, slots=True)
class NewKey:
    """`table` is the table as it is; `primary_key` are the ids of the columns that become its key, `name` its name."""

    table: Table
    primary_key: tuple[int, ...]
    definition: str
    name: str | None = None


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


def put_in_place(state: MetaState, change: NewKey, copy: Table) -> MetaState:
    """`state` with the filled copy as the table. Plain views read it from now on."""
    before = check_unchanged(state, change.table)
    refuse_readers(state, before)
    indexes = state.catalog.indexes_of(before.relation_id)
    state = with_comments_of_copy(with_sequences_of_copy(state, before, copy), before, copy)
    for index in indexes:
        state = without_relation(state, index)
    views = [view for view in state.catalog.relations.values() if isinstance(view, View)]
    state = with_status(without_relation(state, before), copy.relation_id, JobStatus.CREATED)
    relations = dict(state.catalog.relations)
    after = replace(relations[copy.relation_id], name=before.name, schema_name=before.schema_name)
    assert isinstance(after, Table)
    relations[after.relation_id] = after
    for view in views:  # all of them: a view over a view has the table's scan in its plan too
        depends_on = (after.relation_id if each == before.relation_id else each for each in view.depends_on)
        plan = None if view.plan is None else rescanned_view(view.plan, before.relation_id, after.relation_id)
        relations[view.relation_id] = replace(view, depends_on=tuple(sorted(depends_on)), plan=plan)
    state = replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))
    places = {column.column_id: i for i, column in enumerate(after.columns)}
    moved = {i: places[c.column_id] for i, c in enumerate(before.columns) if c.column_id in places}
    relations = {**relations, **repointed_views(state, [(after, moved)])}
    return with_indexes(replace(state, catalog=replace(state.catalog, relations=relations)), after, indexes)


def with_indexes(state: MetaState, table: Table, indexes: Sequence[Index]) -> MetaState:
    """`state` with the indexes of an earlier form of a table, in creation, on what is the table now."""
    for index in indexes:
        definition = replace(index.index, relation_id=table.relation_id)
        state, new_id = add_index(state, NewIndex(index.name, table, definition, index.definition))
        new = replace(state.catalog.relations[new_id], owner=index.owner, database_id=index.database_id)
        state = with_comments_of_copy(with_relations(state, [new]), index, new)
    return state


def refuse_readers(state: MetaState, table: Table) -> None:
    """Raises FeatureNotSupported if a job reads the table: it knows its rows by the row id that the key replaces.

    So it does if a foreign key refers to the table, which knows it by its id.
    """
    for child, key in state.catalog.foreign_keys_to(table.relation_id):
        refers = f'constraint "{key.name}" of table "{child.name}" refers to it'
        raise FeatureNotSupported(
            f'cannot add a primary key to table "{table.name}": {refers}',
            hint="Drop the constraint, add the key, and add the constraint again.",
        )
    for reader in with_all_readers(state, [table]):
        if reader != table and not isinstance(reader, View | Index):
            raise FeatureNotSupported(
                f'cannot add a primary key to table "{table.name}": {reader.noun} "{reader.name}" reads its rows',
                hint=f"Drop the {reader.noun}, add the key, and create it again.",
            )
