"""The settings with which sessions of a role, of a database, or of a role in a database begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from risingpy.errors import InsufficientPrivilege
from risingpy.meta.schema.databases import check_owner, existing_database
from risingpy.meta.schema.roles import Actor, existing_role, is_superuser, may_create_roles, with_roles
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, Role


@dataclass(frozen=True, slots=True)
class SettingChange:
    """SET name, or RESET: `value` None; `name` None is ALL."""

    name: str | None
    value: str | None

    def of(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The settings after it."""
        if self.name is None:
            return {}
        others = {name: value for name, value in settings.items() if name != self.name}
        return others if self.value is None else {**others, self.name: self.value}


def alter_settings(
    state: MetaState, actor: Actor, role_name: str | None, database_name: str | None, change: SettingChange
) -> MetaState:
    """`state` with a change to a role's settings, in a database or in all, or to those of a database."""
    catalog = state.catalog
    database = None if database_name is None else existing_database(catalog, database_name)
    if role_name is None:
        assert database is not None
        check_owner(catalog, actor, database)
        changed = replace(database, settings=change.of(database.settings))
        return replace(state, catalog=catalog.with_database(changed))
    role = existing_role(catalog, role_name)
    _check_may_alter(catalog, actor, role)
    if database is None:
        return with_roles(state, [replace(role, settings=change.of(role.settings))])
    own = database.database_id
    within = {**role.settings_in, own: change.of(role.settings_in.get(own, {}))}
    return with_roles(state, [replace(role, settings_in={k: v for k, v in within.items() if v})])


def first_settings(catalog: Catalog, role_id: int) -> Mapping[str, str]:
    """What a session of a role begins with in the database that sees the catalog: the narrowest setting counts."""
    role = catalog.roles.get(role_id)
    own = catalog.own_database.settings
    return own if role is None else {**own, **role.settings, **role.settings_in.get(catalog.database_id, {})}


def _check_may_alter(catalog: Catalog, actor: Actor, role: Role) -> None:
    if role.superuser and not is_superuser(catalog, actor):
        raise InsufficientPrivilege("must be superuser to alter superusers")
    if role.role_id != actor.current and not may_create_roles(catalog, actor):
        raise InsufficientPrivilege("permission denied")
