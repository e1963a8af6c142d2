"""COPY."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.errors import SyntaxError_
from risingpy.frontend.parser.ast import Copy, CopyDirection
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.subscriptions import parse_subscribe


def parse_copy(cursor: Cursor) -> Copy:
    """Takes options in parentheses and PostgreSQL's older form without; the statement checks what they mean.

    Raises FeatureNotSupported (0A000) for files and programs.
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
    where = None
    if cursor.word == "WHERE":
        if direction is CopyDirection.TO_STDOUT:
            raise SyntaxError_("WHERE clause not allowed with COPY TO", position=cursor.position)
        cursor.expect("WHERE")
        where = cursor.expression()
    return Copy(table, columns, query, direction, options, subscribe, where)


def _parse_option(cursor: Cursor) -> tuple[str, str]:
    name = cursor.any_word().lower()
    if cursor.word in (",", ")"):
        return name, "true"
    if cursor.word == "(":
        return name, _listed(cursor.in_parentheses(cursor.any_word))
    return name, cursor.value()


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(columns)


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
            options.append(("force_quote", _listed(names)))
        elif cursor.accept("FORCE", "NOT", "NULL"):
            options.append(("force_not_null", _listed(cursor.comma_separated(cursor.any_word))))
        elif cursor.accept("FORCE", "NULL"):
            options.append(("force_null", _listed(cursor.comma_separated(cursor.any_word))))
        else:
            return tuple(options)
