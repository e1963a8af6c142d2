"""A column or table that a system query names and nothing has, in PostgreSQL's words and with its position."""

from __future__ import annotations

import re

from risingpy.errors import SqlError, UndefinedColumn, UndefinedTable

# DuckDB's words. The first group, if there are two, is the table.
_COLUMN = (
    re.compile(r'(?:Values list|Table) "(.+?)" does not have a column named "(.+?)"'),
    re.compile(r'Referenced column "(.+?)" not found in FROM clause'),
    re.compile(r'Referenced column "(.+?)" was not found because the FROM clause is missing'),
)
_TABLE = re.compile(r'Referenced table "(.+?)" not found')
_QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


def unknown_name(message: str, sql: str) -> SqlError | None:
    """The error that PostgreSQL would raise for DuckDB's `message` about `sql`; None if it is about something else."""
    for pattern in _COLUMN:
        if found := pattern.search(message):
            *table, column = found.groups()
            shown = f"{table[0]}.{column}" if table else f'"{column}"'
            return UndefinedColumn(f"column {shown} does not exist", position=_position(sql, *table, column))
    if found := _TABLE.search(message):
        name = found[1]
        message = f'missing FROM-clause entry for table "{name}"'
        return UndefinedTable(message, position=_position(sql, name))
    return None


def _position(sql: str, *names: str) -> int | None:
    """Where the dotted name first stands outside of texts and comments, from 1."""
    bare = _QUOTED.sub(lambda found: " " * len(found[0]), sql)
    dotted = r'"?\s*\.\s*"?'.join(map(re.escape, names))
    found = re.search(rf'(?<![\w.])"?{dotted}(?!\w)', bare, re.IGNORECASE)
    return found.start() + 1 if found else None
