"""Constraints as CREATE TABLE and ALTER TABLE write them. `name` is None where the table is to name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from risingpy.frontend.parser.ast_parts import ColumnName, Expression, ObjectName
from risingpy.plan.catalog.constraints import ReferentialAction


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """PRIMARY KEY (columns)."""

    name: ColumnName | None
    columns: tuple[ColumnName, ...]
    position: int


@dataclass(frozen=True, slots=True)
class UniqueDefinition:
    """UNIQUE [NULLS [NOT] DISTINCT] (columns) [DEFERRABLE] [INITIALLY DEFERRED].

    So is PRIMARY KEY (columns) DEFERRABLE, which `is_primary`.
    """

    name: ColumnName | None
    columns: tuple[ColumnName, ...]
    position: int
    nulls_distinct: bool = True
    deferrable: bool = False
    deferred: bool = False
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class CheckDefinition:
    """CHECK (expression) [NOT VALID]."""

    name: ColumnName | None
    expression: Expression
    position: int
    not_valid: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKeyDefinition:
    """FOREIGN KEY (columns) REFERENCES table [(referenced)]; without `referenced`: its primary key.

    `set_columns` are those of ON DELETE SET NULL (columns).
    """

    name: ColumnName | None
    columns: tuple[ColumnName, ...]
    table: ObjectName
    referenced: tuple[ColumnName, ...]
    position: int
    on_delete: ReferentialAction = ReferentialAction.NO_ACTION
    on_update: ReferentialAction = ReferentialAction.NO_ACTION
    set_columns: tuple[ColumnName, ...] = ()
    matches_full: bool = False
    not_valid: bool = False
    enforced: bool = True
    deferrable: bool = False
    deferred: bool = False


ConstraintDefinition: TypeAlias = KeyDefinition | UniqueDefinition | CheckDefinition | ForeignKeyDefinition
