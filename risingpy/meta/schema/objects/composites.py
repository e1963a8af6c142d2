"""CREATE TYPE … AS (…) and ALTER TYPE … ATTRIBUTE, as functions from one `MetaState` to the next.

Columns and plans have the fields of a row in their types, and rows have the values in this order. So a table whose
columns have the type is altered with it, as by ALTER COLUMN … TYPE: stored rows are read through a cast. While anything
else has the type, its attributes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from risingpy.errors import FeatureNotSupported, WrongObjectType
from risingpy.meta.schema.alter import TableReplacement
from risingpy.meta.schema.altered_table import replace_altered
from risingpy.meta.schema.objects.dropped_types import columns_of, dependents, types_needing
from risingpy.meta.schema.objects.user_types import TypeTarget, check_new_type_name, required, with_type
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.table_change import with_type as with_new_type
from risingpy.plan.catalog import CompositeDesc, DomainDesc, Index, Table
from risingpy.plan.expressions import Expr
from risingpy.types import SqlType

Casts: TypeAlias = Callable[[SqlType, SqlType], Expr]
"""A value of the second type, made of column 0, which is of the first."""


def required_composite(state: MetaState, target: TypeTarget) -> CompositeDesc:
    """The row's type. Raises UndefinedObject, and WrongObjectType for a type of another kind."""
    found = required(state, target)
    if not isinstance(found, CompositeDesc):
        raise WrongObjectType(f'"{target.shown}" is not a composite type')
    return found


def add_composite(state: MetaState, new: CompositeDesc) -> MetaState:
    """`state` with the type, which gets its ids. Raises 42710 if there is a type of that name."""
    check_new_type_name(state, new.schema_name, new.name)
    allocate = IdAllocator(state.next_id)
    type_id, array_id, relation_id = allocate(), allocate(), allocate()
    made = replace(new, type_id=type_id, array_id=array_id, relation_id=relation_id)
    made = replace(made, database_id=state.catalog.database_id)
    return with_type(replace(state, next_id=allocate.next_id), made)


def tables_of(state: MetaState, found: CompositeDesc) -> set[int]:
    """The tables that have columns of the type, directly or in other rows and arrays."""
    return {relation.relation_id for relation, _ in columns_of(state, found) if isinstance(relation, Table)}


def with_attributes(
    state: MetaState, found: CompositeDesc, altered: CompositeDesc, casts: Casts | None = None
) -> MetaState:
    """`state` with other attributes of the type. Raises FeatureNotSupported if what has a value of it cannot follow.

    `casts` makes the new values of tables' columns from the old ones; None: no table may have such a column.
    """
    if altered == found:
        return state
    tables = tables_of(state, found) if casts is not None else set[int]()
    for relation, column in columns_of(state, found):
        if relation.relation_id not in tables:
            raise FeatureNotSupported(_used_by(found, f"{relation.name}.{column}"))
    users = [
        each for each in dependents(state, found) if not isinstance(each, Index) or each.index.relation_id not in tables
    ]
    needing = [each for each in types_needing(state, found) if casts is None or isinstance(each, DomainDesc)]
    for user in (*users, *needing):
        message = f'cannot alter type "{found.name}" because {user.noun} "{user.name}" uses it'
        raise FeatureNotSupported(message, hint="Drop it, alter the type, and create it again.")
    for table_id in sorted(tables):
        assert casts is not None
        table = state.catalog.relations[table_id]
        assert isinstance(table, Table)
        state, _ = replace_altered(state, TableReplacement(_with_rows(table, altered, casts), cascade=False))
    for outer in state.catalog.types.values():
        if isinstance(outer, CompositeDesc):
            state = with_type(
                state, replace(outer, items=tuple(_with_row(each, altered.sql_type) for each in outer.items))
            )
    return with_type(state, altered)


def _with_rows(table: Table, altered: CompositeDesc, casts: Casts) -> Table:
    """The table with the new type in its columns."""
    after = table
    for place, column in enumerate(table.columns):
        new = _with_row(column.type, altered.sql_type)
        if new == column.type:
            continue
        is_fed = table.source is not None or table.webhook is not None or table.upstream is not None
        is_read = any(column.column_id in each.column_ids for each in table.constraints)
        is_made = column.default is not None or column.generated is not None
        if place in table.primary_key or is_read or is_made or is_fed:
            used = f"{table.name}.{column.name}"
            detail = "The column has a default, is a part of the primary key or of a constraint, or something feeds it."
            raise FeatureNotSupported(_used_by(altered, used), detail=detail)
        after = with_new_type(after, place, new, casts(column.type, new))
    return after


def _with_row(type_: SqlType, row: SqlType) -> SqlType:
    """The type with this form of the row wherever it has another one."""
    if type_.composite is not None and type_.composite == row.composite:
        return row
    items = tuple(_with_row(each, row) for each in type_.items)
    return type_ if items == type_.items else replace(type_, items=items)


def _used_by(found: CompositeDesc, column: str) -> str:
    return f'cannot alter type "{found.name}" because column "{column}" uses it'
