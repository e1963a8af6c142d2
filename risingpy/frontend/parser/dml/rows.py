"""INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from typing import Literal

from risingpy.frontend.parser.ast import (
    Assignment,
    ConflictAction,
    ConflictTarget,
    Delete,
    Expression,
    Insert,
    ObjectName,
    Query,
    Truncate,
    Update,
)
from risingpy.frontend.parser.ast_parts import TargetColumn
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.nested_parser import CurrentOf


def parse_insert(cursor: Cursor) -> Insert:
    """The rows come from VALUES, a query, or DEFAULT VALUES."""
    cursor.expect("INSERT", "INTO")
    table = cursor.object_name()
    alias = cursor.name().name if cursor.accept("AS") else None
    columns: tuple[TargetColumn, ...] | None = None
    if cursor.word == "(" and cursor.peek(2)[1:] not in (["SELECT"], ["WITH"], ["VALUES"], ["("]):
        columns = cursor.in_parentheses(cursor.target_column)
    overriding = parse_overriding(cursor)
    source: Query | None = None
    if not cursor.accept("DEFAULT", "VALUES"):
        source = cursor.query(before=("ON", "CONFLICT"))
    on_conflict = _parse_on_conflict(cursor) if cursor.word == "ON" else None
    return Insert(table, alias, columns, source, _parse_returning(cursor), overriding, on_conflict)


def parse_overriding(cursor: Cursor) -> Literal["SYSTEM", "USER"] | None:
    """OVERRIDING SYSTEM | USER VALUE, if that comes next."""
    if cursor.accept("OVERRIDING", "SYSTEM", "VALUE"):
        return "SYSTEM"
    return "USER" if cursor.accept("OVERRIDING", "USER", "VALUE") else None


def _parse_on_conflict(cursor: Cursor) -> ConflictAction:
    position = cursor.position
    cursor.expect("ON", "CONFLICT")
    target: ConflictTarget | None = None
    if cursor.accept("ON", "CONSTRAINT"):
        target = ConflictTarget(constraint=cursor.name())
    elif cursor.word == "(":
        columns = cursor.in_parentheses(lambda: _parse_key_part(cursor))
        target = ConflictTarget(columns, parse_where(cursor))
    cursor.expect("DO")
    if cursor.accept("NOTHING"):
        return ConflictAction(position, target, None)
    cursor.expect("UPDATE", "SET")
    assignments = parse_assignments(cursor)
    return ConflictAction(position, target, assignments, parse_where(cursor))


def _parse_key_part(cursor: Cursor) -> Expression:
    """A column or an expression of a key, perhaps with the operator class that its index has."""
    part = cursor.expression()
    if cursor.word not in (",", ")"):
        cursor.unsupported("an operator class in ON CONFLICT")
    return part


def parse_update(cursor: Cursor) -> Update:
    """`SET (a, b) = (…)` gives one assignment per column."""
    cursor.expect("UPDATE")
    cursor.accept("ONLY")
    table = cursor.object_name()
    alias = parse_alias(cursor, "SET")
    cursor.expect("SET")
    assignments = parse_assignments(cursor)
    from_ = cursor.table_items() if cursor.accept("FROM") else None
    where = parse_where(cursor)
    return Update(table, alias, assignments, where, _parse_returning(cursor), from_)


def parse_assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    """What follows SET."""
    groups = cursor.comma_separated(lambda: _parse_group(cursor))
    return tuple(assignment for group in groups for assignment in group)


def _parse_group(cursor: Cursor) -> tuple[Assignment, ...]:
    if cursor.word != "(":
        column = cursor.target_column()
        cursor.expect("=")
        return (Assignment(column, parse_value(cursor)),)
    columns = cursor.in_parentheses(cursor.target_column)
    cursor.expect("=")
    row = cursor.accept("ROW")
    if not row and cursor.peek(2)[1:] in (["SELECT"], ["WITH"], ["VALUES"]):
        query = cursor.expression()
        return tuple(Assignment(column, query, (i, len(columns))) for i, column in enumerate(columns))
    values = cursor.in_parentheses(lambda: parse_value(cursor))
    if len(values) != len(columns):
        cursor.fail_with("number of columns does not match number of values", columns[0].position)
    return tuple(Assignment(column, value) for column, value in zip(columns, values, strict=True))


def parse_value(cursor: Cursor) -> Expression | None:
    """An expression; None for DEFAULT."""
    return None if cursor.accept("DEFAULT") else cursor.expression()


def parse_delete(cursor: Cursor) -> Delete:
    """DELETE, perhaps with USING."""
    cursor.expect("DELETE", "FROM")
    cursor.accept("ONLY")
    table = cursor.object_name()
    alias = parse_alias(cursor, "WHERE", "USING", "RETURNING")
    using = cursor.table_items() if cursor.accept("USING") else None
    where = parse_where(cursor)
    return Delete(table, alias, where, _parse_returning(cursor), using)


def parse_where(cursor: Cursor) -> Expression | None:
    """The condition after WHERE; None without one."""
    if not cursor.accept("WHERE"):
        return None
    position = cursor.position
    if cursor.accept("CURRENT", "OF"):
        name = cursor.name().name
        return Expression(CurrentOf(this=name), f"CURRENT OF {name}", position)
    return cursor.expression()


def parse_truncate(cursor: Cursor) -> Truncate:
    """With CASCADE, tables that refer to these by foreign keys are truncated, too."""
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    tables = cursor.comma_separated(lambda: _parse_truncated(cursor))
    restart_identity = cursor.accept("RESTART", "IDENTITY")
    if not restart_identity:
        cursor.accept("CONTINUE", "IDENTITY")
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return Truncate(tables, restart_identity, cascade)


def _parse_truncated(cursor: Cursor) -> ObjectName:
    cursor.accept("ONLY")
    table = cursor.object_name()
    cursor.accept("*")  # with the tables that inherit from it: there are none
    return table


def parse_alias(cursor: Cursor, *following: str) -> str | None:
    """A table's alias; AS may be left out where none of the words `following` comes next."""
    if cursor.accept("AS"):
        return cursor.name().name
    if cursor.at_end or cursor.word in (")", *following):
        return None
    return cursor.name().name


def _parse_returning(cursor: Cursor) -> tuple[Expression, ...] | None:
    return cursor.comma_separated(cursor.result_item) if cursor.accept("RETURNING") else None
