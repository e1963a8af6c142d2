"""INSERT, UPDATE, DELETE, TRUNCATE and COPY."""

from __future__ import annotations

from typing import Literal

from risingpy.frontend.parser.ast import (
    Assignment,
    ColumnName,
    Copy,
    CopyDirection,
    Delete,
    Expression,
    Insert,
    ObjectName,
    Query,
    Truncate,
    Update,
)
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.subscriptions import parse_subscribe


def parse_insert(cursor: Cursor) -> Insert:
    """Raises FeatureNotSupported (0A000) for ON CONFLICT: CREATE TABLE says what a conflict does."""
    cursor.expect("INSERT", "INTO")
    table = cursor.object_name()
    alias = cursor.name().name if cursor.accept("AS") else None
    columns: tuple[ColumnName, ...] | None = None
    if cursor.word == "(" and cursor.peek(2)[1:] not in (["SELECT"], ["WITH"], ["VALUES"], ["("]):
        columns = cursor.in_parentheses(cursor.name)
    overriding: Literal["SYSTEM", "USER"] | None = None
    if cursor.accept("OVERRIDING", "SYSTEM", "VALUE"):
        overriding = "SYSTEM"
    elif cursor.accept("OVERRIDING", "USER", "VALUE"):
        overriding = "USER"
    source: Query | None = None
    if not cursor.accept("DEFAULT", "VALUES"):
        source = cursor.query()
    if cursor.word == "ON":
        cursor.unsupported("ON CONFLICT")
    return Insert(table, alias, columns, source, _parse_returning(cursor), overriding)


def parse_update(cursor: Cursor) -> Update:
    """`SET (a, b) = (…)` gives one assignment per column. Raises FeatureNotSupported (0A000) for FROM."""
    cursor.expect("UPDATE")
    cursor.accept("ONLY")
    table = cursor.object_name()
    alias = _parse_alias(cursor, "SET")
    cursor.expect("SET")
    groups = cursor.comma_separated(lambda: _parse_assignments(cursor))
    if cursor.word == "FROM":
        cursor.unsupported("UPDATE … FROM")
    where = cursor.expression() if cursor.accept("WHERE") else None
    assignments = tuple(assignment for group in groups for assignment in group)
    return Update(table, alias, assignments, where, _parse_returning(cursor))


def _parse_assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    if cursor.word != "(":
        column = cursor.name()
        cursor.expect("=")
        return (Assignment(column, _parse_value(cursor)),)
    columns = cursor.in_parentheses(cursor.name)
    cursor.expect("=")
    row = cursor.accept("ROW")
    if not row and cursor.peek(2)[1:] in (["SELECT"], ["WITH"], ["VALUES"]):
        query = cursor.expression()
        return tuple(Assignment(column, query, (i, len(columns))) for i, column in enumerate(columns))
    values = cursor.in_parentheses(lambda: _parse_value(cursor))
    if len(values) != len(columns):
        cursor.fail_with("number of columns does not match number of values", columns[0].position)
    return tuple(Assignment(column, value) for column, value in zip(columns, values, strict=True))


def _parse_value(cursor: Cursor) -> Expression | None:
    return None if cursor.accept("DEFAULT") else cursor.expression()


def parse_delete(cursor: Cursor) -> Delete:
    """Raises FeatureNotSupported (0A000) for USING."""
    cursor.expect("DELETE", "FROM")
    cursor.accept("ONLY")
    table = cursor.object_name()
    alias = _parse_alias(cursor, "WHERE", "USING", "RETURNING")
    if cursor.word == "USING":
        cursor.unsupported("DELETE … USING")
    where = cursor.expression() if cursor.accept("WHERE") else None
    return Delete(table, alias, where, _parse_returning(cursor))


def parse_truncate(cursor: Cursor) -> Truncate:
    """CASCADE and RESTRICT mean the same: no table here refers to another."""
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    tables = cursor.comma_separated(lambda: _parse_truncated(cursor))
    restart_identity = cursor.accept("RESTART", "IDENTITY")
    if not restart_identity:
        cursor.accept("CONTINUE", "IDENTITY")
    if not cursor.accept("CASCADE"):
        cursor.accept("RESTRICT")
    return Truncate(tables, restart_identity)


def _parse_truncated(cursor: Cursor) -> ObjectName:
    cursor.accept("ONLY")
    table = cursor.object_name()
    cursor.accept("*")  # with the tables that inherit from it: there are none
    return table


def _parse_alias(cursor: Cursor, *following: str) -> str | None:
    if cursor.accept("AS"):
        return cursor.name().name
    if cursor.at_end or cursor.word in following:
        return None
    return cursor.name().name


def _parse_returning(cursor: Cursor) -> tuple[Expression, ...] | None:
    return cursor.comma_separated(cursor.result_item) if cursor.accept("RETURNING") else None


def parse_copy(cursor: Cursor) -> Copy:
    """Takes options in parentheses and PostgreSQL's older form without; the statement checks what they mean.

    Raises FeatureNotSupported (0A000) for files, programs and WHERE.
    """
    cursor.expect("COPY")
    table = columns = query = subscribe = None
    if cursor.accept("("):
        if cursor.word == "SUBSCRIBE":
            subscribe = parse_subscribe(cursor)
        else:
            query = cursor.query()
        cursor.expect(")")
    else:
        table = cursor.object_name()
        columns = cursor.in_parentheses(cursor.name) if cursor.word == "(" else None
    if table is not None and cursor.accept("FROM"):
        direction = CopyDirection.FROM_STDIN
        if not cursor.accept("STDIN"):
            cursor.unsupported("COPY FROM a file or program")
    else:
        cursor.expect("TO")
        direction = CopyDirection.TO_STDOUT
        if not cursor.accept("STDOUT"):
            cursor.unsupported("COPY TO a file or program")
    cursor.accept("WITH")
    in_parentheses = cursor.word == "("
    options = cursor.in_parentheses(lambda: _parse_option(cursor)) if in_parentheses else _parse_old_options(cursor)
    if cursor.word == "WHERE":
        cursor.unsupported("COPY … WHERE")
    return Copy(table, columns, query, direction, options, subscribe)


def _parse_option(cursor: Cursor) -> tuple[str, str]:
    name = cursor.any_word().lower()
    if cursor.word in (",", ")"):
        return name, "true"
    if cursor.word == "(":
        return name, ", ".join(cursor.in_parentheses(cursor.any_word))
    return name, cursor.value()


def _parse_old_options(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    """`CSV HEADER DELIMITER AS ';'`, as psql's \\copy still sends it."""
    options: list[tuple[str, str]] = []
    while True:
        if cursor.accept("CSV"):
            options.append(("format", "csv"))
        elif cursor.accept("BINARY"):
            options.append(("format", "binary"))
        elif cursor.accept("HEADER"):
            options.append(("header", "true"))
        elif cursor.word in ("DELIMITER", "NULL", "QUOTE", "ESCAPE", "ENCODING"):
            name = cursor.any_word().lower()
            cursor.accept("AS")
            options.append((name, cursor.string()))
        elif cursor.accept("FORCE", "QUOTE"):
            names = ("*",) if cursor.accept("*") else cursor.comma_separated(cursor.any_word)
            options.append(("force_quote", ", ".join(names)))
        elif cursor.word == "FORCE":
            cursor.unsupported("COPY … FORCE NULL")
        else:
            return tuple(options)
