"""Changes of indexes as functions from one `MetaState` to the next: their creation, and ALTER of their relation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported
from risingpy.meta.schema.relations import check_new_name, check_unchanged, with_job
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.stream.fragments import cut
from risingpy.optimizer.stream.index import plan_index
from risingpy.plan.catalog import Index, IndexDefinition, IndexedRelation, JobStatus, MaterializedView
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.graph import Job


@dataclass(frozen=True, slots=True)
class NewIndex:
    """CREATE INDEX: the index and its relation, as they were bound. An index is in its relation's schema."""

    name: str
    relation: IndexedRelation
    definition: IndexDefinition
    text: str


def add_index(state: MetaState, index: NewIndex) -> tuple[MetaState, int]:
    """(`state` with the index and its job in creation, its id)."""
    check_new_name(state, index.relation.schema_name, index.name)
    check_unchanged(state, (index.relation,))
    allocate = IdAllocator(state.next_id)
    index_id = allocate()
    indexed = state.catalog.relations[index.relation.relation_id]
    assert isinstance(indexed, IndexedRelation)
    if isinstance(indexed, MaterializedView) and index.definition.unique is not None:
        refuse_unkept_rule(indexed, index)
    planned = plan_index(indexed, index.definition, table_id=index_id, name=index.name, allocate=allocate)
    relation = Index(
        relation_id=index_id,
        schema_name=indexed.schema_name,
        name=index.name,
        columns=planned.columns,
        definition=index.text,
        stream_key=planned.stream_key,
        append_only=planned.append_only,
        table=planned.table,
        status=JobStatus.CREATING,
        version=state.catalog.version + 1,
        index=index.definition,
    )
    after = with_job(state, relation, planned, allocate)
    return replace(after, fresh_jobs=after.fresh_jobs | {index_id}), index_id


def refuse_unkept_rule(view: MaterializedView, index: NewIndex) -> None:
    """Raises FeatureNotSupported for a unique index unless the view's rows are told apart by columns that are its keys.

    A row that breaks the rule has no statement that could be refused, and stopping the view would be worse.
    """
    keys = {key.expression.index for key in index.definition.keys if isinstance(key.expression, InputRef)}
    told_apart = [view.columns[place] for place in view.stream_key]
    if {column.column_id for column in told_apart} <= keys:
        return
    hint = "Rows of the view are told apart by columns that it does not show. Create the index without UNIQUE."
    if not any(column.hidden for column in told_apart):
        names = ", ".join(column.name for column in told_apart)
        hint = f"Rows of the view are told apart by ({names}): an index that has these as keys may be unique."
    what = f'a unique index on materialized view "{view.name}"'
    raise FeatureNotSupported(f"{what} is not supported whose keys its query does not keep apart", hint=hint)


def _with_types(definition: IndexDefinition, indexed: IndexedRelation) -> IndexDefinition:
    """The definition with the types that the columns have now: they may allow longer texts than before."""
    types = {column.column_id: column.type for column in indexed.columns}

    def renewed(part: Expr) -> Expr | None:
        return replace(part, type=types.get(part.index, part.type)) if isinstance(part, InputRef) else None

    keys = tuple(replace(key, expression=transform(key.expression, renewed)) for key in definition.keys)
    predicate = definition.predicate
    if predicate is not None:
        predicate = replace(predicate, expression=transform(predicate.expression, renewed))
    return replace(definition, keys=keys, predicate=predicate)


def index_of_altered(
    state: MetaState, index: Index, indexed: IndexedRelation, allocate: IdAllocator
) -> tuple[Index, Job | None]:
    """An index over its relation's new form, and its job (None if an earlier version of RisingPy has stopped it).

    Dropped columns are no longer included. An index that includes all columns gets added ones. Stored rows stay as is.
    """
    definition = _with_types(index.index, indexed)
    if definition.include is not None:
        # To the index, a column with a new type is the same column under a new id.
        renewed = {
            column.history.earlier.column_id: column.column_id
            for column in indexed.columns
            if column.history is not None and column.history.earlier is not None
        }
        there = {column.column_id for column in indexed.columns}
        moved = (column_id if column_id in there else renewed.get(column_id) for column_id in definition.include)
        definition = replace(definition, include=tuple(i for i in moved if i is not None))
    job = state.jobs.get(index.relation_id) or state.stopped.get(index.relation_id)
    if job is None:
        return replace(index, index=definition), None
    (progress,) = job.state_tables
    planned = plan_index(
        indexed, definition, table_id=index.relation_id, name=index.name, allocate=lambda: progress.table_id
    )
    relation = replace(
        index,
        index=definition,
        columns=planned.columns,
        stream_key=planned.stream_key,
        append_only=planned.append_only,
        table=planned.table,
        version=indexed.version,
    )
    return relation, cut(index.relation_id, planned, state.graph(), allocate)
