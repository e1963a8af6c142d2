"""CREATE, ALTER and DROP of roles, and their memberships: from one `MetaState` to the next, as in `relations.py`.

Each function checks the rights of who asks for the change, on the state that it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from risingpy.errors import DependentObjectsStillExist, FeatureNotSupported, InsufficientPrivilege, SqlError
from risingpy.meta.schema.owners import owned_by
from risingpy.meta.schema.privileges import privileges_needing
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID, Catalog, Membership, Role, roles_of

_RESERVED = ("public", "none")
_ALWAYS_SUPERUSERS = ("superuser", "replication", "bypass_rls")
_CREATE_REFUSALS = {
    "superuser": "must be superuser to create superusers",
    "replication": "must be superuser to create replication users",
    "bypass_rls": "must be superuser to change bypassrls attribute",
}
_ALTER_REFUSALS = {
    "superuser": "must be superuser to alter superuser roles or change superuser attribute",
    "replication": "must be superuser to alter replication roles or change replication attribute",
    "bypass_rls": "must be superuser to change bypassrls attribute",
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for a change: the ids of the session's user, and of the role that it acts as."""

    session_user: int
    current: int


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """What CREATE ROLE or ALTER ROLE says of attributes; None where it says nothing.

    `secret` and `valid_until` are tuples of the new value, which may be None.
    """

    superuser: bool | None = None
    inherit: bool | None = None
    create_role: bool | None = None
    create_database: bool | None = None
    login: bool | None = None
    replication: bool | None = None
    bypass_rls: bool | None = None
    connection_limit: int | None = None
    secret: tuple[str | None] | None = None
    valid_until: tuple[int | None] | None = None

    def given(self) -> Mapping[str, object]:
        """The new values by the role's field."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value[0] if isinstance(value, tuple) else value for name, value in values.items() if value is not None
        }


@dataclass(frozen=True, slots=True)
class NewRole:
    """CREATE ROLE. `member_of` are the roles that it becomes a member of; `members` and `admins` become its members."""

    name: str
    options: RoleOptions
    member_of: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()


def create_role(state: MetaState, actor: Actor, new: NewRole) -> MetaState:
    """`state` with a role. Raises 42710 if there is one of that name."""
    _check_name(new.name)
    given = new.options.given()
    _check_superusers_attributes(state.catalog, actor, given, _CREATE_REFUSALS)
    if not may_create_roles(state.catalog, actor):
        raise InsufficientPrivilege("permission denied to create role")
    if state.catalog.role_named(new.name) is not None:
        raise SqlError(f'role "{new.name}" already exists', sqlstate="42710")
    role = Role(role_id=state.next_id, name=new.name)
    state = replace(with_roles(state, [replace(role, **given)]), next_id=state.next_id + 1)  # type: ignore[arg-type]
    for group in new.member_of:
        state, _ = grant_role(state, actor, group, [new.name], admin=False)
    state, _ = grant_role(state, actor, new.name, new.members, admin=False)
    state, _ = grant_role(state, actor, new.name, new.admins, admin=True)
    return state


def alter_role(state: MetaState, actor: Actor, name: str, options: RoleOptions) -> MetaState:
    """`state` with other attributes of a role. A role without CREATEROLE may change its own password only."""
    role = existing_role(state.catalog, name)
    if role.is_predefined:
        raise _reserved(name)
    given = options.given()
    _check_superusers_attributes(state.catalog, actor, given, _ALTER_REFUSALS)
    for attribute in ("superuser", "replication"):
        if getattr(role, attribute) and not is_superuser(state.catalog, actor):
            raise InsufficientPrivilege(_ALTER_REFUSALS[attribute])
    only_own_password = given.keys() <= {"secret"} and role.role_id == actor.current
    if not only_own_password and not may_create_roles(state.catalog, actor):
        raise InsufficientPrivilege("permission denied")
    if role.role_id == BOOTSTRAP_ROLE_ID and given.get("superuser") is False:
        message = "permission denied to alter role"
        raise InsufficientPrivilege(message, detail="The bootstrap user must have the SUPERUSER attribute.")
    return with_roles(state, [replace(role, **given)])  # type: ignore[arg-type]


def rename_role(state: MetaState, actor: Actor, name: str, new_name: str) -> MetaState:
    """`state` with another name of a role; sessions that act as it go on."""
    role = existing_role(state.catalog, name)
    if role.role_id == actor.session_user:
        raise FeatureNotSupported("session user cannot be renamed")
    if role.role_id == actor.current:
        raise FeatureNotSupported("current user cannot be renamed")
    if role.is_predefined:
        raise _reserved(name)
    _check_name(new_name)
    if state.catalog.role_named(new_name) is not None:
        raise SqlError(f'role "{new_name}" already exists', sqlstate="42710")
    if role.superuser and not is_superuser(state.catalog, actor):
        raise InsufficientPrivilege("must be superuser to rename superusers")
    if not may_create_roles(state.catalog, actor):
        raise InsufficientPrivilege("permission denied to rename role")
    return with_roles(state, [replace(role, name=new_name)])


def drop_roles(
    state: MetaState, actor: Actor, names: Sequence[str], *, if_exists: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the roles, notices). Raises 2BP01 if one owns something."""
    if not may_create_roles(state.catalog, actor):
        raise InsufficientPrivilege("permission denied to drop role")
    notices = []
    for name in names:
        role = state.catalog.role_named(name)
        if role is None and if_exists:
            notices.append(f'role "{name}" does not exist, skipping')
            continue
        role = existing_role(state.catalog, name)
        _check_droppable(state.catalog, actor, role)
        others = [_without_membership(each, role.role_id) for each in state.catalog.roles.values() if each is not role]
        roles = {each.role_id: each for each in others}
        state = replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, roles=roles))
    return state, tuple(notices)


def grant_role(
    state: MetaState, actor: Actor, group: str, members: Iterable[str], *, admin: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` in which the roles `members` are members of `group`, notices). Raises 0LP01 for a circle."""
    notices = []
    of = existing_role(state.catalog, group)
    _check_may_give(state.catalog, actor, of)
    for name in members:
        member = existing_role(state.catalog, name)
        if member.role_id in roles_of(state.catalog.roles, of.role_id):
            raise SqlError(f'role "{group}" is a member of role "{name}"', sqlstate="0LP01")
        known = next((each for each in member.member_of if each.role_id == of.role_id), None)
        if known is not None and (known.admin or not admin):
            notices.append(f'role "{name}" is already a member of role "{group}"')
            continue
        kept = tuple(each for each in member.member_of if each is not known)
        made = Membership(of.role_id, actor.current, admin)
        state = with_roles(state, [replace(member, member_of=(*kept, made))])
    return state, tuple(notices)


def revoke_role(
    state: MetaState, actor: Actor, group: str, members: Iterable[str], *, admin_only: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` in which the roles are no members of `group`, or with `admin_only` no admins of it, warnings)."""
    warnings = []
    of = existing_role(state.catalog, group)
    _check_may_give(state.catalog, actor, of)
    for name in members:
        member = existing_role(state.catalog, name)
        known = next((each for each in member.member_of if each.role_id == of.role_id), None)
        if known is None:
            warnings.append(f'role "{name}" is not a member of role "{group}"')
            continue
        kept = tuple(each for each in member.member_of if each is not known)
        left = (*kept, replace(known, admin=False)) if admin_only else kept
        state = with_roles(state, [replace(member, member_of=left)])
    return state, tuple(warnings)


def with_bootstrap_secret(state: MetaState, secret: str) -> MetaState:
    """`state` in which the bootstrap superuser has a password, which its operator gave."""
    return with_roles(state, [replace(state.catalog.roles[BOOTSTRAP_ROLE_ID], secret=secret)])


def existing_role(catalog: Catalog, name: str) -> Role:
    """The role of that name. Raises 42704."""
    role = catalog.role_named(name)
    if role is None:
        raise SqlError(f'role "{name}" does not exist', sqlstate="42704")
    return role


def is_superuser(catalog: Catalog, actor: Actor) -> bool:
    """Whether the role that acts is a superuser."""
    role = catalog.roles.get(actor.current)
    return role is not None and role.superuser


def may_create_roles(catalog: Catalog, actor: Actor) -> bool:
    """Whether the role that acts may create and alter others."""
    role = catalog.roles.get(actor.current)
    return role is not None and (role.superuser or role.create_role)


def _check_name(name: str) -> None:
    if name in _RESERVED:
        raise SqlError(f'role name "{name}" is reserved', sqlstate="42939")
    if name.startswith("pg_"):
        raise _reserved(name)


def _reserved(name: str) -> SqlError:
    detail = 'Role names starting with "pg_" are reserved.'
    return SqlError(f'role name "{name}" is reserved', sqlstate="42939", detail=detail)


def _check_superusers_attributes(
    catalog: Catalog, actor: Actor, given: Mapping[str, object], refusals: Mapping[str, str]
) -> None:
    for attribute in _ALWAYS_SUPERUSERS:
        asked = attribute in given if refusals is _ALTER_REFUSALS else given.get(attribute)
        if asked and not is_superuser(catalog, actor):
            raise InsufficientPrivilege(refusals[attribute])


def _check_droppable(catalog: Catalog, actor: Actor, role: Role) -> None:
    if role.role_id == actor.current:
        raise SqlError("current user cannot be dropped", sqlstate="55006")
    if role.role_id == actor.session_user:
        raise SqlError("session user cannot be dropped", sqlstate="55006")
    if role.superuser and not is_superuser(catalog, actor):
        raise InsufficientPrivilege("must be superuser to drop superusers")
    if role.role_id == BOOTSTRAP_ROLE_ID or role.is_predefined:
        needed = f"cannot drop role {role.name} because it is required by the database system"
        raise DependentObjectsStillExist(needed)
    needing = list(owned_by(catalog, [role.role_id]))
    needing += privileges_needing(catalog, role.role_id)
    if needing:
        raise DependentObjectsStillExist(
            f'role "{role.name}" cannot be dropped because some objects depend on it',
            detail="\n".join(needing),
        )


def _check_may_give(catalog: Catalog, actor: Actor, group: Role) -> None:
    """Who may let roles into a group, and put them out of it: who has CREATEROLE, or an admin of the group."""
    if is_superuser(catalog, actor):
        return
    if group.superuser:
        raise InsufficientPrivilege("must be superuser to alter superusers")
    if may_create_roles(catalog, actor):
        return
    acting = (catalog.roles[each] for each in roles_of(catalog.roles, actor.current))
    if not any(m.admin and m.role_id == group.role_id for role in acting for m in role.member_of):
        raise InsufficientPrivilege(f'must have admin option on role "{group.name}"')


def _without_membership(role: Role, group: int) -> Role:
    kept = []
    for membership in role.member_of:
        if membership.role_id == group:
            continue
        gone = membership.grantor == group
        kept.append(replace(membership, grantor=BOOTSTRAP_ROLE_ID) if gone else membership)
    return role if tuple(kept) == role.member_of else replace(role, member_of=tuple(kept))


def with_roles(state: MetaState, changed: Iterable[Role]) -> MetaState:
    """`state` with roles added or replaced, by their ids."""
    roles = {**state.catalog.roles, **{role.role_id: role for role in changed}}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, roles=roles))
