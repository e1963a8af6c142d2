"""ALTER ROLE and ALTER DATABASE … SET and RESET: what sessions begin with."""

from __future__ import annotations

from risingpy.frontend.parser.ast import SetVariable
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.trees import AlterSettings
from risingpy.frontend.parser.roles.trees import RoleName
from risingpy.frontend.parser.utility import parse_reset, parse_set


def settings_follow(cursor: Cursor) -> bool:
    """Whether SET, RESET or IN DATABASE comes next, after the name of a role or database."""
    return cursor.word in ("SET", "RESET") or cursor.peek(2) == ["IN", "DATABASE"]


def parse_settings(cursor: Cursor, role: RoleName | None, database: ColumnName | None) -> AlterSettings:
    """What comes then. `role` None: every role, of the database that must be named."""
    if database is None and cursor.accept("IN", "DATABASE"):
        database = cursor.name()
    if role is None and database is None:
        cursor.unsupported("ALTER ROLE ALL without IN DATABASE")
    position = cursor.position
    if cursor.word == "SET" and cursor.peek(4)[2:] == ["FROM", "CURRENT"]:
        cursor.expect("SET")
        name = cursor.any_word().lower()
        cursor.expect("FROM", "CURRENT")
        return AlterSettings(role, database, name, None, position, from_current=True)
    if cursor.word not in ("SET", "RESET"):
        cursor.fail()
    statement = parse_set(cursor) if cursor.word == "SET" else parse_reset(cursor)
    if not isinstance(statement, SetVariable) or statement.local:
        cursor.fail_with('syntax error at or near "SET"', position)
    return AlterSettings(role, database, statement.name, statement.values, statement.position or position)
