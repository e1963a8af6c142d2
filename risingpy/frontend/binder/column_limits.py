"""How many columns a relation, a select list and a row may have, and of which types: PostgreSQL's limits, in its words.

The protocol counts the columns of a row in 16 bits, and clients rely on PostgreSQL's numbers. A limit is checked before
the columns are planned, since plans of very many columns take long.
"""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.errors import SqlError
from risingpy.types import SqlType
from risingpy.types.system_types import VOID

MAX_TABLE_COLUMNS = 1_600
MAX_TARGETS = 1_664
_TOO_MANY_COLUMNS = "54011"


def check_relation(columns: int, position: int | None = None) -> None:
    """Raises 54011 if a table, view, materialized view or source would have more visible columns than it may."""
    if columns > MAX_TABLE_COLUMNS:
        raise SqlError(
            f"tables can have at most {MAX_TABLE_COLUMNS} columns", sqlstate=_TOO_MANY_COLUMNS, position=position
        )


def check_types(columns: Iterable[tuple[str, SqlType]], position: int) -> None:
    """Raises 42P16 if a column that a query gives to a relation, by name and type, would have no values."""
    for name, sql_type in columns:
        if sql_type == VOID:
            message = f'column "{name}" has pseudo-type {sql_type.name}'
            raise SqlError(message, sqlstate="42P16", position=position)


def check_targets(entries: int) -> None:
    """Raises 54011 if a select list, RETURNING or a row of VALUES has more entries than it may."""
    if entries > MAX_TARGETS:
        message = f"target lists can have at most {MAX_TARGETS} entries"
        raise SqlError(message, sqlstate=_TOO_MANY_COLUMNS)


def check_row(fields: int, position: int) -> None:
    """Raises 54011 if a ROW expression has more fields than it may."""
    if fields > MAX_TARGETS:
        message = f"ROW expressions can have at most {MAX_TARGETS} entries"
        raise SqlError(message, sqlstate=_TOO_MANY_COLUMNS, position=position)
