"""information_schema's views of privileges: those that the session's roles have or have given, and everybody's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.frontend.system_catalog.pg_namespace import all_schemas
from risingpy.frontend.system_catalog.pg_proc import PG_PROC
from risingpy.frontend.system_catalog.rights.routines import function_of_proc
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID, NumberSequence
from risingpy.plan.catalog.acl import OF_COLUMNS, PUBLIC, AclItem, Privilege
from risingpy.plan.catalog.rights import Securable, column_of, owns, securable


def _seen(state: SystemState, on: Securable) -> Iterator[tuple[AclItem, str, str]]:
    """The items that the session may see, with the names of grantor and grantee."""
    catalog = state.catalog
    for item in on.acl:
        own = owns(catalog, state.role_id, item.grantor) or item.grantee == PUBLIC
        if own or owns(catalog, state.role_id, item.grantee):
            grantee = "PUBLIC" if item.grantee == PUBLIC else state.role_name(item.grantee)
            yield item, state.role_name(item.grantor), grantee


def _grantable(state: SystemState, on: Securable, item: AclItem, privilege: Privilege) -> str:
    owner = item.grantee != PUBLIC and owns(state.catalog, item.grantee, on.owner)
    return "YES" if owner or item.grantable & privilege else "NO"


def _privileges(item: AclItem, among: int) -> Iterable[Privilege]:
    return (privilege for privilege in Privilege if item.privileges & among & privilege)


def _tables(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        on = securable(state.catalog, found)
        for item, grantor, grantee in _seen(state, on):
            for privilege in _privileges(item, ~0):
                place = state.catalog.database, found.schema_name, found.name
                hierarchy = "YES" if privilege is Privilege.SELECT else "NO"
                yield grantor, grantee, *place, privilege.name, _grantable(state, on, item, privilege), hierarchy


def _columns(state: SystemState) -> Iterable[Row]:
    """What is granted on a table is granted on each of its columns."""
    for found in state.relations:
        known: set[Row] = set()
        for _, column in visible_columns(found):
            for on in (securable(state.catalog, found), column_of(found, column.column_id)):
                for item, grantor, grantee in _seen(state, on):
                    for privilege in _privileges(item, int(OF_COLUMNS)):
                        place = state.catalog.database, found.schema_name, found.name, column.name
                        row = (grantor, grantee, *place, privilege.name, _grantable(state, on, item, privilege))
                        if row not in known:
                            known.add(row)
                            yield row


def _routines(state: SystemState) -> Iterable[Row]:
    schemas = {schema_oid(name): name for name in all_schemas(state)}
    for oid, name, schema, *_ in PG_PROC.rows(state):
        on = function_of_proc(state, int(str(oid)), str(name))
        place = state.catalog.database, schemas[int(str(schema))], name
        specific = *place[:2], f"{name}_{oid}"
        for item, grantor, grantee in _seen(state, on):
            for privilege in _privileges(item, ~0):
                grantable = _grantable(state, on, item, privilege)
                yield grantor, grantee, *specific, *place, privilege.name, grantable


def _usages(state: SystemState) -> Iterable[Row]:
    """Sequences; and collations, which everybody may use."""
    place = state.catalog.database, "pg_catalog", "default"
    yield state.role_name(BOOTSTRAP_ROLE_ID), "PUBLIC", *place, "COLLATION", "USAGE", "NO"
    for found in state.catalog.own_relations:
        if isinstance(found, NumberSequence):
            on = securable(state.catalog, found)
            # As in PostgreSQL 15: an owner's own right is shown once somebody has granted or revoked one.
            for item, grantor, grantee in _seen(state, on) if on.stored is not None else ():
                for privilege in _privileges(item, int(Privilege.USAGE)):
                    place = state.catalog.database, found.schema_name, found.name
                    grantable = _grantable(state, on, item, privilege)
                    yield grantor, grantee, *place, "SEQUENCE", privilege.name, grantable


def _of_roles(rows: Callable[[SystemState], Iterable[Row]]) -> Callable[[SystemState], Iterable[Row]]:
    """Without what everybody has from others than the session's roles."""

    def of_roles(state: SystemState) -> Iterable[Row]:
        own = {state.role_name(each) for each in state.catalog.roles if owns(state.catalog, state.role_id, each)}
        return (row for row in rows(state) if row[1] != "PUBLIC" or row[0] in own)

    return of_roles


_TABLE = "grantor name, grantee name, table_catalog name, table_schema name, table_name name,"
_ON_TABLE = _TABLE + "privilege_type text, is_grantable text, with_hierarchy text"
_ON_COLUMN = _TABLE + "column_name name, privilege_type text, is_grantable text"
_ON_ROUTINE = (
    "grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name,"
    "routine_catalog name, routine_schema name, routine_name name, privilege_type text, is_grantable text"
)
_ON_OBJECT = (
    "grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type text,"
    "privilege_type text, is_grantable text"
)
USAGE_PRIVILEGES = relation("information_schema", "usage_privileges", _ON_OBJECT, _usages)
ROLE_USAGE_GRANTS = relation("information_schema", "role_usage_grants", _ON_OBJECT, _of_roles(_usages))
TABLE_PRIVILEGES = relation("information_schema", "table_privileges", _ON_TABLE, _tables)
ROLE_TABLE_GRANTS = relation("information_schema", "role_table_grants", _ON_TABLE, _of_roles(_tables))
COLUMN_PRIVILEGES = relation("information_schema", "column_privileges", _ON_COLUMN, _columns)
ROLE_COLUMN_GRANTS = relation("information_schema", "role_column_grants", _ON_COLUMN, _of_roles(_columns))
ROUTINE_PRIVILEGES = relation("information_schema", "routine_privileges", _ON_ROUTINE, _routines)
ROLE_ROUTINE_GRANTS = relation("information_schema", "role_routine_grants", _ON_ROUTINE, _of_roles(_routines))
