"""Who reads a table's columns, and may not have them change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from risingpy.errors import FeatureNotSupported
from risingpy.meta.state import MetaState
from risingpy.optimizer.repoint import columns_of_job, columns_of_view
from risingpy.optimizer.stream.index import key_column_ids
from risingpy.plan.catalog import CreatedRelation, Index, Subscription, Table, View


def refuse_new_types(state: MetaState, before: Table, after: Table, remade: Collection[int] = ()) -> None:
    """Raises an error if a view reads a column whose type changes: a view keeps the types with which it was made.

    `remade` are the ids of indexes that are made anew.
    """
    changed = {
        column.history.earlier.column_id
        for column in after.columns
        if column.history is not None and column.history.earlier is not None
    }
    for reader, column_id in readers_of_columns(state, before, frozenset(changed)):
        if reader.relation_id in remade:
            continue
        name = next(column.name for column in before.columns if column.column_id == column_id)
        if isinstance(reader, Index):
            raise FeatureNotSupported(
                f'cannot alter type of column "{name}": index "{reader.name}" needs it',
                hint="Drop the index, alter the column, and create the index again.",
            )
        raise _read_by(reader, name)


def refuse_wider_types(state: MetaState, before: Table, after: Table) -> None:
    """As `refuse_new_types`, of a column that stays what it is and allows longer texts. Its indexes follow."""
    types = {column.column_id: column.type for column in after.columns}
    wider = {each.column_id for each in before.columns if types.get(each.column_id, each.type) != each.type}
    refuse_read_by_views(state, before, wider)


def refuse_read_by_views(state: MetaState, table: Table, column_ids: Iterable[int], *, same: bool = False) -> None:
    """Raises FeatureNotSupported if a view reads one of the columns, for which a statement names a type.

    `same`: the type that they have, which PostgreSQL refuses, too. The table's key may have it: a materialized view
    reads that, whether its query does or not.
    """
    keys = {table.columns[place].column_id for place in table.primary_key} if same else ()
    for reader, column_id in readers_of_columns(state, table, frozenset(column_ids)):
        if not isinstance(reader, Index) and (isinstance(reader, View) or column_id not in keys):
            raise _read_by(reader, next(each.name for each in table.columns if each.column_id == column_id))


def _read_by(reader: CreatedRelation, column: str) -> FeatureNotSupported:
    return FeatureNotSupported(
        "cannot alter type of a column used by a view or rule",
        detail=f'{reader.noun} {reader.name} depends on column "{column}"',
        hint="Drop the view, alter the column, and create the view again.",
    )


def readers_of_columns(
    state: MetaState, table: Table, columns: frozenset[int]
) -> Iterator[tuple[CreatedRelation, int]]:
    """The readers of any of the columns, of the table or of its indexes, each with the first column that it reads."""
    stored: Sequence[Table | Index] = (table, *state.catalog.indexes_of(table.relation_id))
    for relation in state.catalog.relations.values():
        read: Iterable[int] = ()
        job = state.jobs.get(relation.relation_id) or state.stopped.get(relation.relation_id)
        if isinstance(relation, Subscription) and relation.followed == table.relation_id:
            continue  # it has all columns, whichever there are
        if isinstance(relation, Index):  # of what it includes it can lose a column
            read = key_column_ids(relation.index) if relation.index.relation_id == table.relation_id else ()
        elif job is not None and relation.relation_id != table.relation_id:
            read = frozenset().union(*(columns_of_job(job, each.relation_id) for each in stored))
        elif isinstance(relation, View) and relation.plan is not None:
            read = frozenset().union(*(columns_of_view(relation.plan, each) for each in stored))
        found = sorted(columns.intersection(read))
        if found:
            yield relation, found[0]
