"""INCLUDE: parts of messages as columns of a source, or of a table that one feeds."""

from __future__ import annotations

from risingpy.connectors.included_columns import IncludedColumn, default_name, included_type
from risingpy.errors import DuplicateColumn, SqlError
from risingpy.frontend.binder.typing.type_names import BUILT_IN_TYPES, resolve_type
from risingpy.frontend.parser.ast import CreateSource, CreateTable
from risingpy.frontend.parser.ast_create import IncludeDefinition
from risingpy.plan.catalog import ColumnDesc


def with_included(
    statement: CreateSource | CreateTable, columns: tuple[ColumnDesc, ...]
) -> tuple[tuple[ColumnDesc, ...], tuple[IncludedColumn, ...]]:
    """(the columns with those that INCLUDE adds, what each of these is)."""
    connector = dict(statement.options).get("connector", "").lower()
    included: list[IncludedColumn] = []
    for include in statement.includes:
        column = _column(include, connector, len(columns) + 1)
        if column.name in {each.name for each in columns}:
            raise DuplicateColumn(f'column "{column.name}" specified more than once', position=include.position)
        columns = (*columns, column)
        included.append(IncludedColumn(column.column_id, include.part, include.header))
    return columns, tuple(included)


def included_names(statement: CreateSource | CreateTable) -> list[str]:
    """The names of the columns that INCLUDE adds."""
    connector = dict(statement.options).get("connector", "").lower()
    return [_column(include, connector, 0).name for include in statement.includes]


def _column(include: IncludeDefinition, connector: str, column_id: int) -> ColumnDesc:
    given = include.header_type
    try:
        type_ = included_type(
            include.part,
            include.header,
            None if given is None else resolve_type(given.text, given.position, BUILT_IN_TYPES),
        )
    except SqlError as error:
        error.position = error.position or include.position
        raise
    name = default_name(connector, include.part, include.header, type_) if include.name is None else include.name.name
    return ColumnDesc(column_id, name, type_)
