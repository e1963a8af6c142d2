"""CREATE, ALTER and DROP DATABASE, as functions from state to state.

The state may be seen from any database. `sessions` counts the other sessions that a database has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from risingpy.errors import (
    DependentObjectsStillExist,
    FeatureNotSupported,
    InsufficientPrivilege,
    SqlError,
)
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.renaming import Retold, with_database_name
from risingpy.meta.schema.roles import Actor, existing_role, is_superuser
from risingpy.meta.sessions import Sessions
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import DEFAULT_DATABASE_ID, UNLIMITED, Catalog, DatabaseDesc, Role
from risingpy.plan.catalog.acl import Privilege, with_new_owner
from risingpy.plan.catalog.rights import database_of, owns, privileges_of

MAINTENANCE_DATABASES = frozenset({"postgres", "template1"})
"""PostgreSQL's own, to which createdb, pg_dumpall, pgAdmin and others connect when they ask about the server."""

_MOST_BYTES = 63
SessionCount = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """What CREATE or ALTER DATABASE says of options; None where it says nothing."""

    allows_connections: bool | None = None
    connection_limit: int | None = None

    def given(self) -> Mapping[str, int | bool]:
        """The new values, by the field of the database."""
        values = {"allows_connections": self.allows_connections, "connection_limit": self.connection_limit}
        return {name: value for name, value in values.items() if value is not None}


def existing_database(catalog: Catalog, name: str) -> DatabaseDesc:
    """The database of that name. Raises SqlError (3D000)."""
    found = catalog.database_named(name)
    if found is None:
        raise SqlError(f'database "{name}" does not exist', sqlstate="3D000")
    return found


def reached_database(catalog: Catalog, name: str) -> DatabaseDesc:
    """The database that a client reaches under a name. Raises SqlError (3D000).

    `MAINTENANCE_DATABASES` that nobody has created are names of the first database.
    """
    if name in MAINTENANCE_DATABASES and catalog.database_named(name) is None:
        return catalog.databases[DEFAULT_DATABASE_ID]
    return existing_database(catalog, name)


def check_room(database: DatabaseDesc, sessions: Sessions, *, is_superuser: bool) -> None:
    """Raises the error with which a database that takes no more clients refuses one."""
    if not database.allows_connections:
        raise SqlError(f'database "{database.name}" is not currently accepting connections', sqlstate="55000")
    limit = database.connection_limit
    if limit != UNLIMITED and not is_superuser:
        count = sum(each.database == database.name for each in sessions.activities())
        if count >= limit:
            raise SqlError(f'too many connections for database "{database.name}"', sqlstate="53300")


def check_connects(catalog: Catalog, role_id: int, database: DatabaseDesc) -> None:
    """Raises InsufficientPrivilege unless a role may connect to a database."""
    if Privilege.CONNECT not in privileges_of(catalog, role_id, database_of(database)):
        message, detail = f'permission denied for database "{database.name}"', "User does not have CONNECT privilege."
        raise InsufficientPrivilege(message, detail=detail)


def create_database(
    state: MetaState, actor: Actor, name: str, owner: str | None, options: DatabaseOptions
) -> MetaState:
    """`state` with an empty database. Raises 42P04 if there is one of that name."""
    catalog = state.catalog
    _check_may_create(catalog, actor)
    role = catalog.roles[actor.current] if owner is None else _new_owner(catalog, actor, owner)
    if len(name.encode()) > _MOST_BYTES:
        raise SqlError(f'the name "{name}" has more than {_MOST_BYTES} bytes', sqlstate="42622")
    if catalog.database_named(name) is not None:
        raise SqlError(f'database "{name}" already exists', sqlstate="42P04")
    new = DatabaseDesc(database_id=state.next_id, name=name, owner=role.role_id, **options.given())  # type: ignore[arg-type]
    return replace(state, catalog=catalog.with_database(new), next_id=state.next_id + 1)


def drop_database(state: MetaState, actor: Actor, name: str, *, current: int, sessions: SessionCount) -> MetaState:
    """`state` without a database and all that is in it. Raises 55006 if somebody is in it, 2BP01 if others read it."""
    found = existing_database(state.catalog, name)
    check_owner(state.catalog, actor, found)
    if found.database_id == DEFAULT_DATABASE_ID:
        message = f"cannot drop database {name} because it is required by the database system"
        raise DependentObjectsStillExist(message, hint="It is the first one, and stays. Its schemas can be dropped.")
    if found.database_id == current:
        raise SqlError("cannot drop the currently open database", sqlstate="55006")
    _check_unused(name, sessions)
    own = found.database_id
    inside = [r for r in state.catalog.relations.values() if r.database_id == own]
    lines = [
        f"{reader.noun} {reader.name} of database {state.catalog.databases[reader.database_id].name} "
        f"depends on {relation.noun} {relation.name}"
        for relation in inside
        for reader in state.catalog.dependents(relation.relation_id)
        if reader.database_id != own
    ]
    if lines:
        raise DependentObjectsStillExist(
            f"cannot drop database {name} because other objects depend on it",
            detail="\n".join(lines),
            hint="Drop the objects of other databases first.",
        )
    for relation in reversed(inside):  # readers have come after what they read
        state = without_relation(state, relation)
    catalog = state.catalog
    changed = replace(
        catalog,
        version=catalog.version + 1,
        functions={k: f for k, f in catalog.functions.items() if f.database_id != own},
        types={k: t for k, t in catalog.types.items() if t.database_id != own},
        secrets={k: s for k, s in catalog.secrets.items() if s.database_id != own},
        connections={k: c for k, c in catalog.connections.items() if c.database_id != own},
        databases={k: d for k, d in catalog.databases.items() if k != own},
        roles={k: _without_settings_in(role, own) for k, role in catalog.roles.items()},
    )
    return replace(state, catalog=changed)


def rename_database(
    state: MetaState, actor: Actor, name: str, new_name: str, retold: Retold, *, current: int, sessions: SessionCount
) -> MetaState:
    """`state` with a database under another name, also in the texts that name it."""
    found = existing_database(state.catalog, name)
    check_owner(state.catalog, actor, found)
    _check_may_create(state.catalog, actor, "rename")
    if state.catalog.database_named(new_name) is not None:
        raise SqlError(f'database "{new_name}" already exists', sqlstate="42P04")
    if found.database_id == current:
        raise FeatureNotSupported("current database cannot be renamed")
    _check_unused(name, sessions)
    return with_database_name(state, replace(found, name=new_name), retold)


def alter_database(state: MetaState, actor: Actor, name: str, options: DatabaseOptions, current: int) -> MetaState:
    """`state` with other options of a database."""
    found = existing_database(state.catalog, name)
    check_owner(state.catalog, actor, found)
    if options.allows_connections is False and found.database_id == current:
        raise SqlError("cannot disallow connections for current database", sqlstate="22023")
    return replace(state, catalog=state.catalog.with_database(replace(found, **options.given())))  # type: ignore[arg-type]


def with_database_owner(state: MetaState, actor: Actor, name: str, owner: str) -> MetaState:
    """`state` in which a database, and not what is in it, belongs to another role."""
    found = existing_database(state.catalog, name)
    check_owner(state.catalog, actor, found)
    role = _new_owner(state.catalog, actor, owner)
    _check_may_create(state.catalog, actor, "change owner of")
    acl = None if found.acl is None else with_new_owner(found.acl, found.owner, role.role_id)
    return replace(state, catalog=state.catalog.with_database(replace(found, owner=role.role_id, acl=acl)))


def _without_settings_in(role: Role, database_id: int) -> Role:
    if database_id not in role.settings_in:
        return role
    return replace(role, settings_in={k: v for k, v in role.settings_in.items() if k != database_id})


def _check_may_create(catalog: Catalog, actor: Actor, verb: str = "create") -> None:
    if not is_superuser(catalog, actor) and not catalog.roles[actor.current].create_database:
        raise InsufficientPrivilege(f"permission denied to {verb} database")


def check_owner(catalog: Catalog, actor: Actor, database: DatabaseDesc) -> None:
    """Raises InsufficientPrivilege unless the role that acts may act for the owner."""
    if not owns(catalog, actor.current, database.owner):
        raise InsufficientPrivilege(f"must be owner of database {database.name}")


def _new_owner(catalog: Catalog, actor: Actor, owner: str) -> Role:
    role = existing_role(catalog, owner)
    if not catalog.has_role(actor.current, role.role_id):
        raise InsufficientPrivilege(f'must be member of role "{owner}"')
    return role


def _check_unused(name: str, sessions: SessionCount) -> None:
    count = sessions(name)
    if count:
        others = "is 1 other session" if count == 1 else f"are {count} other sessions"
        raise SqlError(
            f'database "{name}" is being accessed by other users',
            sqlstate="55006",
            detail=f"There {others} using the database.",
        )
