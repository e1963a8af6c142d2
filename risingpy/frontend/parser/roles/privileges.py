"""GRANT and REVOKE of privileges on objects, and ALTER DEFAULT PRIVILEGES."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName
from risingpy.frontend.parser.creation.function import parse_arguments
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.trees import (
    AlterDefaultPrivileges,
    GrantedOn,
    GrantPrivileges,
    NamedPrivilege,
    RoleName,
)
from risingpy.meta.schema.privileges import NAMES

# The word for one object, and the words for all of a schema's.
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "TABLE": "TABLES",
        "MATERIALIZED VIEW": "MATERIALIZED VIEWS",
        "VIEW": "VIEWS",
        "SOURCE": "SOURCES",
        "SINK": "SINKS",
        "SUBSCRIPTION": "SUBSCRIPTIONS",
        "FUNCTION": "FUNCTIONS",
        "ROUTINE": "ROUTINES",
        "PROCEDURE": "PROCEDURES",
        "SEQUENCE": "SEQUENCES",
        "SECRET": "SECRETS",
        "CONNECTION": "CONNECTIONS",
        "SCHEMA": "SCHEMAS",
        "DATABASE": "",
        "LANGUAGE": "",
        "TYPE": "TYPES",
        "DOMAIN": "",
        "TABLESPACE": "",
        "PARAMETER": "",
    }
)
_ROUTINES = ("FUNCTION", "ROUTINE", "PROCEDURE")
_WITHOUT_SCHEMA = ("SCHEMA", "DATABASE", "LANGUAGE", "TABLESPACE")
_NOT_HERE = ("LARGE", "FOREIGN")
_BY_DEFAULT = ("TABLES", "SEQUENCES", "FUNCTIONS", "ROUTINES", "SCHEMAS", "SECRETS", "CONNECTIONS", "TYPES")


def parse_grant_privileges(cursor: Cursor) -> GrantPrivileges:
    """After GRANT."""
    privileges = _parse_privileges(cursor)
    cursor.expect("ON")
    on = _parse_objects(cursor)
    cursor.expect("TO")
    grantees = cursor.comma_separated(lambda: grantee(cursor))
    option = cursor.accept("WITH", "GRANT", "OPTION")
    return GrantPrivileges(True, privileges, on, grantees, option, grantor=grantor(cursor))


def parse_revoke_privileges(cursor: Cursor) -> GrantPrivileges:
    """After REVOKE."""
    option = cursor.accept("GRANT", "OPTION", "FOR")
    privileges = _parse_privileges(cursor)
    cursor.expect("ON")
    on = _parse_objects(cursor)
    cursor.expect("FROM")
    grantees = cursor.comma_separated(lambda: grantee(cursor))
    given_by = grantor(cursor)
    return GrantPrivileges(False, privileges, on, grantees, option, _cascades(cursor), given_by)


def parse_default_privileges(cursor: Cursor) -> AlterDefaultPrivileges:
    """After ALTER DEFAULT PRIVILEGES."""
    roles: tuple[RoleName, ...] = ()
    schemas: tuple[ColumnName, ...] = ()
    while cursor.word in ("FOR", "IN"):
        if cursor.accept("IN"):
            cursor.expect("SCHEMA")
            schemas = cursor.comma_separated(cursor.name)
        else:
            cursor.expect("FOR")
            cursor.one_of("ROLE", "USER")
            roles = cursor.comma_separated(lambda: role_name(cursor))
    is_grant = cursor.one_of("GRANT", "REVOKE") == "GRANT"
    option = not is_grant and cursor.accept("GRANT", "OPTION", "FOR")
    privileges = _parse_privileges(cursor)
    cursor.expect("ON")
    position, kind = cursor.position, _plural(cursor)
    if kind not in _BY_DEFAULT:
        cursor.unsupported(f"ALTER DEFAULT PRIVILEGES … ON {kind}")
    cursor.expect("TO" if is_grant else "FROM")
    grantees = cursor.comma_separated(lambda: grantee(cursor))
    option = option or (is_grant and cursor.accept("WITH", "GRANT", "OPTION"))
    on = GrantedOn(kind, position=position)
    given = GrantPrivileges(is_grant, privileges, on, grantees, option, not is_grant and _cascades(cursor))
    return AlterDefaultPrivileges(roles, schemas, given)


def grantee(cursor: Cursor) -> RoleName:
    """A role, or PUBLIC."""
    cursor.accept("GROUP")
    if cursor.word == "PUBLIC":
        position = cursor.position
        cursor.expect("PUBLIC")
        return RoleName("public", position, "PUBLIC")
    return role_name(cursor)


def grantor(cursor: Cursor) -> RoleName | None:
    """What follows GRANTED BY."""
    return role_name(cursor) if cursor.accept("GRANTED", "BY") else None


def _cascades(cursor: Cursor) -> bool:
    return cursor.accept("CASCADE") or (cursor.accept("RESTRICT") and False)


def _parse_privileges(cursor: Cursor) -> tuple[NamedPrivilege, ...]:
    position = cursor.position
    if cursor.accept("ALL"):
        cursor.accept("PRIVILEGES")
        return (NamedPrivilege(None, _columns(cursor), position),)
    return cursor.comma_separated(lambda: _parse_privilege(cursor))


def _parse_privilege(cursor: Cursor) -> NamedPrivilege:
    position = cursor.position
    word = "ALTER SYSTEM" if cursor.accept("ALTER", "SYSTEM") else cursor.any_word()
    if word.upper() not in NAMES:
        cursor.fail_with(f'unrecognized privilege type "{word}"', position)
    return NamedPrivilege(NAMES[word.upper()], _columns(cursor), position)


def _columns(cursor: Cursor) -> tuple[ColumnName, ...]:
    return cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()


def _parse_objects(cursor: Cursor) -> GrantedOn:
    position = cursor.position
    if cursor.accept("ALL"):
        kind = _plural(cursor)
        cursor.expect("IN", "SCHEMA")
        schemas = cursor.comma_separated(cursor.name)
        return GrantedOn(kind, schemas=schemas, position=position)
    for kind in _KINDS:
        # A name may be one of these words, as in `ON source TO bob`.
        words = kind.split()
        is_name = [*cursor.peek(len(words) + 1), ""][len(words)] in ("TO", "FROM", ",", ".")
        if not is_name and cursor.accept(*words):
            return _named(cursor, kind, position)
    if cursor.word in _NOT_HERE and cursor.peek(2)[-1] not in ("TO", "FROM", ",", "."):
        cursor.unsupported(f"GRANT … ON {cursor.word}")
    return _named(cursor, "TABLE", position)


def _named(cursor: Cursor, kind: str, position: int) -> GrantedOn:
    if kind in _WITHOUT_SCHEMA:
        return GrantedOn(kind, schemas=cursor.comma_separated(cursor.name), position=position)
    if kind == "PARAMETER":
        return GrantedOn(kind, schemas=cursor.comma_separated(lambda: _parameter(cursor)), position=position)
    if kind in _ROUTINES:
        routines = cursor.comma_separated(
            lambda: (cursor.object_name(), parse_arguments(cursor) if cursor.word == "(" else None)
        )
        return GrantedOn(kind, routines=routines, position=position)
    names: tuple[ObjectName, ...] = cursor.comma_separated(cursor.object_name)
    return GrantedOn(kind, names=names, position=position)


def _parameter(cursor: Cursor) -> ColumnName:
    """A run-time parameter's name, which has dots if it is an own one of the clients."""
    first = cursor.name()
    parts = [first.name]
    while cursor.accept("."):
        parts.append(cursor.any_word())
    return ColumnName(".".join(parts), first.position)


def _plural(cursor: Cursor) -> str:
    for words in _KINDS.values():
        if words and cursor.accept(*words.split()):
            return words
    if cursor.word == "LARGE":
        cursor.unsupported(f"GRANT … ON {cursor.word}")
    return cursor.fail()
