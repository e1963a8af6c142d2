"""ALTER TABLE as functions from one table to the next; the stored rows stay as they are.

Column ids are never used twice. An added column gets a new id, and so does a column whose type changes; its
`ColumnHistory` says what it is in rows that were stored before. The hidden `_row_id` stays last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.plan.catalog import ColumnDesc, JobRelation, Table
from risingpy.plan.expressions import Expr
from risingpy.storage.codec.table_schema import ColumnHistory, TableColumn
from risingpy.types import SqlType, TypeKind


def with_column(relation: Table, column: ColumnDesc, missing: object) -> Table:
    """The table with one more column, which gets its id here. In earlier rows it is `missing` (None: NULL)."""
    fresh = _next_id(relation)
    history = None if missing is None else ColumnHistory(null_id=fresh + 1, missing=missing)
    added = replace(column, column_id=fresh, history=history)
    place = len(relation.columns) - (not relation.primary_key)
    columns = (*relation.columns[:place], added, *relation.columns[place:])
    return _with_columns(relation, columns, fresh + 2)


def without_column(relation: Table, index: int) -> Table:
    """The table without a column that is not part of its key."""
    columns = relation.columns[:index] + relation.columns[index + 1 :]
    return _with_columns(relation, columns, _next_id(relation))


def with_type(relation: Table, index: int, type_: SqlType, cast: Expr) -> Table:
    """The table with a column of another type. `cast` computes it; its only input column is the old column."""
    fresh = _next_id(relation)
    old = relation.columns[index]
    earlier = TableColumn(old.column_id, old.name, old.type, old.history)
    history = ColumnHistory(null_id=fresh + 1, earlier=earlier, cast=cast)
    changed = replace(old, column_id=fresh, type=type_, history=history)
    return replace(relation, columns=_replaced(relation.columns, index, changed), next_column_id=fresh + 2)


def with_changed(relation: Table, index: int, column: ColumnDesc) -> Table:
    """The table with a column's name, default or NOT NULL changed, or with a wider type (`is_wider`)."""
    return replace(relation, columns=_replaced(relation.columns, index, column))


def is_wider(old: SqlType, new: SqlType) -> bool:
    """Whether the new type is that of a varchar(n), but for longer texts: it stores the same texts in the same way."""
    if old.kind is not TypeKind.VARCHAR or old.length is None or replace(new, length=old.length) != old:
        return False
    return new.length is None or new.length > old.length


def column_positions(before: JobRelation, after: JobRelation) -> dict[int, int]:
    """Maps the positions of columns in `before` to those in `after`, without columns that no longer exist."""
    places = {column.column_id: i for i, column in enumerate(after.columns)}
    return {i: places[c.column_id] for i, c in enumerate(before.columns) if c.column_id in places}


def _next_id(relation: Table) -> int:
    used = [column.column_id for column in relation.columns]
    used += [column.history.null_id for column in relation.columns if column.history is not None]
    return max(relation.next_column_id, 1 + max(used, default=0))


def _with_columns(relation: Table, columns: Sequence[ColumnDesc], next_column_id: int) -> Table:
    changed = replace(relation, columns=tuple(columns), next_column_id=next_column_id)
    key = [relation.columns[i].column_id for i in relation.primary_key]
    places = {column.column_id: i for i, column in enumerate(columns)}
    # A key column is not dropped.
    return replace(changed, primary_key=tuple(places[column_id] for column_id in key))


def _replaced(columns: tuple[ColumnDesc, ...], index: int, column: ColumnDesc) -> tuple[ColumnDesc, ...]:
    return (*columns[:index], column, *columns[index + 1 :])
