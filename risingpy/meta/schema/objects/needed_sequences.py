"""DROP of sequences, and of columns and tables that own some: which defaults name them, and go with CASCADE."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from risingpy.errors import DependentObjectsStillExist
from risingpy.functions.topics.object_names import quote_name
from risingpy.meta.durable_state import without_relation
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    ColumnDesc,
    CreatedRelation,
    NumberSequence,
    OwningColumn,
    Table,
    identity_bounds,
)


def without_sequences_of_lost(
    state: MetaState, before: Table, after: Table, *, cascade: bool
) -> tuple[MetaState, list[str]]:
    """(`state` without the sequences of columns that `after` lacks, or that are no identity any more; notices)."""
    state = with_sequences_of_changed(state, before, after)
    columns = {column.column_id: column for column in after.columns}
    gone = [
        each
        for each in state.catalog.sequences_of(before.relation_id)
        if each.owned_by is not None
        and (
            each.owned_by.column_id not in columns
            or (each.owned_by.is_identity and columns[each.owned_by.column_id].identity is None)
        )
    ]
    if not gone:
        return state, []
    own = {column.column_id for column in before.columns} - columns.keys()
    users = [(t, c) for t, c in _users(state, gone) if t.relation_id != before.relation_id or c.column_id not in own]
    state, notices = _without_defaults(state, gone, users, gone, cascade=cascade)
    for sequence in gone:
        state = without_relation(state, sequence)
    return state, notices


def with_sequences_of_changed(state: MetaState, before: Table, after: Table) -> MetaState:
    """`state` in which the sequences of columns of another type belong to these, whose ids are new ones."""
    now = {
        column.history.earlier.column_id: column
        for column in after.columns
        if column.history is not None and column.history.earlier is not None
    }
    relations = dict(state.catalog.relations)
    for sequence in state.catalog.sequences_of(before.relation_id):
        assert sequence.owned_by is not None
        column = now.get(sequence.owned_by.column_id)
        if column is None:
            continue
        counting = sequence.counting
        if sequence.owned_by.is_identity:  # PostgreSQL changes its type with the column's
            greatest = identity_bounds(column.type, 1, None, None)[1]
            usual = identity_bounds(counting.type, 1, None, None)[1]
            maximum = greatest if counting.maximum in (usual, greatest) else counting.maximum
            counting = replace(counting, type=column.type, maximum=maximum)
        owned_by = replace(sequence.owned_by, column_id=column.column_id)
        relations[sequence.relation_id] = replace(sequence, owned_by=owned_by, counting=counting)
    return replace(state, catalog=replace(state.catalog, relations=relations))


def without_needing_defaults(
    state: MetaState, dropped: Sequence[CreatedRelation], everything: Sequence[CreatedRelation], *, cascade: bool
) -> tuple[MetaState, list[str]]:
    """(`state` without the defaults that name a sequence of `everything`, or of a table there; notices).

    Raises DependentObjectsStillExist without CASCADE, and for an identity's own sequence.
    """
    ids = {each.relation_id for each in everything}
    gone = [each for each in everything if isinstance(each, NumberSequence)]
    gone += (each for key in ids for each in state.catalog.sequences_of(key) if each.relation_id not in ids)
    if not gone:
        return state, []
    for sequence in gone:
        owner = sequence.owned_by
        if sequence in dropped and owner is not None and owner.is_identity and owner.table_id not in ids:
            what = f"column {_column_name(state, owner)} of table {state.catalog.relations[owner.table_id].name}"
            raise DependentObjectsStillExist(
                f"cannot drop sequence {quote_name(sequence.name)} because {what} requires it",
                hint=f"You can drop {what} instead.",
            )
    users = [(table, column) for table, column in _users(state, gone) if table.relation_id not in ids]
    return _without_defaults(state, gone, users, dropped, cascade=cascade)


def _column_name(state: MetaState, place: OwningColumn) -> str:
    columns = state.catalog.relations[place.table_id].columns
    return next((column.name for column in columns if column.column_id == place.column_id), "?")


def _users(state: MetaState, gone: Iterable[NumberSequence]) -> Iterator[tuple[Table, ColumnDesc]]:
    """The columns whose default names one of the sequences, with their tables."""
    ids = {each.relation_id for each in gone}
    for relation in state.catalog.relations.values():
        for column in relation.columns if isinstance(relation, Table) else ():
            if ids.intersection(column.sequences):
                assert isinstance(relation, Table)
                yield relation, column


def _without_defaults(
    state: MetaState,
    gone: Sequence[NumberSequence],
    users: Sequence[tuple[Table, ColumnDesc]],
    dropped: Sequence[CreatedRelation],
    *,
    cascade: bool,
) -> tuple[MetaState, list[str]]:
    if not users:
        return state, []
    names = {each.relation_id: quote_name(each.name) for each in gone}
    lines = [
        f"{_shown_default(table, column)} depends on sequence {names[needed]}"
        for table, column in users
        for needed in column.sequences
        if needed in names
    ]
    if not cascade:
        first = dropped[0]
        raise DependentObjectsStillExist(
            f"cannot drop {first.noun} {quote_name(first.name)} because other objects depend on it",
            detail="\n".join(lines),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    without = {(table.relation_id, column.column_id) for table, column in users}
    relations = dict(state.catalog.relations)
    for table_id in {table_id for table_id, _ in without}:
        relations[table_id] = _with_less_defaults(relations[table_id], without)
    state = replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))
    return state, [f"drop cascades to {_shown_default(table, column)}" for table, column in users]


def _shown_default(table: Table, column: ColumnDesc) -> str:
    return f"default value for column {quote_name(column.name)} of table {quote_name(table.name)}"


def _with_less_defaults(relation: CreatedRelation, without: Collection[tuple[int, int]]) -> CreatedRelation:
    return replace(
        relation,
        columns=tuple(
            replace(column, default=None, sequences=())
            if (relation.relation_id, column.column_id) in without
            else column
            for column in relation.columns
        ),
    )
