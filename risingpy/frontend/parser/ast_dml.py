"""Statements that write rows, as data: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.

`with_` are the common table expressions in front of a statement, which all its queries may read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from risingpy.frontend.parser.ast_parts import ColumnName, Expression, ObjectName, Query, TargetColumn


@dataclass(frozen=True, slots=True)
class TableItems:
    """What follows FROM or USING: the tree of the first item, and the joins to it. A comma is a join, too."""

    first: exp.Expr
    joins: tuple[exp.Join, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`, where the column may be a part of one; `value` is None for DEFAULT.

    Of `(a, b) = (SELECT …)` each column has an assignment: `field` is its (index, number of columns).
    """

    column: TargetColumn
    value: Expression | None
    field: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ConflictTarget:
    """What ON CONFLICT names: columns and expressions of a key, or a constraint. Its WHERE is `predicate`."""

    columns: tuple[Expression, ...] = ()
    predicate: Expression | None = None
    constraint: ColumnName | None = None


@dataclass(frozen=True, slots=True)
class ConflictAction:
    """ON CONFLICT. `assignments` is None for DO NOTHING; `target` is None where any key counts."""

    position: int
    target: ConflictTarget | None
    assignments: tuple[Assignment, ...] | None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """`columns` is None without a column list; `source` is None for DEFAULT VALUES.

    `overriding` SYSTEM lets rows bring numbers for columns GENERATED ALWAYS, USER has such columns number the rows
    whatever these bring.
    """

    table: ObjectName
    alias: str | None
    columns: tuple[TargetColumn, ...] | None
    source: Query | None
    returning: tuple[Expression, ...] | None = None
    overriding: Literal["SYSTEM", "USER"] | None = None
    on_conflict: ConflictAction | None = None
    with_: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE. `where` is None for all rows; `returning` is None without RETURNING."""

    table: ObjectName
    alias: str | None
    assignments: tuple[Assignment, ...]
    where: Expression | None
    returning: tuple[Expression, ...] | None = None
    from_: TableItems | None = None
    with_: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE. `where` is None for all rows; `returning` is None without RETURNING."""

    table: ObjectName
    alias: str | None
    where: Expression | None
    returning: tuple[Expression, ...] | None = None
    using: TableItems | None = None
    with_: exp.With | None = None


@dataclass(frozen=True, slots=True)
class MergeUpdate:
    """THEN UPDATE SET …."""

    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class MergeDelete:
    """THEN DELETE."""


@dataclass(frozen=True, slots=True)
class MergeInsert:
    """THEN INSERT. `columns` is None without a list, `values` for DEFAULT VALUES; a value is None for DEFAULT."""

    columns: tuple[TargetColumn, ...] | None
    values: tuple[Expression | None, ...] | None
    overriding: Literal["SYSTEM", "USER"] | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class MergeWhen:
    """WHEN [NOT] MATCHED [AND condition] THEN action; `action` is None for DO NOTHING."""

    position: int
    matched: bool
    condition: Expression | None
    action: MergeUpdate | MergeDelete | MergeInsert | None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE: of each pair of a row and a source row that match by `condition`, the first clause that fits decides."""

    table: ObjectName
    alias: str | None
    source: TableItems
    condition: Expression
    clauses: tuple[MergeWhen, ...]
    with_: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE: all rows of the tables go at once. `restart_identity` is RESTART IDENTITY."""

    tables: tuple[ObjectName, ...]
    restart_identity: bool
    cascade: bool = False
