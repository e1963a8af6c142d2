"""Users, roles and groups: CREATE, ALTER, DROP, GRANT and REVOKE of memberships, and what roles own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from risingpy.errors import FeatureNotSupported, InsufficientPrivilege, SqlError
from risingpy.frontend.authentication.scram_secret import is_scram_secret, made_secret
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.roles.trees import (
    AlterRole,
    CreateRole,
    DropOwned,
    DropRole,
    GivenPassword,
    GrantRole,
    ReassignOwned,
    RevokeRole,
    RoleAttributes,
    RoleName,
)
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.schema import roles
from risingpy.meta.schema.owners import drop_owned, reassign_owned
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Role
from risingpy.types import TIMESTAMPTZ, SqlType
from risingpy.types.date_and_time import parse

RoleStatement = CreateRole | AlterRole | DropRole | GrantRole | RevokeRole | ReassignOwned | DropOwned
_Change = Callable[[MetaState], tuple[MetaState, Sequence[str]]]
_FOREVER = "infinity"


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: RoleStatement, parameter_types: Sequence[SqlType]
) -> Command:
    """Rights and names are checked when the change is made, on the state that it changes."""

    def run(parameters: Parameters) -> Result:
        match statement:
            case CreateRole():
                _create(session, statement)
                return Result(CommandTag("CREATE ROLE"))
            case AlterRole():
                _alter(session, statement)
                return Result(CommandTag("ALTER ROLE"))
            case DropRole():
                names = [_name(session, each, "drop") for each in statement.names]
                _apply(
                    session,
                    lambda state: roles.drop_roles(state, session.identity.actor, names, if_exists=statement.if_exists),
                )
                return Result(CommandTag("DROP ROLE"))
            case GrantRole() | RevokeRole():
                _change_members(session, statement)
                return Result(CommandTag(statement.tag))
            case ReassignOwned() | DropOwned():
                return _change_owned(session, statement)
            case _:
                assert_never(statement)

    return Command(run)


def _create(session: StatementContext, statement: CreateRole) -> None:
    name = _name(session, statement.name, "create")
    if statement.if_not_exists and session.database.reads.catalog.role_named(name) is not None:
        session.notice(f'role "{name}" already exists, skipping', sqlstate="42710")
        return
    given = statement.attributes
    lists = (
        tuple(_name(session, each, "grant") for each in names)
        for names in (given.member_of, given.members, given.admins)
    )
    new = roles.NewRole(name, _options(session, given), *lists)
    _apply(session, lambda state: (roles.create_role(state, session.identity.actor, new), ()))


def _alter(session: StatementContext, statement: AlterRole) -> None:
    name, new_name = _name(session, statement.name, "alter"), statement.new_name
    actor = session.identity.actor
    if new_name is not None:
        _apply(session, lambda state: (roles.rename_role(state, actor, name, new_name.name), ()))
        return
    options = _options(session, statement.attributes)
    _apply(session, lambda state: (roles.alter_role(state, actor, name, options), ()))


def _change_members(session: StatementContext, statement: GrantRole | RevokeRole) -> None:
    actor = session.identity.actor
    members = [_name(session, each, "grant") for each in statement.members]

    def change(state: MetaState) -> tuple[MetaState, Sequence[str]]:
        said: list[str] = []
        for group in (_name(session, each, "grant") for each in statement.groups):
            if isinstance(statement, GrantRole):
                state, more = roles.grant_role(state, actor, group, members, admin=statement.admin)
            else:
                state, more = roles.revoke_role(state, actor, group, members, admin_only=statement.admin_only)
            said += more
        return state, said

    severity = "NOTICE" if isinstance(statement, GrantRole) else "WARNING"
    _apply(session, change, severity, "00000" if severity == "NOTICE" else "01000")


def _change_owned(session: StatementContext, statement: ReassignOwned | DropOwned) -> Result:
    def ids(state: MetaState, names: Sequence[RoleName]) -> list[int]:
        found = [role_of(session, state, each) for each in names]
        for role in found:
            if not state.catalog.has_role(session.identity.current_id, role.role_id):
                what = "reassign objects" if isinstance(statement, ReassignOwned) else "drop objects"
                raise InsufficientPrivilege(f"permission denied to {what}")
        return [role.role_id for role in found]

    def change(state: MetaState) -> tuple[MetaState, Sequence[str]]:
        owners = ids(state, statement.owners)
        if isinstance(statement, DropOwned):
            return drop_owned(state, owners, cascade=statement.cascade)
        return reassign_owned(state, owners, ids(state, [statement.new_owner])[0]), ()

    _apply(session, change)
    return Result(CommandTag("DROP OWNED" if isinstance(statement, DropOwned) else "REASSIGN OWNED"))


def _apply(session: StatementContext, change: _Change, severity: str = "NOTICE", sqlstate: str = "00000") -> None:
    notices: list[str] = []

    def changed(state: MetaState) -> MetaState:
        after, said = change(state)
        notices[:] = said
        return after

    session.database.ddl.change(changed, session.cancelled)
    for notice in notices:
        session.notice(notice, severity=severity, sqlstate=sqlstate)


def _name(session: StatementContext, given: RoleName, doing: str) -> str:
    match given.keyword:
        case None:
            return given.name
        case _ if doing in ("create", "drop"):
            message = "cannot use special role specifier in DROP ROLE"
            if doing == "create":
                message = f"{given.keyword} cannot be used as a role name here"
            raise SqlError(message, sqlstate="22023" if doing == "drop" else "42939", position=given.position)
        case "SESSION_USER":
            return session.identity.session_user
    return session.identity.current_user


def role_of(session: StatementContext, state: MetaState, given: RoleName) -> Role:
    """The role that a statement names. Raises 42704."""
    return roles.existing_role(state.catalog, _name(session, given, "own"))


def _options(session: StatementContext, given: RoleAttributes) -> roles.RoleOptions:
    options = given.options
    if given.password is not None:
        options = replace(options, secret=(_secret(session, given.password),))
    if given.valid_until is not None:
        text = given.valid_until.name
        zone = session.settings.get("timezone")
        until = None if text.strip().lower() == _FOREVER else _microseconds(parse(TIMESTAMPTZ, text, zone))
        options = replace(options, valid_until=(until,))
    return options


def _secret(session: StatementContext, given: GivenPassword) -> str | None:
    """What is stored for a password: never the password itself. psql's \\password sends the stored form."""
    password = given.text
    if password is None:
        return None
    if not password:
        session.notice("empty string is not a valid password, clearing password")
        return None
    if password.startswith("md5") and len(password) == 35:
        raise FeatureNotSupported(
            "MD5-encrypted passwords are not supported",
            position=given.position,
            hint="Give the password itself, or a SCRAM-SHA-256 secret.",
        )
    return password if is_scram_secret(password) else made_secret(password)


def _microseconds(time: object) -> int:
    assert isinstance(time, datetime)
    return round((time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
