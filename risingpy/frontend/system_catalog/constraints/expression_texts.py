"""Texts of defaults, generated columns, checks and keys of indexes, as PostgreSQL prints them."""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.frontend.table_definition import shown_default
from risingpy.plan.catalog import (
    CheckConstraint,
    ColumnDesc,
    IndexedRelation,
    IndexKey,
    IndexPredicate,
    Relation,
    Table,
)
from risingpy.types import BOOLEAN

_NO_DEFAULT = "null"


def default_text(state: SystemState, relation: Relation, column: ColumnDesc, *, pretty: bool = False) -> str | None:
    """A column's DEFAULT, `pretty` with few parentheses; None if it has none, of which NULL is one."""
    if column.default is None or column.default.strip().lower() == _NO_DEFAULT:
        return None
    if column.sequences:
        return shown_default(column, state.catalog.relations, state.display_name)
    return state.printed(column.default, relation, column.shown_type, pretty) or column.default


def generated_text(state: SystemState, relation: Relation, column: ColumnDesc, *, pretty: bool = False) -> str | None:
    """What a generated column is computed of."""
    if column.generated is None:
        return None
    text = column.generated.text
    return state.printed(text, relation, column.shown_type, pretty) or (text if pretty else f"({text})")


def check_text(state: SystemState, table: Table, check: CheckConstraint, *, pretty: bool = False) -> str:
    """What stands in the parentheses of CHECK."""
    return state.printed(check.text, table, BOOLEAN, pretty) or f"({check.text})"


def part_of_index(
    state: SystemState, indexed: IndexedRelation, part: IndexKey | IndexPredicate, *, pretty: bool = False
) -> str:
    """A key that is no column, or the condition of a partial index."""
    if isinstance(part, IndexPredicate):
        return state.printed(part.text, indexed, BOOLEAN, pretty) or (part.text if pretty else f"({part.text})")
    return state.printed(part.text, indexed, None, pretty) or part.text
