"""CREATE, ALTER and DROP of roles, users and groups; GRANT and REVOKE of memberships; what roles own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.frontend.parser.ast import Statement
from risingpy.frontend.parser.ast_create import OptionPlace
from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName
from risingpy.frontend.parser.creation.function import parse_arguments
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.settings import parse_settings, settings_follow
from risingpy.frontend.parser.databases.trees import AlterSettings, RenameSchema
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.privileges import (
    grantor,
    parse_default_privileges,
    parse_grant_privileges,
    parse_revoke_privileges,
)
from risingpy.frontend.parser.roles.trees import (
    AlterDefaultPrivileges,
    AlterObjectOwner,
    AlterOwner,
    AlterRole,
    CreateRole,
    DropOwned,
    DropRole,
    GivenPassword,
    GrantPrivileges,
    GrantRole,
    ReassignOwned,
    RevokeRole,
    RoleAttributes,
    RoleName,
)
from risingpy.meta.schema.roles import RoleOptions

KINDS = ("ROLE", "USER", "GROUP")
Parser = Callable[[Cursor], Statement]
_OF_ROLES = tuple([kind] for kind in (*KINDS, "OWNED"))
_ALTERED = (*_OF_ROLES, ["SCHEMA"], ["DEFAULT"])
# By the word: the attribute and its value. RisingWave's CREATEUSER is PostgreSQL's CREATEROLE.
_SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "SUPERUSER": "superuser",
        "CREATEDB": "create_database",
        "CREATEROLE": "create_role",
        "CREATEUSER": "create_role",
        "INHERIT": "inherit",
        "LOGIN": "login",
        "REPLICATION": "replication",
        "BYPASSRLS": "bypass_rls",
    }
)
_ROUTINES = ("FUNCTION", "AGGREGATE", "ROUTINE", "PROCEDURE")
_OBJECTS = (*_ROUTINES, "SECRET", "CONNECTION")
_LISTS: Mapping[str, str] = MappingProxyType({"ROLE": "members", "USER": "members", "ADMIN": "admins"})
_ALTERED_LISTS = ("IN", "ROLE", "ADMIN", "SYSID")


def or_role(
    of_role: Callable[[Cursor], Statement], other: Callable[[Cursor], Statement]
) -> Callable[[Cursor], Statement]:
    """The parser of CREATE, ALTER or DROP: `of_role` where a role comes next, else `other`."""
    words = _ALTERED if of_role is parse_alter_role else _OF_ROLES

    def is_of_role(cursor: Cursor) -> bool:
        owner = of_role is parse_alter_role and cursor.peek(2)[-1] in _OBJECTS and cursor.has_word("OWNER")
        return cursor.peek(2)[1:] in words or owner

    return lambda cursor: (of_role if is_of_role(cursor) else other)(cursor)


def parse_create_role(cursor: Cursor) -> CreateRole:
    """A USER may log in, a ROLE or GROUP not, unless the attributes say otherwise."""
    cursor.expect("CREATE")
    kind = cursor.one_of(*KINDS)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = role_name(cursor)
    return CreateRole(name, _Attributes(cursor, {"login": True} if kind == "USER" else {}).read(), if_not_exists)


def parse_alter_role(
    cursor: Cursor,
) -> (
    AlterRole
    | GrantRole
    | RevokeRole
    | AlterOwner
    | AlterObjectOwner
    | AlterDefaultPrivileges
    | RenameSchema
    | AlterSettings
):
    """Attributes, a new name, or members; also the owner and the name of a schema, and default privileges."""
    cursor.expect("ALTER")
    if cursor.accept("DEFAULT", "PRIVILEGES"):
        return parse_default_privileges(cursor)
    if cursor.accept("SCHEMA"):
        return _parse_schema(cursor)
    if cursor.word in _OBJECTS:
        return _parse_object_owner(cursor, cursor.one_of(*_OBJECTS))
    kind = cursor.one_of(*KINDS)
    if kind != "GROUP" and cursor.accept("ALL"):
        return parse_settings(cursor, None, None)
    name = role_name(cursor)
    if cursor.accept("RENAME", "TO"):
        return AlterRole(name, RoleAttributes(), cursor.name())
    if kind == "GROUP":
        added = cursor.one_of("ADD", "DROP") == "ADD"
        cursor.expect("USER")
        members = cursor.comma_separated(lambda: role_name(cursor))
        made = GrantRole if added else RevokeRole
        return made((name,), members, tag="ALTER ROLE")
    if settings_follow(cursor):
        return parse_settings(cursor, name, None)
    return AlterRole(name, _Attributes(cursor, {}, altered=True).read())


def _parse_object_owner(cursor: Cursor, kind: str) -> AlterObjectOwner:
    name = cursor.object_name()
    arguments = parse_arguments(cursor) if kind in _ROUTINES and cursor.word == "(" else None
    if not cursor.accept("OWNER", "TO"):
        cursor.unsupported(f"ALTER {kind} … {cursor.word}")
    return AlterObjectOwner(kind, name, arguments, role_name(cursor))


def _parse_schema(cursor: Cursor) -> AlterOwner | RenameSchema:
    name = cursor.name()
    if cursor.accept("RENAME", "TO"):
        return RenameSchema(name, cursor.name())
    if not cursor.accept("OWNER", "TO"):
        cursor.unsupported(f"ALTER SCHEMA … {cursor.word}")
    return AlterOwner(None, ObjectName(name.name, None, name.position), role_name(cursor))


def parse_drop_role(cursor: Cursor) -> DropRole | DropOwned:
    """DROP ROLE, USER, GROUP, and DROP OWNED BY."""
    cursor.expect("DROP")
    if cursor.word == "OWNED":
        return _parse_drop_owned(cursor)
    cursor.one_of(*KINDS)
    if_exists = cursor.accept("IF", "EXISTS")
    return DropRole(cursor.comma_separated(lambda: role_name(cursor)), if_exists)


def parse_grant(cursor: Cursor) -> GrantRole | GrantPrivileges:
    """GRANT of a membership, or of privileges."""
    cursor.expect("GRANT")
    if cursor.has_word("ON"):
        return parse_grant_privileges(cursor)
    groups = cursor.comma_separated(lambda: role_name(cursor))
    cursor.expect("TO")
    members = cursor.comma_separated(lambda: role_name(cursor))
    admin = cursor.accept("WITH", "ADMIN", "OPTION")
    grantor(cursor)
    return GrantRole(groups, members, admin)


def parse_revoke(cursor: Cursor) -> RevokeRole | GrantPrivileges:
    """REVOKE of a membership, or of privileges."""
    cursor.expect("REVOKE")
    if cursor.has_word("ON"):
        return parse_revoke_privileges(cursor)
    admin_only = cursor.accept("ADMIN", "OPTION", "FOR")
    groups = cursor.comma_separated(lambda: role_name(cursor))
    cursor.expect("FROM")
    members = cursor.comma_separated(lambda: role_name(cursor))
    grantor(cursor)
    _ = cursor.accept("CASCADE") or cursor.accept("RESTRICT")
    return RevokeRole(groups, members, admin_only)


def parse_reassign(cursor: Cursor) -> ReassignOwned:
    """REASSIGN OWNED BY roles TO role."""
    cursor.expect("REASSIGN", "OWNED", "BY")
    owners = cursor.comma_separated(lambda: role_name(cursor))
    cursor.expect("TO")
    return ReassignOwned(owners, role_name(cursor))


def _parse_drop_owned(cursor: Cursor) -> DropOwned:
    cursor.expect("OWNED", "BY")
    owners = cursor.comma_separated(lambda: role_name(cursor))
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropOwned(owners, cascade)


class _Attributes:
    """Reads what follows WITH. Each attribute may be said once."""

    def __init__(self, cursor: Cursor, first: Mapping[str, bool], *, altered: bool = False) -> None:
        self._cursor = cursor
        self._first = first
        self._altered = altered
        self._switches: dict[str, Any] = {}
        self._others: dict[str, Any] = {}
        self._places: list[OptionPlace] = []

    def read(self) -> RoleAttributes:
        self._cursor.accept("WITH")
        while not self._cursor.at_end:
            self._read_one()
        options = RoleOptions(**{**self._first, **self._switches})
        return RoleAttributes(options, option_places=tuple(self._places), **self._others)

    def _read_one(self) -> None:
        cursor, position, word = self._cursor, self._cursor.position, self._cursor.word
        if word in ("OAUTH", "LDAP"):
            raise FeatureNotSupported(
                f"authentication by {word} is not supported",
                position=position,
                hint="Use PASSWORD, or client certificates (the method cert).",
            )
        switch = _SWITCHES.get(word.removeprefix("NO") if word not in _SWITCHES else word)
        if switch is not None:
            cursor.expect(word)
            self._put(self._switches, switch, word in _SWITCHES, position)
        elif cursor.accept("CONNECTION", "LIMIT"):
            self._put(self._switches, "connection_limit", self._number(), position)
        elif word in ("PASSWORD", "ENCRYPTED", "UNENCRYPTED"):
            self._put(self._others, "password", self._password(), position)
        elif cursor.accept("VALID", "UNTIL"):
            place = cursor.position
            self._put(self._others, "valid_until", ColumnName(cursor.string(), place), position)
        elif self._altered and word in _ALTERED_LISTS:
            cursor.fail()
        elif cursor.accept("IN"):
            cursor.one_of("ROLE", "GROUP")
            self._put(self._others, "member_of", self._roles(), position)
        elif word in _LISTS:
            cursor.expect(word)
            self._put(self._others, _LISTS[word], self._roles(), position)
        elif cursor.accept("SYSID"):
            self._number()
        else:
            cursor.fail_with(f'unrecognized role option "{cursor.any_word()}"', position)

    def _put(self, values: dict[str, Any], name: str, value: object, position: int) -> None:
        if name in values:
            raise SyntaxError_("conflicting or redundant options", position=position)
        values[name] = value

    def _roles(self) -> tuple[RoleName, ...]:
        return self._cursor.comma_separated(lambda: role_name(self._cursor))

    def _number(self) -> int:
        position, text = self._cursor.position, self._cursor.value()
        if not text.removeprefix("-").isdigit():
            self._cursor.fail_with(f'syntax error at or near "{text}"', position)
        number = int(text)
        if not -1 <= number < 2**31:
            raise SyntaxError_(f"invalid connection limit: {text}", position=position)
        return number

    def _password(self) -> GivenPassword:
        cursor, position = self._cursor, self._cursor.position
        if cursor.accept("UNENCRYPTED"):
            raise FeatureNotSupported(
                "UNENCRYPTED PASSWORD is no longer supported",
                position=position,
                hint="Remove UNENCRYPTED to store the password in encrypted form instead.",
            )
        encrypted = cursor.accept("ENCRYPTED")
        cursor.expect("PASSWORD")
        if not encrypted and cursor.accept("NULL"):
            return GivenPassword(None, position)
        begin = cursor.position
        text = cursor.string()
        self._places.append(OptionPlace("password", begin, cursor.end))
        return GivenPassword(text, begin)
