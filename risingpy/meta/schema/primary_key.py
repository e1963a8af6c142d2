"""ALTER TABLE … ADD PRIMARY KEY, and another type for a key's column: a copy under the new key takes the table's place.

The key says where rows are stored and on which shard, so no row can stay where it is. The copy is in creation while it
is filled: no statement sees it, and a server that restarts removes it. One change of the state, between two epochs,
drops the table and gives its name to the copy. Until then the table is as it was. Materialized views that read the
table are built anew in the same way (`jobs/views_of_copy.py`). The same change makes the indexes of all of them anew,
which know rows by what the key replaces; they read the copy as any new index reads its relation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported, SerializationFailure
from risingpy.meta.durable_state import with_status, without_relations
from risingpy.meta.schema.alter import check_unchanged
from risingpy.meta.schema.altered_table import with_new_rules
from risingpy.meta.schema.constraints import NO_KEY_CHANGES, KeyChanges, with_indexes, with_references
from risingpy.meta.schema.jobs.views_of_copy import Anew, Copies, in_place, with_copied_views
from risingpy.meta.schema.objects.column_readers import refuse_new_types
from risingpy.meta.schema.objects.comments import with_comments_of_copy
from risingpy.meta.schema.objects.needed_sequences import with_sequences_of_changed
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

    `anew` binds the queries of the materialized views that read the table. `form` is the table as it is to be, if its
    columns change, too; `keys` are then the changes of what reads them.
    """

    table: Table
    primary_key: tuple[int, ...]
    definition: str
    anew: Anew
    name: str | None = None
    form: Table | None = None
    keys: KeyChanges = NO_KEY_CHANGES

    @property
    def what(self) -> str:
        """What the statement does, for messages."""
        if self.form is None:
            return f'add a primary key to table "{self.table.name}"'
        return f'alter type of a column in the primary key of table "{self.table.name}"'


def add_copies(state: MetaState, change: NewKey, table_rows: TableRows) -> tuple[MetaState, Copies]:
    """(`state` with the empty copy and those of its views, and their jobs; the copies, which no statement can name)."""
    state, copy = add_copy(state, change)
    return with_copied_views(state, check_unchanged(state, change.table), copy, change.anew, table_rows)


def add_copy(state: MetaState, change: NewKey) -> tuple[MetaState, Table]:
    """(`state` with the empty copy and its job, the copy, which no statement can name)."""
    before = check_unchanged(state, change.table)
    refuse_readers(state, change)
    form = before if change.form is None else change.form
    allocate = IdAllocator(state.next_id)
    relation_id = allocate()
    columns = tuple(
        replace(column, history=None, not_null=column.refuses_null(in_key=column.column_id in change.primary_key))
        for column in form.columns
        if not column.hidden
    )
    places = {column.column_id: i for i, column in enumerate(columns)}
    key = tuple(places[column_id] for column_id in change.primary_key)
    planned = plan_table(
        table_id=relation_id,
        name=before.name,
        columns=columns,
        primary_key=key,
        append_only=form.append_only,
        on_conflict=form.on_conflict,
    )
    copy = replace(
        form,
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
        next_column_id=max(form.next_column_id, 1 + max(column.column_id for column in form.columns)),
    )
    return with_job(state, copy, planned, allocate), copy


def put_in_place(state: MetaState, change: NewKey, copies: Copies) -> MetaState:
    """`state` with the filled copy as the table, and its views over it. Plain views read these from now on.

    Raises SerializationFailure if other views read the table than those that have copies.
    """
    before, catalog = check_unchanged(state, change.table), state.catalog
    copy_id = copies[0][1]
    refuse_readers(state, change, copies)
    pairs = [(catalog.relations[old], catalog.relations[new]) for old, new in copies if new in catalog.relations]
    if len(pairs) < len(copies):
        raise SerializationFailure("the table's copy was dropped meanwhile", hint="Run the statement again.")
    copy = catalog.relations[copy_id]
    assert isinstance(copy, Table)
    if change.form is not None:
        state = with_sequences_of_changed(state, before, change.form)
        pairs = [(replace(change.form, relation_id=before.relation_id), copy), *pairs[1:]]
    state = with_sequences_of_copy(state, before, copy)
    for old, new in pairs:
        state = with_comments_of_copy(state, old, new)
    indexes = [(new.relation_id, catalog.indexes_of(old.relation_id)) for old, new in pairs]
    placed = in_place(with_status(state, copy_id, JobStatus.CREATED).catalog.relations, copies)
    gone = [*(each for _, found in indexes for each in found), *(catalog.relations[old] for old, _ in copies)]
    state = without_relations(state, gone)
    relations = {key: placed[key] for key in state.catalog.relations}
    state = replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))
    made: dict[int, int] = {}
    for relation_id, found in indexes:
        now = state.catalog.relations[relation_id]
        assert isinstance(now, IndexedRelation)
        state, new_ids = with_indexes(state, now, found, change.keys)
        made |= new_ids
    state = with_references(state, catalog, (before.relation_id, copy_id), made, change.keys)
    return with_new_rules(state, {child.relation_id for child, _ in state.catalog.foreign_keys_to(copy_id)})


def refuse_readers(state: MetaState, change: NewKey, copies: Copies = ()) -> None:
    """Raises FeatureNotSupported if a sink or subscription knows the table's rows by the key that is replaced.

    So does anything but an index that reads a column whose type changes. With `copies`, raises SerializationFailure if
    one is missing.
    """
    table = check_unchanged(state, change.table)
    if change.form is not None:
        refuse_new_types(state, table, change.form, {each.index_id for each in change.keys.remade})
    made, copied = {new for _, new in copies}, {old for old, _ in copies}
    for reader in with_all_readers(state, [table]):
        if reader == table or isinstance(reader, View | Index) or reader.relation_id in made:
            continue
        if not isinstance(reader, MaterializedView) or is_temporary(reader):
            raise FeatureNotSupported(
                f'cannot {change.what}: {reader.noun} "{reader.name}" reads its rows',
                hint=f"Drop the {reader.noun}, alter the table, and create it again.",
            )
        if copies and reader.relation_id not in copied:
            message = f'{reader.noun} "{reader.name}" was created meanwhile'
            raise SerializationFailure(message, hint="Run the statement again.")
