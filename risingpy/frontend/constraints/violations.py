"""The errors of rows that a constraint refuses, in PostgreSQL's words."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.system_catalog.index_text import shown_key as key_text
from risingpy.plan.catalog import CheckConstraint, ColumnDesc, ForeignKey, Index, IndexKey, IndexPredicate, Table
from risingpy.types import SqlType
from risingpy.types.far_moments import value_of
from risingpy.types.forms import format_text


def shown_row(relation: Table, row: pa.Table) -> str:
    """The visible values of one row as PostgreSQL prints them in details."""
    cells = []
    for index, column in enumerate(relation.columns):
        if not column.hidden:
            cells.append(_shown(column.type, value_of(row.column(index), 0)))
    return ", ".join(cells)


def shown_key(names: Sequence[str], types: Sequence[SqlType], values: Sequence[object]) -> str:
    """`Key (a, b)=(1, x)`."""
    shown = ", ".join(_shown(type_, value) for type_, value in zip(types, values, strict=True))
    return f"Key ({', '.join(names)})=({shown})"


def key_names(session: StatementContext, table: Table, index: Index) -> list[str]:
    """The keys of a unique index as PostgreSQL prints them in details."""
    catalog, path = session.database.reads.catalog, session.search_path()

    def printed(part: IndexKey | IndexPredicate) -> str:
        return session.view_texts.expression(part.text, table, None, catalog, path, pretty=True) or part.text

    return [key_text(key, table, printed) for key in index.index.keys]


def named_after(table: Table, constraint: str, error: SqlError) -> SqlError:
    """The error, with the fields by which drivers know the constraint."""
    error.about = (("s", table.schema_name), ("t", table.name), ("n", constraint))
    return error


def check_violation(table: Table, check: CheckConstraint, row: pa.Table) -> SqlError:
    """23514; `row` has all columns."""
    return named_after(
        table,
        check.name,
        SqlError(
            f'new row for relation "{table.name}" violates check constraint "{check.name}"',
            sqlstate="23514",
            detail=f"Failing row contains ({shown_row(table, row)}).",
        ),
    )


def unique_violation(table: Table, name: str, key: str) -> SqlError:
    """23505; `key` is what `shown_key` gives."""
    message = f'duplicate key value violates unique constraint "{name}"'
    return named_after(table, name, SqlError(message, sqlstate="23505", detail=f"{key} already exists."))


def missing_reference(table: Table, key: ForeignKey, target: Table, shown: str) -> SqlError:
    """23503: a row refers to a key that no row has."""
    message = f'insert or update on table "{table.name}" violates foreign key constraint "{key.name}"'
    detail = f'{shown} is not present in table "{target.name}".'
    return named_after(table, key.name, SqlError(message, sqlstate="23503", detail=detail))


def mixed_nulls(table: Table, key: ForeignKey) -> SqlError:
    """23503: MATCH FULL does not allow a key that is NULL in part."""
    message = f'insert or update on table "{table.name}" violates foreign key constraint "{key.name}"'
    detail = "MATCH FULL does not allow mixing of null and nonnull key values."
    return named_after(table, key.name, SqlError(message, sqlstate="23503", detail=detail))


def still_referenced(target: Table, child: Table, key: ForeignKey, shown: str) -> SqlError:
    """23503: a key goes to which rows refer."""
    message = f'update or delete on table "{target.name}" violates foreign key constraint "{key.name}"'
    message += f' on table "{child.name}"'
    detail = f'{shown} is still referenced from table "{child.name}".'
    return named_after(child, key.name, SqlError(message, sqlstate="23503", detail=detail))


def columns_by_id(table: Table, ids: Sequence[int]) -> list[ColumnDesc]:
    """The columns with these ids, in this order."""
    by_id = {column.column_id: column for column in table.columns}
    return [by_id[column_id] for column_id in ids]


def _shown(type_: SqlType, value: object) -> str:
    return "null" if value is None else format_text(type_, value)
