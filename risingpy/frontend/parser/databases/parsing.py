"""CREATE, ALTER and DROP DATABASE, CREATE and DROP SCHEMA, USE."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.settings import parse_settings, settings_follow
from risingpy.frontend.parser.databases.trees import (
    AlterDatabase,
    AlterSettings,
    CreateDatabase,
    CreateSchema,
    DatabaseOption,
    DropDatabase,
    DropSchema,
    UseDatabase,
)
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.trees import RoleName

_CREATED = (
    *("TEMPLATE", "ENCODING", "STRATEGY", "LOCALE", "LC_COLLATE", "LC_CTYPE", "LOCALE_PROVIDER", "ICU_LOCALE"),
    *("COLLATION_VERSION", "TABLESPACE", "ALLOW_CONNECTIONS", "CONNECTION LIMIT", "IS_TEMPLATE", "OID"),
    *("RESOURCE_GROUP", "BARRIER_INTERVAL_MS", "CHECKPOINT_FREQUENCY"),
)
_ALTERED = ("ALLOW_CONNECTIONS", "CONNECTION LIMIT", "IS_TEMPLATE")


def parse_create_database(cursor: Cursor) -> CreateDatabase:
    """After CREATE DATABASE. Options are said once each; a wrong one is refused when the statement is bound."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    cursor.accept("WITH")
    options: dict[str, DatabaseOption] = {}
    owner: RoleName | None = None
    while not cursor.at_end:
        position = cursor.position
        if cursor.accept("OWNER"):
            cursor.accept("=")
            if owner is not None:
                raise SyntaxError_("conflicting or redundant options", position=position)
            owner = role_name(cursor)
            continue
        option = _option(cursor, _CREATED)
        if option.name in options:
            raise SyntaxError_("conflicting or redundant options", position=position)
        options[option.name] = option
        cursor.accept(",")
    return CreateDatabase(name, tuple(options.values()), owner, if_not_exists)


def parse_alter_database(cursor: Cursor) -> AlterDatabase | AlterSettings:
    """After ALTER DATABASE: a name, and what changes of it."""
    name = cursor.name()
    if cursor.accept("RENAME", "TO"):
        return AlterDatabase(name, new_name=cursor.name())
    if cursor.accept("OWNER", "TO"):
        return AlterDatabase(name, new_owner=role_name(cursor))
    if settings_follow(cursor) and cursor.peek(2) != ["SET", "TABLESPACE"]:
        return parse_settings(cursor, None, name)
    if cursor.word == "REFRESH" or cursor.peek(2) == ["SET", "TABLESPACE"]:
        cursor.unsupported(f"ALTER DATABASE … {cursor.word}")
    cursor.accept("WITH")
    options = [_option(cursor, _ALTERED)]
    while not cursor.at_end:
        options.append(_option(cursor, _ALTERED))
    return AlterDatabase(name, options=tuple(options))


def parse_drop_database(cursor: Cursor) -> DropDatabase:
    """After DROP DATABASE."""
    if_exists = cursor.accept("IF", "EXISTS")
    name, force = cursor.name(), False
    if cursor.accept("WITH") or cursor.word == "(":
        cursor.expect("(")
        cursor.expect("FORCE")
        while cursor.accept(","):
            cursor.expect("FORCE")
        cursor.expect(")")
        force = True
    return DropDatabase(name, if_exists, force)


def parse_use(cursor: Cursor) -> UseDatabase:
    """USE, of RisingWave."""
    cursor.expect("USE")
    return UseDatabase(cursor.name())


def parse_create_schema(cursor: Cursor) -> CreateSchema:
    """After CREATE SCHEMA. The statements of the objects in it stay unread."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name: ColumnName | None = None
    if cursor.word != "AUTHORIZATION":
        name = cursor.name()
    owner = role_name(cursor) if cursor.accept("AUTHORIZATION") else None
    elements = cursor.parts("CREATE", "GRANT")
    if elements and if_not_exists:
        message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements"
        raise FeatureNotSupported(message, position=elements[0].position)
    return CreateSchema(name, if_not_exists, owner, elements)


def parse_drop_schema(cursor: Cursor) -> DropSchema:
    """After DROP SCHEMA."""
    if_exists = cursor.accept("IF", "EXISTS")
    names = tuple(name.name for name in cursor.comma_separated(cursor.name))
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropSchema(names, if_exists, cascade)


def _option(cursor: Cursor, known: tuple[str, ...]) -> DatabaseOption:
    position = cursor.position
    name = next((each for each in known if cursor.accept(*each.split())), None)
    if name is None:
        cursor.fail()
    cursor.accept("=")
    return DatabaseOption(name, None if cursor.accept("DEFAULT") else cursor.value(), position)
