"""ALTER VIEW and ALTER MATERIALIZED VIEW … RENAME COLUMN: from one `MetaState` to the next.

A column is known by its id, so jobs, plans and rows stay. The texts of who reads the view get the new name, as after a
change of a table; its indexes and subscriptions, which have its columns' names, are made of it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from risingpy.errors import DuplicateColumn, UndefinedColumn, UndefinedTable
from risingpy.meta.own_pace.set_aside import refuse_alter
from risingpy.meta.schema.alter import Reread, refuse_unbound_views, repointed_views, with_texts
from risingpy.meta.schema.indexes import index_of_altered
from risingpy.meta.schema.subscriptions import subscription_of_altered, subscriptions_of
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import Catalog, ColumnDesc, CreatedRelation, MaterializedView, QueryRelation
from risingpy.plan.graph import Job


@dataclass(frozen=True, slots=True)
class NewColumnName:
    """`definition` gives the view's CREATE text for its new columns; `reader` is that of `NewName`."""

    relation_id: int
    old: str
    new: str
    definition: Callable[[QueryRelation], str]
    reader: Reread


def with_renamed_column(state: MetaState, change: NewColumnName) -> MetaState:
    """`state` with a column of a view under another name. Raises UndefinedColumn, DuplicateColumn."""
    earlier = state.catalog
    before = earlier.relations.get(change.relation_id)
    if not isinstance(before, QueryRelation):
        raise UndefinedTable("the view was dropped meanwhile")
    shown = [column.name for column in before.columns if not column.hidden]
    if change.old not in shown:
        raise UndefinedColumn(f'column "{change.old}" does not exist')
    if change.new in [column.name for column in before.columns]:
        raise DuplicateColumn(f'column "{change.new}" of relation "{before.name}" already exists')
    refuse_unbound_views(state, before)
    version = max(earlier.version, before.version) + 1
    after: QueryRelation = replace(before, columns=tuple(_renamed(each, change) for each in before.columns))
    after = replace(after, definition=change.definition(after), version=version)
    relations: dict[int, CreatedRelation] = {**earlier.relations, after.relation_id: after}
    jobs: dict[int, Job] = {}
    allocate = IdAllocator(state.next_id)
    if isinstance(after, MaterializedView):
        refuse_alter(state, after)
        columns = (replace(each, name=change.new) if each.name == change.old else each for each in after.table.columns)
        after = replace(after, table=replace(after.table, columns=tuple(columns)))
        relations[after.relation_id] = after
        for index in earlier.indexes_of(after.relation_id):
            relations[index.relation_id], job = index_of_altered(state, index, after, allocate)
            jobs |= {} if job is None else {index.relation_id: job}
        for follower in subscriptions_of(earlier, after):
            relations[follower.relation_id], job = subscription_of_altered(state, follower, after, allocate)
            jobs |= {} if job is None else {follower.relation_id: job}
    catalog = replace(earlier, version=earlier.version + 1, relations=relations)
    state = replace(
        state,
        catalog=catalog,
        jobs={key: jobs.get(key, job) for key, job in state.jobs.items()},
        stopped={key: jobs.get(key, job) for key, job in state.stopped.items()},
        graph_version=state.graph_version + bool(jobs),
        next_id=allocate.next_id,
    )
    return _with_plans(with_texts(earlier, state, catalog.dependents(after.relation_id), change.reader), after)


def _with_plans(state: MetaState, after: QueryRelation) -> MetaState:
    """`state` in which plain views scan a materialized view as it is now."""
    moved = [(after, {place: place for place in range(len(after.columns))})]
    catalog: Catalog = state.catalog
    relations = {**catalog.relations, **repointed_views(state, moved)}
    return replace(state, catalog=replace(catalog, relations=relations))


def _renamed(column: ColumnDesc, change: NewColumnName) -> ColumnDesc:
    return replace(column, name=change.new) if column.name == change.old and not column.hidden else column
