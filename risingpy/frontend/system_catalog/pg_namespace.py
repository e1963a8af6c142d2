"""pg_namespace: all schemas, including the system's."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import DEFAULT_SCHEMA
from risingpy.plan.catalog.rights import owns, privileges_of, schema_of

SYSTEM_SCHEMAS = ("pg_catalog", "information_schema", "rw_catalog")


def all_schemas(state: SystemState) -> tuple[str, ...]:
    """Names of every schema: the users' first."""
    return (*state.catalog.schemas, *SYSTEM_SCHEMAS)


def _rows(state: SystemState) -> Iterable[Row]:
    for name in all_schemas(state):
        yield schema_oid(name), name, state.catalog.schema_owner(name), _acl(state, name)


def _acl(state: SystemState, name: str) -> list[str] | None:
    acl = state.catalog.own_database.schema_acls.get(name)
    if acl is None and name == DEFAULT_SCHEMA:  # not what other schemas have
        acl = schema_of(state.catalog, name).acl
    return acl_texts(state, acl)


def _schemata(state: SystemState) -> Iterable[Row]:
    for name in all_schemas(state):
        # Those of the system may be used by everybody.
        on = schema_of(state.catalog, name) if name in state.catalog.schemas else None
        is_owner = on is None or owns(state.catalog, state.role_id, on.owner)
        if on is not None and not is_owner and not privileges_of(state.catalog, state.role_id, on):
            continue
        yield state.catalog.database, name, state.role_name(state.catalog.schema_owner(name)), None, None, None, None


def _rw_schemas(state: SystemState) -> Iterable[Row]:
    for name in all_schemas(state):
        yield schema_oid(name), name, state.catalog.schema_owner(name), _acl(state, name)


PG_NAMESPACE = relation("pg_catalog", "pg_namespace", "oid oid, nspname name, nspowner oid, nspacl _aclitem", _rows)

SCHEMATA = relation(
    "information_schema",
    "schemata",
    "catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name,"
    "default_character_set_schema name, default_character_set_name name, sql_path text",
    _schemata,
)

RW_SCHEMAS = relation("rw_catalog", "rw_schemas", "id int4, name text, owner int4, acl _text", _rw_schemas)
