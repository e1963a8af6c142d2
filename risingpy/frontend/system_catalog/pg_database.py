"""pg_database, and the one tablespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from risingpy.frontend.system_catalog.oids import DEFAULT_TABLESPACE, DEFAULT_TABLESPACE_OID, ROOT_USER_OID
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation

_UTF8 = 6  # PostgreSQL's number of the encoding


def _databases(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.databases.values():
        yield (
            *(each.database_id, each.name, each.owner, _UTF8, "c"),
            *(False, each.allows_connections, each.connection_limit, 0, 0, DEFAULT_TABLESPACE_OID),
            *("C.UTF-8", "C.UTF-8", None, None, acl_texts(state, each.acl), 0),
        )


def _tablespaces(state: SystemState) -> Iterable[Row]:
    acl = state.catalog.server_acls.tablespaces.get(DEFAULT_TABLESPACE)
    yield DEFAULT_TABLESPACE_OID, DEFAULT_TABLESPACE, ROOT_USER_OID, acl_texts(state, acl), None


def _rw_databases(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.databases.values():
        yield each.database_id, each.name, each.owner, acl_texts(state, each.acl)


def _settings(state: SystemState) -> Iterable[Row]:
    """Those with which sessions begin; 0 stands for every database, or every role."""
    for database in state.catalog.databases.values():
        if database.settings:
            yield database.database_id, 0, setting_texts(database.settings)
    for role in state.catalog.roles.values():
        if role.settings:
            yield 0, role.role_id, setting_texts(role.settings)
        for database_id, settings in role.settings_in.items():
            if database_id in state.catalog.databases:
                yield database_id, role.role_id, setting_texts(settings)


def setting_texts(settings: Mapping[str, str]) -> list[str] | None:
    """As PostgreSQL lists them; None if there are none."""
    return [f"{name}={value}" for name, value in settings.items()] or None


PG_DATABASE = relation(
    "pg_catalog",
    "pg_database",
    "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool,"
    "datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, datcollate text, datctype text,"
    "daticulocale text, datcollversion text, datacl _aclitem, datlastsysoid oid",
    _databases,
)
PG_DB_ROLE_SETTING = relation(
    "pg_catalog", "pg_db_role_setting", "setdatabase oid, setrole oid, setconfig _text", _settings
)
PG_TABLESPACE = relation(
    "pg_catalog",
    "pg_tablespace",
    "oid oid, spcname name, spcowner oid, spcacl _aclitem, spcoptions _text",
    _tablespaces,
)
RW_DATABASES = relation("rw_catalog", "rw_databases", "id int4, name text, owner int4, acl _text", _rw_databases)
