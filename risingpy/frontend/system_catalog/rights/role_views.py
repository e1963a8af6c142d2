"""information_schema's relations of roles, and of the database's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog.rights import owns

_OWNERS = "pg_database_owner"  # the owner of the database is a member of it


def _enabled(state: SystemState) -> Iterable[Row]:
    """The roles whose rights the session has."""
    catalog = state.catalog
    return ((role.name,) for role in catalog.roles.values() if owns(catalog, state.role_id, role.role_id))


def _applicable(state: SystemState) -> Iterator[Row]:
    """Who of the roles whose rights the session has is a member of what."""
    catalog = state.catalog
    for member in catalog.roles.values():
        if not owns(catalog, state.role_id, member.role_id):
            continue
        for each in member.member_of:
            yield member.name, catalog.roles[each.role_id].name, "YES" if each.admin else "NO"
        if member.role_id == catalog.own_database.owner:
            yield member.name, _OWNERS, "NO"


def _administrable(state: SystemState) -> Iterable[Row]:
    return (row for row in _applicable(state) if row[2] == "YES")


def _catalog_name(state: SystemState) -> Iterable[Row]:
    yield (state.catalog.database,)


_MEMBERS = "grantee name, role_name name, is_grantable text"
ENABLED_ROLES = relation("information_schema", "enabled_roles", "role_name name", _enabled)
APPLICABLE_ROLES = relation("information_schema", "applicable_roles", _MEMBERS, _applicable)
ADMINISTRABLE = relation("information_schema", "administrable_role_authorizations", _MEMBERS, _administrable)
CATALOG_NAME = relation("information_schema", "information_schema_catalog_name", "catalog_name name", _catalog_name)
