"""Schema changes as functions from one `MetaState` to the next; the barrier loop applies them between epochs.

The statement was bound on an older catalog. So each change checks the name, and the relations that the new one reads,
against the state that it changes. Errors are the client's (SqlError), and the state stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import (
    Check,
    DependentObjectsStillExist,
    DuplicateRelation,
    FeatureNotSupported,
    SerializationFailure,
    SqlError,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
    unchecked,
)
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.needed_keys import refuse_needed_keys
from risingpy.meta.schema.objects.needed_sequences import without_needing_defaults
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.estimated_rows import TableRows, no_table_rows
from risingpy.optimizer.stream.fragments import cut
from risingpy.optimizer.stream.jobs import StreamJobPlan, plan_materialized_view
from risingpy.plan.catalog import (
    BOOTSTRAP_ROLE_ID,
    Catalog,
    ColumnDesc,
    CreatedRelation,
    DomainType,
    Index,
    JobStatus,
    MaterializedView,
    NumberSequence,
    ReadColumns,
    Relation,
    RelationClass,
    Sink,
    Table,
    View,
    is_temporary,
)
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.set_aside import can_be_set_aside


@dataclass(frozen=True, slots=True)
class NewView:
    """CREATE VIEW: `depends_on` are the relations that it reads, as they were bound. `plan`: see `View`."""

    schema_name: str
    name: str
    columns: tuple[ColumnDesc, ...]
    definition: str
    query: str
    depends_on: tuple[CreatedRelation, ...]
    plan: LogicalPlan | None
    functions: tuple[int, ...] = ()
    reads: tuple[ReadColumns, ...] | None = None


@dataclass(frozen=True, slots=True)
class NewMaterializedView:
    """CREATE MATERIALIZED VIEW: its logical plan, its columns' names, which of these are `texts`, and their domains.

    `ttl`: for so many seconds a row that it reads counts. `refresh_seconds`: after so many it follows what it reads.
    """

    schema_name: str
    name: str
    plan: LogicalPlan
    column_names: tuple[str, ...]
    definition: str
    query: str
    depends_on: tuple[CreatedRelation, ...]
    functions: tuple[int, ...] = ()
    emit_on_window_close: bool = False
    is_temporary: bool = False
    texts: tuple[bool, ...] = ()
    domains: tuple[DomainType | None, ...] = ()
    ttl: int | None = None
    refresh_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class DropTarget:
    """What DROP names: a kind, a name, and where to look for it."""

    kind: RelationClass
    schema_name: str | None
    name: str
    search_path: tuple[str, ...]


def add_materialized_view(
    state: MetaState, view: NewMaterializedView, table_rows: TableRows = no_table_rows, check: Check = unchecked
) -> tuple[MetaState, tuple[int, tuple[str, ...]]]:
    """(`state` with the view and its job in creation, (its id, notices)).

    `table_rows` gives the relations' numbers of rows. `check` is called while the view is planned.
    """
    check_new_name(state, view.schema_name, view.name)
    check_unchanged(state, view.depends_on)
    allocate = IdAllocator(state.next_id)
    planned = plan_materialized_view(
        view.plan,
        state.catalog,
        allocate=allocate,
        name=view.name,
        output_names=view.column_names,
        emit_on_window_close=view.emit_on_window_close,
        ttl=view.ttl,
        table_rows=table_rows,
        check=check,
    )
    texts = {column.column_id for column, is_text in zip(planned.columns, view.texts, strict=False) if is_text}
    domains = {column.column_id: domain for column, domain in zip(planned.columns, view.domains, strict=False)}
    columns = (replace(c, as_text=c.column_id in texts, domain=domains.get(c.column_id)) for c in planned.columns)
    relation = MaterializedView(
        relation_id=planned.table.table_id,
        schema_name=view.schema_name,
        name=view.name,
        columns=tuple(columns),
        definition=view.definition,
        stream_key=planned.stream_key,
        append_only=planned.root.properties.append_only,
        table=planned.table,
        watermarks=planned.watermarks,
        query=view.query,
        depends_on=tuple(sorted({relation.relation_id for relation in view.depends_on})),
        functions=view.functions,
        is_temporary=view.is_temporary,
        refresh_seconds=view.refresh_seconds,
        status=JobStatus.CREATING,
        version=state.catalog.version + 1,
    )
    after = with_job(state, relation, planned, allocate)
    if view.refresh_seconds is not None and not can_be_set_aside(after.jobs[relation.relation_id]):
        message = f'materialized view "{view.name}" cannot be refreshed at intervals: it reads a source itself'
        hint = "Let a table have the source (CREATE TABLE … WITH (connector = …)), and the view read the table."
        raise FeatureNotSupported(message, hint=hint)
    after = replace(after, fresh_jobs=after.fresh_jobs | {relation.relation_id})
    return after, (relation.relation_id, tuple(planned.notices))


def add_view(state: MetaState, view: NewView, *, or_replace: bool) -> MetaState:
    """`state` with a plain view."""
    existing = state.catalog.find(view.name, view.schema_name, ())
    if or_replace and isinstance(existing, View):
        if any(state.catalog.dependents(existing.relation_id)):
            raise DependentObjectsStillExist(
                f'cannot replace view "{view.name}" because other objects depend on it',
                hint="A materialized view keeps the query that it was created with: drop it first.",
            )
    else:
        existing = None
        check_new_name(state, view.schema_name, view.name)
    check_unchanged(state, view.depends_on)
    allocate = IdAllocator(state.next_id)
    relation = View(
        relation_id=existing.relation_id if existing is not None else allocate(),
        schema_name=view.schema_name,
        name=view.name,
        columns=view.columns,
        definition=view.definition,
        query=view.query,
        plan=view.plan,
        depends_on=tuple(sorted({relation.relation_id for relation in view.depends_on})),
        functions=view.functions,
        version=state.catalog.version + 1,
        owner=existing.owner if existing is not None else BOOTSTRAP_ROLE_ID,
        database_id=state.catalog.database_id,
        acl=existing.acl if existing is not None else None,
        column_acls=existing.column_acls if existing is not None else (),
        reads=view.reads,
    )
    return with_relation(state, relation, allocate)


def drop_targets(catalog: Catalog, targets: Iterable[DropTarget]) -> list[Relation]:
    """The relations that DROP names and that exist."""
    found = (catalog.find(t.name, t.schema_name, t.search_path) for t in targets)
    return [relation for relation in found if relation is not None]


def drop_relations(
    state: MetaState, targets: Sequence[DropTarget], *, if_exists: bool, cascade: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the relations, and with CASCADE without their readers; notices)."""
    notices: list[str] = []
    dropped: list[CreatedRelation] = []
    for target in targets:
        relation = state.catalog.find(target.name, target.schema_name, target.search_path)
        if relation is None:
            if not if_exists:
                raise _undefined(target)
            notices.append(f'{target.kind.noun} "{target.name}" does not exist, skipping')
            continue
        if not isinstance(relation, target.kind):
            article = "an" if target.kind is Index else "a"
            raise WrongObjectType(
                f'"{relation.name}" is not {article} {target.kind.noun}',
                hint=f"Use DROP {relation.noun.upper()} to remove a {relation.noun}.",
            )
        dropped.append(relation)
    everything = with_all_readers(state, dropped)
    notices.extend(refuse_needed_keys(state, dropped, everything, cascade=cascade))
    # An index or a column's sequence is dropped with its relation, without a notice. So is what a SUBSCRIBE reads.
    readers = [r for r in everything if r not in dropped and not goes_along(r)]
    needed = [r for r in readers if not _only_writes(r, dropped)]
    if needed and not cascade:
        raise _still_needed(state, dropped, needed, everything)
    state, said = without_needing_defaults(state, dropped, everything, cascade=cascade)
    notices.extend((*said, *(f"drop cascades to {r.noun} {r.name}" for r in reversed(readers))))
    for relation in everything:
        state = without_relation(state, relation)
    return state, tuple(notices)


def goes_along(relation: CreatedRelation) -> bool:
    """Whether it is dropped with its relation, without a word."""
    is_of_column = isinstance(relation, NumberSequence) and relation.owned_by is not None
    return isinstance(relation, Index) or is_of_column or is_temporary(relation)


def _only_writes(relation: CreatedRelation, dropped: Sequence[CreatedRelation]) -> bool:
    """Whether it is a sink into a dropped table that reads none of them. As in RisingWave, it goes with its target."""
    if not isinstance(relation, Sink) or relation.into is None:
        return False
    ids = {each.relation_id for each in dropped}
    return relation.into in ids and not ids & (set(relation.depends_on) - {relation.into})


def without_relation_id(state: MetaState, relation_id: int) -> MetaState:
    """`state` without a relation, if it has it."""
    relation = state.catalog.relations.get(relation_id)
    return state if relation is None else without_relation(state, relation)


def _undefined(target: DropTarget) -> SqlError:
    name = f"{target.schema_name}.{target.name}" if target.schema_name else target.name
    if target.kind is Table:
        return UndefinedTable(f'table "{name}" does not exist')
    if target.kind is Index:
        return UndefinedObject(f'index "{name}" does not exist')
    return UndefinedTable(f'{target.kind.noun} "{name}" does not exist')


def _still_needed(
    state: MetaState,
    dropped: Sequence[CreatedRelation],
    readers: Sequence[CreatedRelation],
    everything: Sequence[CreatedRelation],
) -> SqlError:
    relations = state.catalog.relations
    lines = [
        f"{reader.noun} {reader.name} depends on {relations[needed].noun} {relations[needed].name}"
        for reader in reversed(readers)
        for needed in reader.depends_on
        if relations[needed] in everything
    ]
    first = dropped[0]
    return DependentObjectsStillExist(
        f"cannot drop {first.noun} {first.name} because other objects depend on it",
        detail="\n".join(lines),
        hint="Use DROP ... CASCADE to drop the dependent objects too.",
    )


def with_all_readers(state: MetaState, roots: Sequence[CreatedRelation]) -> list[CreatedRelation]:
    """`roots` and everything that reads them, readers before what they read."""
    ordered: list[CreatedRelation] = []

    def visit(relation: CreatedRelation) -> None:
        for reader in state.catalog.dependents(relation.relation_id):
            visit(reader)
        if relation not in ordered:
            ordered.append(relation)

    for root in roots:
        visit(root)
    return ordered


def check_new_name(state: MetaState, schema_name: str, name: str) -> None:
    """Raises DuplicateRelation if the name is taken, UndefinedObject if there is no such schema."""
    if schema_name not in state.catalog.schemas:
        raise UndefinedObject(f'schema "{schema_name}" does not exist', sqlstate="3F000")
    if state.catalog.find(name, schema_name, ()) is not None:
        raise DuplicateRelation(f'relation "{name}" already exists')
    if state.catalog.find_type(name, schema_name, ()) is not None:
        hint = "A relation has an associated type of the same name, so its name must be no existing type's."
        raise SqlError(f'type "{name}" already exists', sqlstate="42710", hint=hint)


def check_unchanged(state: MetaState, bound: Iterable[CreatedRelation]) -> None:
    """Raises SerializationFailure if a relation has changed since it was bound, SqlError if its job has stopped."""
    for relation in bound:
        now = state.catalog.relations.get(relation.relation_id)
        if now is None or now.version != relation.version:
            raise SerializationFailure(
                f'{relation.noun} "{relation.name}" changed meanwhile', hint="Run the statement again."
            )
        if now.has_stopped:
            raise SqlError(
                f'{relation.noun} "{relation.name}" has stopped because of an error',
                sqlstate="55000",
                hint=f"The server's log has the error. RECOVER the {relation.noun}, or drop it and create it again.",
            )


def with_job(state: MetaState, relation: CreatedRelation, planned: StreamJobPlan, allocate: IdAllocator) -> MetaState:
    """`state` with a new relation and its job."""
    job = cut(relation.relation_id, planned, state.graph(), allocate)
    state = replace(state, jobs={**state.jobs, job.job_id: job}, graph_version=state.graph_version + 1)
    return with_relation(state, relation, allocate)


def with_relation(state: MetaState, relation: CreatedRelation, allocate: IdAllocator) -> MetaState:
    """`state` with a new relation, whose ids `allocate` has given."""
    catalog = state.catalog
    return replace(
        state,
        catalog=replace(
            catalog,
            version=catalog.version + 1,
            relations={**catalog.relations, relation.relation_id: relation},
        ),
        next_id=allocate.next_id,
    )
