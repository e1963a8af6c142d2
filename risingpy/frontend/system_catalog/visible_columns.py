"""The columns of a relation that clients see, with the numbers that system relations give them."""

from __future__ import annotations

from risingpy.plan.catalog import ColumnDesc, Relation, Table


def visible_columns(relation: Relation) -> tuple[tuple[int, ColumnDesc], ...]:
    """(attnum from 1, column) of the columns that are not hidden, in order.

    The number is the column's position in storage plus one: hidden columns leave gaps, as
    PostgreSQL's dropped columns do.
    """
    return tuple((i + 1, column) for i, column in enumerate(relation.columns) if not column.hidden)


def key_numbers(table: Table) -> list[int]:
    """The attnums of the primary key's columns, in key order."""
    return [position + 1 for position in table.primary_key]


def declared_key(relation: Relation) -> tuple[int, ...]:
    """The positions of the primary key's columns, in key order; none of what is not a table with a PRIMARY KEY."""
    return relation.primary_key if isinstance(relation, Table) else ()
