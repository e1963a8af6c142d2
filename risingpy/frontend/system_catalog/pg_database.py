"""pg_database, roles and tablespaces: one database, one user (root), one place."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import DATABASE_OID, DEFAULT_TABLESPACE_OID, ROOT_USER_OID
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation

_UTF8 = 6  # PostgreSQL's number of the encoding


def _databases(state: SystemState) -> Iterable[Row]:
    yield (
        *(DATABASE_OID, state.catalog.database, ROOT_USER_OID, _UTF8, "c", "C.UTF-8", "C.UTF-8", None, None),
        *(False, True, -1, 0, 0, 0, DEFAULT_TABLESPACE_OID, None),
    )


def _roles(_state: SystemState) -> Iterable[Row]:
    yield ROOT_USER_OID, "root", True, True, True, True, True, False, -1, "********", None, True, None


def _users(_state: SystemState) -> Iterable[Row]:
    yield "root", ROOT_USER_OID, True, True, False, True, "********", None, None


def _tablespaces(_state: SystemState) -> Iterable[Row]:
    yield DEFAULT_TABLESPACE_OID, "pg_default", ROOT_USER_OID, None, None


def _rw_databases(state: SystemState) -> Iterable[Row]:
    yield DATABASE_OID, state.catalog.database, ROOT_USER_OID, None


def _rw_users(_state: SystemState) -> Iterable[Row]:
    yield ROOT_USER_OID, "root", True, True, True, True, True


PG_DATABASE = relation(
    "pg_catalog",
    "pg_database",
    "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datcollate text, datctype text,"
    "daticulocale text, datcollversion text, datistemplate bool, datallowconn bool, datconnlimit int4,"
    "datlastsysoid oid, datfrozenxid oid, datminmxid oid, dattablespace oid, datacl _text",
    _databases,
)
PG_ROLES = relation(
    "pg_catalog",
    "pg_roles",
    "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool,"
    "rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, rolbypassrls bool,"
    "rolconfig _text",
    _roles,
)
_USER_COLUMNS = (
    "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text,"
    "valuntil timestamptz, useconfig _text"
)
PG_USER = relation("pg_catalog", "pg_user", _USER_COLUMNS, _users)
PG_SHADOW = relation("pg_catalog", "pg_shadow", _USER_COLUMNS, _users)
PG_AUTH_MEMBERS = relation(
    "pg_catalog",
    "pg_auth_members",
    "oid oid, roleid oid, member oid, grantor oid, admin_option bool, inherit_option bool, set_option bool",
)
PG_TABLESPACE = relation(
    "pg_catalog", "pg_tablespace", "oid oid, spcname name, spcowner oid, spcacl _text, spcoptions _text", _tablespaces
)
RW_DATABASES = relation("rw_catalog", "rw_databases", "id int4, name text, owner int4, acl _text", _rw_databases)
RW_USERS = relation(
    "rw_catalog",
    "rw_users",
    "id int4, name text, is_super bool, create_db bool, create_user bool, can_login bool, is_admin bool",
    _rw_users,
)
