"""ALTER as functions from one `MetaState` to the next (seed 002, "Schema Change Procedure").

The session has planned the table's new form on version v. It holds the table's lock alone, and all rows that were
logged for the table are in committed epochs. The change checks v, replaces the table's job, and points all readers to
the new form, in one state that the barrier loop commits between two epochs. So the log after the committed position,
which a recovery reads again, has only rows of the new form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from risingpy.errors import (
    DependentObjectsStillExist,
    DuplicateRelation,
    FeatureNotSupported,
    SerializationFailure,
    SqlError,
    UndefinedObject,
    UndefinedTable,
)
from risingpy.meta.durable_state import without_relation
from risingpy.meta.own_pace.set_aside import refuse_alter
from risingpy.meta.schema.constraints import NO_KEY_CHANGES, KeyChanges
from risingpy.meta.schema.indexes import index_of_altered
from risingpy.meta.schema.objects.column_readers import readers_of_columns, refuse_new_types, refuse_wider_types
from risingpy.meta.schema.objects.needed_sequences import without_sequences_of_lost
from risingpy.meta.schema.objects.sequences import with_sequences_of
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.schema.subscriptions import subscription_of_altered, subscriptions_of
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.repoint import repointed_job, repointed_view
from risingpy.optimizer.stream.fragments import cut
from risingpy.optimizer.stream.jobs import plan_of_table
from risingpy.optimizer.table_change import column_positions
from risingpy.plan.catalog import (
    OWN_TEMPORARY_SCHEMA,
    Catalog,
    ColumnDesc,
    CreatedRelation,
    Index,
    NumberSequence,
    QueryRelation,
    RowRetention,
    Sink,
    Subscription,
    Table,
    View,
    is_of_session,
    is_temporary_schema,
)
from risingpy.plan.graph import Job
from risingpy.storage.codec.table_schema import TableColumn

RelationReader: TypeAlias = QueryRelation | Sink | Subscription
"""What has the names of the relations that it reads in its definition."""
Reread: TypeAlias = Callable[[RelationReader | Index, Catalog, Catalog], RelationReader | Index]
"""A reader of the catalog before a change, with the names of the catalog after it in its texts."""


@dataclass(frozen=True, slots=True)
class TableReplacement:
    """The table's new form; its `version` is the one on which the change was planned.

    With `cascade`, readers of a dropped column are dropped, too. `generated` maps each generated column that is dropped
    to the dropped column that it reads. `keys` are changes of unique indexes. Without `changes_form` columns stay as
    they are. `reader` is that of `NewName`: columns that come and go may change what a reader's text means.
    """

    relation: Table
    cascade: bool
    generated: tuple[tuple[str, str], ...] = ()
    keys: KeyChanges = NO_KEY_CHANGES
    changes_form: bool = True
    reader: Reread | None = None


@dataclass(frozen=True, slots=True)
class NewName:
    """ALTER … RENAME TO, SET SCHEMA, SWAP WITH. A field that is None stays as it is.

    `definition` makes the renamed relation's CREATE text. `reader(view, before, after)` puts the names of the
    catalog after the change into the texts of a view, sink or subscription that reads the relation.
    """

    relation_id: int
    name: str | None
    schema_name: str | None
    definition: Callable[[CreatedRelation], str]
    reader: Reread


def replace_table(state: MetaState, change: TableReplacement) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` with the table in its new form, notices)."""
    before = check_unchanged(state, change.relation)
    state, notices = _without_readers_of_lost_columns(state, before, change)
    state, said = without_sequences_of_lost(state, before, change.relation, cascade=change.cascade)
    earlier, allocate = state.catalog, IdAllocator(state.next_id)
    after = replace(change.relation, version=max(state.committed.epoch, before.version + 1))
    after = replace(after, retention=_with_ids(after.retention, allocate))
    after = replace(after, times_of_rows=allocate() if after.times_of_rows == 0 else after.times_of_rows)
    planned = plan_of_table(after)
    after = replace(after, columns=planned.columns, stream_key=planned.stream_key)
    after = replace(after, table=planned.table, watermarks=planned.watermarks)
    renewed = {after.relation_id: cut(after.relation_id, planned, state.graph(), allocate)}
    relations = {**state.catalog.relations, after.relation_id: after}
    moved: list[tuple[Table | Index, Mapping[int, int]]] = [(after, column_positions(before, after))]
    for index in state.catalog.indexes_of(after.relation_id):
        changed, index_job = index_of_altered(state, index, after, allocate)
        relations[index.relation_id] = changed
        if index_job is not None:
            renewed[index.relation_id] = index_job
            moved.append((changed, column_positions(index, changed)))
    for follower in subscriptions_of(state.catalog, after):
        followed, job = subscription_of_altered(state, follower, after, allocate)
        relations[follower.relation_id] = followed
        if job is not None:
            renewed[follower.relation_id] = job
    tables = [each.table for each, _ in moved]

    def after_change(jobs: Mapping[int, Job]) -> Mapping[int, Job]:
        return {key: renewed.get(key) or reduce(repointed_job, tables, job) for key, job in jobs.items()}

    relations.update(repointed_views(state, moved))
    state = replace(
        state,
        catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations),
        jobs=after_change(state.jobs),
        stopped=after_change(state.stopped),
        graph_version=state.graph_version + 1,
        next_id=allocate.next_id,
        compactions=_compactions(state, before, after),
        purge=state.purge | (_tables_beside(before) - _tables_beside(after)),
    )
    if change.reader is not None and _named(before) != _named(after):
        state = with_texts(earlier, state, state.catalog.dependents(after.relation_id), change.reader)
    return with_sequences_of(state, after.relation_id), (*notices, *said)


def _with_ids(retention: RowRetention | None, allocate: Callable[[], int]) -> RowRetention | None:
    """The tables of a ttl that the change adds have ids from now on."""
    if retention is None or retention.table_id:
        return retention
    return replace(retention, table_id=allocate(), ages_table=allocate())


def _tables_beside(table: Table) -> frozenset[int]:
    retention = table.retention
    ids = () if retention is None else (retention.table_id, retention.ages_table)
    return frozenset(each for each in (*ids, table.times_of_rows) if each is not None)


def _named(table: Table) -> list[tuple[int, str]]:
    return [(column.column_id, column.name) for column in table.columns]


def with_texts(before: Catalog, state: MetaState, readers: Sequence[CreatedRelation], reread: Reread) -> MetaState:
    """`state` with the texts of readers as they have to be after a change of what they name."""
    relations = dict(state.catalog.relations)
    for reader in readers:
        if isinstance(reader, RelationReader | Index):
            views = before.seen_from(reader.database_id), state.catalog.seen_from(reader.database_id)
            relations[reader.relation_id] = reread(reader, *views)
    return replace(state, catalog=replace(state.catalog, relations=relations))


def _compactions(state: MetaState, before: Table, after: Table) -> Mapping[int, int]:
    """The compactions, with the table and its indexes added if stored rows may now have unreadable columns."""
    kept = {column_id for column in after.columns for column_id in _ids(column)}
    if all(column.column_id in kept for column in before.columns):
        return state.compactions
    stored = [after.relation_id, *(index.relation_id for index in state.catalog.indexes_of(after.relation_id))]
    return {**state.compactions, **dict.fromkeys(stored, after.version)}


def _ids(column: ColumnDesc | TableColumn) -> Iterator[int]:
    """The column's id, and those of its earlier forms."""
    yield column.column_id
    if column.history is not None and column.history.earlier is not None:
        yield from _ids(column.history.earlier)


def rename(state: MetaState, change: NewName) -> MetaState:
    """`state` with a relation under another name. Its rows and its readers stay the same."""
    relation = state.catalog.relations.get(change.relation_id)
    if relation is None:
        raise SerializationFailure("the relation was dropped meanwhile", hint="Run the statement again.")
    name, schema = change.name or relation.name, change.schema_name or relation.schema_name
    if (schema == OWN_TEMPORARY_SCHEMA or is_temporary_schema(schema)) != is_of_session(relation):
        raise FeatureNotSupported("cannot move objects into or out of temporary schemas")
    if schema not in state.catalog.schemas:
        raise UndefinedObject(f'schema "{schema}" does not exist', sqlstate="3F000")
    if state.catalog.find(name, schema, ()) is not None:
        if change.name is None:
            if schema == relation.schema_name:
                return state
            raise DuplicateRelation(f'relation "{name}" already exists in schema "{schema}"')
        raise DuplicateRelation(f'relation "{name}" already exists')
    return _with_names(state, {relation.relation_id: (schema, name)}, change)


def swap(state: MetaState, other_id: int, change: NewName) -> MetaState:
    """`state` with the names of two relations exchanged; `change.name` and `change.schema_name` are None."""
    relations = state.catalog.relations
    one, other = relations.get(change.relation_id), relations.get(other_id)
    if one is None or other is None:
        raise SerializationFailure("the relation was dropped meanwhile", hint="Run the statement again.")
    if is_of_session(one) != is_of_session(other):
        raise FeatureNotSupported("cannot move objects into or out of temporary schemas")
    names = {one.relation_id: (other.schema_name, other.name), other_id: (one.schema_name, one.name)}
    return _with_names(state, names, change)


def _with_names(state: MetaState, names: Mapping[int, tuple[str, str]], change: NewName) -> MetaState:
    """`state` with relations under other names, by their ids: (schema, name)."""
    relations = dict(state.catalog.relations)
    moved: list[tuple[CreatedRelation, CreatedRelation]] = []
    for relation_id, (schema, name) in names.items():
        relation = relations[relation_id]
        refuse_unbound_views(state, relation)
        if any(isinstance(reader, Table) for reader in state.catalog.dependents(relation_id)):
            message = f'cannot rename source "{relation.name}": the definitions of tables that copy from it name it'
            raise FeatureNotSupported(message, hint="Drop the tables first.")
        renamed = replace(relation, name=name, schema_name=schema)
        if isinstance(renamed, Table) and isinstance(relation, Table) and relation.primary_key:
            renamed = renamed.with_key_named(relation.key_constraint)
        if not isinstance(renamed, NumberSequence):
            renamed = replace(renamed, definition=change.definition(renamed))
        if isinstance(renamed, Table) and renamed.source is not None:
            renamed = replace(renamed, source=replace(renamed.source, name=name, schema_name=schema))
        relations[relation_id] = renamed
        moved.append((relation, renamed))
        for index in state.catalog.indexes_of(relation_id):  # they stand in their relation's schema
            relations[index.relation_id] = moved_index = replace(index, schema_name=schema)
            moved.append((index, moved_index))
        for sequence in state.catalog.sequences_of(relation_id):
            relations[sequence.relation_id] = replace(sequence, schema_name=schema)
    readers = {each.relation_id for was, _ in moved for each in state.catalog.dependents(was.relation_id)}
    earlier, state = state.catalog, replace(state, catalog=replace(state.catalog, relations=relations))
    state = with_texts(earlier, state, [relations[reader] for reader in readers], change.reader)
    relations = dict(state.catalog.relations)
    same = [(is_, {i: i for i in range(len(is_.columns))}) for _, is_ in moved]
    relations = {**relations, **repointed_views(state, same)}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))


def check_unchanged(state: MetaState, planned: Table) -> Table:
    """The current table. Raises SerializationFailure if it has changed since `planned`."""
    now = state.catalog.relations.get(planned.relation_id)
    if not isinstance(now, Table):
        raise UndefinedTable(f'table "{planned.name}" was dropped meanwhile')
    if (now.version, now.name, now.schema_name) != (planned.version, planned.name, planned.schema_name):
        raise SerializationFailure(
            f'table "{planned.name}" was altered meanwhile by another session', hint="Run the statement again."
        )
    if now.has_stopped:
        raise SqlError(
            f'table "{now.name}" has stopped because of an error',
            sqlstate="55000",
            hint="The server's log has the error. DROP the table and create it again.",
        )
    return now


def _without_readers_of_lost_columns(
    state: MetaState, before: Table, change: TableReplacement
) -> tuple[MetaState, tuple[str, ...]]:
    """`state` without the readers of dropped columns. Raises an error unless the change may drop them."""
    _refuse_sinks_into(state, before)
    refuse_alter(state, before)
    refuse_unbound_views(state, before)
    refuse_wider_types(state, before, change.relation)
    kept = {column.column_id for column in change.relation.columns}
    lost = {column.column_id: column.name for column in before.columns if column.column_id not in kept}
    if not lost:
        return state, ()
    refuse_new_types(state, before, change.relation)
    readers_of_lost = readers_of_columns(state, before, frozenset(lost))
    users = [(r, c) for r, c in readers_of_lost if r.relation_id not in change.keys.dropped]
    if not users and not change.generated:
        return state, ()
    readers = with_all_readers(state, [reader for reader, _ in users])
    if not change.cascade:
        table = before.name
        lines = [f"column {c} of table {table} depends on column {r} of table {table}" for c, r in change.generated]
        lines += [f"{r.noun} {r.name} depends on column {lost[c]} of table {table}" for r, c in users]
        lines += [
            f"{r.noun} {r.name} depends on {needed.noun} {needed.name}"
            for needed in readers
            for r in state.catalog.dependents(needed.relation_id)
        ]
        dropped = change.generated[0][1] if change.generated else lost[users[0][1]]
        raise DependentObjectsStillExist(
            f"cannot drop column {dropped} of table {table} because other objects depend on it",
            detail="\n".join(lines),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    notices = (
        *(f"drop cascades to column {column} of table {before.name}" for column, _ in change.generated),
        *(f"drop cascades to {reader.noun} {reader.name}" for reader in reversed(readers)),
    )
    for reader in readers:
        state = without_relation(state, reader)
    return state, notices


def _refuse_sinks_into(state: MetaState, table: Table) -> None:
    for reader in state.catalog.dependents(table.relation_id):
        if isinstance(reader, Sink) and reader.into == table.relation_id:
            raise FeatureNotSupported(
                f'cannot alter table "{table.name}": sink "{reader.name}" goes into it, with the columns of now',
                hint="Drop the sink, and create it again afterwards; snapshot = 'false' if the table keeps its rows.",
            )


def refuse_unbound_views(state: MetaState, relation: CreatedRelation) -> None:
    """Raises FeatureNotSupported if a view reads the relation whose query is bound anew by each who reads it."""
    stored: Sequence[CreatedRelation] = (relation, *state.catalog.indexes_of(relation.relation_id))
    for reader in (reader for each in stored for reader in state.catalog.dependents(each.relation_id)):
        if isinstance(reader, View) and reader.plan is None:
            raise FeatureNotSupported(
                f'cannot alter {relation.noun} "{relation.name}": view "{reader.name}" reads it, and depends on '
                "who queries it",
                hint="Drop the view, and create it again afterwards.",
            )


def repointed_views(state: MetaState, moved: Sequence[tuple[CreatedRelation, Mapping[int, int]]]) -> dict[int, View]:
    """The plain views that read any of the relations, also through other views, over their new forms.

    `moved` has, for each relation, its new form, and the new position of each old column.
    """
    changed: dict[int, View] = {}
    for view in state.catalog.relations.values():
        if not isinstance(view, View):
            continue
        plan = view.plan
        for after, positions in moved:
            plan = None if plan is None else repointed_view(plan, after, positions)
        if plan is not view.plan:
            changed[view.relation_id] = replace(view, plan=plan)
    return changed
