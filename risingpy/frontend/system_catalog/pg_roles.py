"""Users, groups and memberships. Their secrets are in pg_authid and pg_shadow, which are for superusers."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from risingpy.frontend.system_catalog.pg_database import setting_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import Role

_MASK = "********"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBERSHIP_BASE = 10 << 27


def _until(role: Role) -> datetime | None:
    return None if role.valid_until is None else _EPOCH + timedelta(microseconds=role.valid_until)


def _attributes(role: Role) -> Row:
    return role.superuser, role.inherit, role.create_role, role.create_database, role.login, role.replication


def _roles(state: SystemState) -> Iterable[Row]:
    for role in state.catalog.roles.values():
        limits = role.connection_limit, _MASK, _until(role), role.bypass_rls, setting_texts(role.settings)
        yield role.name, *_attributes(role), *limits, role.role_id


def _authid(state: SystemState) -> Iterable[Row]:
    for role in state.catalog.roles.values():
        limits = role.bypass_rls, role.connection_limit, role.secret, _until(role)
        yield role.role_id, role.name, *_attributes(role), *limits


def _user(role: Role, secret: str | None) -> Row:
    switches = role.create_database, role.superuser, role.replication, role.bypass_rls
    return role.name, role.role_id, *switches, secret, _until(role), setting_texts(role.settings)


def _users(state: SystemState) -> Iterable[Row]:
    return (_user(role, _MASK) for role in state.catalog.roles.values() if role.login)


def _shadow(state: SystemState) -> Iterable[Row]:
    return (_user(role, role.secret) for role in state.catalog.roles.values() if role.login)


def _groups(state: SystemState) -> Iterable[Row]:
    roles = state.catalog.roles.values()
    for group in roles:
        if not group.login:
            inside = [r.role_id for r in roles if any(m.role_id == group.role_id for m in r.member_of)]
            yield group.name, group.role_id, inside


def _members(state: SystemState) -> Iterable[Row]:
    for role in state.catalog.roles.values():
        for membership in role.member_of:
            pair = f"{membership.role_id} {role.role_id}".encode()
            oid = _MEMBERSHIP_BASE + zlib.crc32(pair) % (1 << 27)
            yield oid, membership.role_id, role.role_id, membership.grantor, membership.admin, role.inherit, True


def _rw_users(state: SystemState) -> Iterable[Row]:
    for role in state.catalog.roles.values():
        if not role.is_predefined:
            switches = role.superuser, role.create_database, role.create_role, role.login, role.superuser
            yield role.role_id, role.name, *switches


def _role_names(state: SystemState) -> Iterable[Row]:
    return ((role.role_id, quote_name(role.name), role.name) for role in state.catalog.roles.values())


_SWITCHES = (
    "rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolreplication bool,"
)
PG_ROLES = relation(
    "pg_catalog",
    "pg_roles",
    f"rolname name, {_SWITCHES} rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz,"
    "rolbypassrls bool, rolconfig _text, oid oid",
    _roles,
)
PG_AUTHID = relation(
    "pg_catalog",
    "pg_authid",
    f"oid oid, rolname name, {_SWITCHES} rolbypassrls bool, rolconnlimit int4, rolpassword text,"
    "rolvaliduntil timestamptz",
    _authid,
)
_USER_COLUMNS = (
    "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text,"
    "valuntil timestamptz, useconfig _text"
)
PG_USER = relation("pg_catalog", "pg_user", _USER_COLUMNS, _users)
PG_SHADOW = relation("pg_catalog", "pg_shadow", _USER_COLUMNS, _shadow)
PG_GROUP = relation("pg_catalog", "pg_group", "groname name, grosysid oid, grolist _oid", _groups)
PG_AUTH_MEMBERS = relation(
    "pg_catalog",
    "pg_auth_members",
    "oid oid, roleid oid, member oid, grantor oid, admin_option bool, inherit_option bool, set_option bool",
    _members,
)
RW_USERS = relation(
    "rw_catalog",
    "rw_users",
    "id int4, name text, is_super bool, create_db bool, create_user bool, can_login bool, is_admin bool",
    _rw_users,
)
ROLE_NAMES = relation("risingpy", "rp_roles", "rp_oid oid, rp_name text, rp_role name", _role_names)
FOR_SUPERUSERS = frozenset(("pg_authid", "pg_shadow", "rw_definitions"))
"""System relations with what nobody else may see."""
