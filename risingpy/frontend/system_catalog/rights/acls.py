"""Lists of rights as PostgreSQL's catalogs have them: arrays of aclitem, `grantee=letters/grantor`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import (
    DEFAULT_TABLESPACE,
    DEFAULT_TABLESPACE_OID,
    LANGUAGE_OIDS,
    parameter_oid,
    relation_oid,
    schema_oid,
    system_relation_oid,
)
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import Relation
from risingpy.plan.catalog.acl import ALL_OF, LETTERS, LETTERS_OF_KINDS, PUBLIC, Acl, AclItem, ObjectKind, Privilege
from risingpy.plan.catalog.rights import (
    Securable,
    column_of,
    database_of,
    language_of,
    parameter_of,
    schema_of,
    securable,
    tablespace_of,
    type_of,
)
from risingpy.plan.catalog.roles import READ_ALL_DATA_ROLE_ID, WRITE_ALL_DATA_ROLE_ID
from risingpy.types.type_entries import TYPES, TYPES_BY_OID, TypeEntry

GRANTABLE = 16  # as in PostgreSQL, so many bits further left stands the right to grant a privilege
_DEFAULT_ACL_BASE = 11 << 27
_READABLE = {
    ObjectKind.RELATION: int(Privilege.SELECT),
    ObjectKind.SCHEMA: int(Privilege.USAGE),
    ObjectKind.SEQUENCE: int(Privilege.SELECT),
}
_WRITABLE = {
    ObjectKind.RELATION: int(Privilege.INSERT | Privilege.UPDATE | Privilege.DELETE),
    ObjectKind.SCHEMA: int(Privilege.USAGE),
}
_SUPERUSERS_ONLY = ("pg_authid", "pg_shadow", "rw_definitions")


def acl_texts(state: SystemState, acl: Acl | None) -> list[str] | None:
    """The value of relacl and its like; None as long as nobody has granted or revoked anything."""
    return None if acl is None else [item_text(state, item) for item in acl]


def stored_acl(state: SystemState, found: Relation) -> list[str] | None:
    """The list of a relation: of an index that of what it is on, and none of a state table, which is its job's."""
    return acl_texts(state, securable(state.catalog, found).stored)


def item_text(state: SystemState, item: AclItem) -> str:
    """One aclitem: `alice=r*w/root`."""
    letters = "".join(
        letter + "*" * bool(item.grantable & privilege)
        for privilege, letter in LETTERS.items()
        if item.privileges & privilege
    )
    grantee = "" if item.grantee == PUBLIC else _name(state, item.grantee)
    return f"{grantee}={letters}/{_name(state, item.grantor)}"


def _name(state: SystemState, role_id: int) -> str:
    role = state.catalog.roles.get(role_id)
    return str(role_id) if role is None else quote_name(role.name)


def _default_acls(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.own_database.default_acls:
        key = f"{each.role} {each.kind} {each.schema}"
        oid = _DEFAULT_ACL_BASE + zlib.crc32(key.encode()) % (1 << 27)
        namespace = 0 if each.schema is None else schema_oid(each.schema)
        letter = LETTERS_OF_KINDS.get(ObjectKind(each.kind), each.kind)
        yield oid, each.role, namespace, letter, acl_texts(state, each.acl)


PG_DEFAULT_ACL = relation(
    "pg_catalog",
    "pg_default_acl",
    "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl _aclitem",
    _default_acls,
)


def _parameter_acls(state: SystemState) -> Iterable[Row]:
    for name, acl in state.catalog.server_acls.parameters.items():
        yield parameter_oid(name), name, acl_texts(state, acl)


PG_PARAMETER_ACL = relation("pg_catalog", "pg_parameter_acl", "oid oid, parname text, paracl _aclitem", _parameter_acls)

# -- what has_table_privilege and its like look up ---------------------------------------------------------------


_KINDS_OF_NAMES = {ObjectKind.LANGUAGE: "language", ObjectKind.TYPE: "type"}


def _of(on: Securable, oid: int, number: int = 0) -> Iterable[Row]:
    """(kind, object, column, grantee, bits) of each item; the right to grant is the owner's in any case."""
    kind = _KINDS_OF_NAMES.get(on.kind, on.kind.value)
    for item in on.acl:
        yield kind, oid, number, item.grantee, item.privileges | item.grantable << GRANTABLE
    yield kind, oid, number, on.owner, int(ALL_OF[on.kind]) << GRANTABLE
    if on.kind in _READABLE:
        yield kind, oid, number, READ_ALL_DATA_ROLE_ID, _READABLE[on.kind]
    if on.kind in _WRITABLE:
        yield kind, oid, number, WRITE_ALL_DATA_ROLE_ID, _WRITABLE[on.kind]


def _acls(state: SystemState) -> Iterable[Row]:
    catalog = state.catalog
    for found in catalog.own_relations:
        yield from _of(securable(catalog, found), relation_oid(found))
        lists = dict(found.column_acls)
        for number, column in visible_columns(found) if lists else ():
            if column.column_id in lists:
                yield from _of(column_of(found, column.column_id), relation_oid(found), number)
    for function in catalog.own_functions:
        yield from _of(securable(catalog, function), function.function_id)
    for name in catalog.schemas:
        yield from _of(schema_of(catalog, name), schema_oid(name))
    for name, oid in LANGUAGE_OIDS.items():
        yield from _of(language_of(catalog, name), oid)
    for entry in TYPES:
        yield from _of(type_of(catalog, _element_name(entry)), entry.oid)
    for made in catalog.own_types:
        yield from (row for oid in (made.type_id, made.array_id) for row in _of(securable(catalog, made), oid))
    for database in catalog.databases.values():
        yield from _of(database_of(database), database.database_id)
    for system in state.system_relations:
        oid = system_relation_oid(system.schema, system.name)
        bits = 0 if system.name in _SUPERUSERS_ONLY else int(Privilege.SELECT)
        yield ObjectKind.RELATION.value, oid, 0, PUBLIC, bits
    for name in ("pg_catalog", "information_schema", "rw_catalog"):
        yield ObjectKind.SCHEMA.value, schema_oid(name), 0, PUBLIC, int(Privilege.USAGE)
    yield from _of(tablespace_of(catalog, DEFAULT_TABLESPACE), DEFAULT_TABLESPACE_OID)
    for name in catalog.server_acls.parameters:
        yield from _of(parameter_of(catalog, name), parameter_oid(name))


def _element_name(entry: TypeEntry) -> str:
    """The type whose rights a type has: an array's are those of its elements."""
    return TYPES_BY_OID[entry.element_oid].name if entry.category == "A" and entry.element_oid else entry.name


def _memberships(state: SystemState) -> Iterable[Row]:
    """(member, role, bits): 1 for a role whose rights it inherits, 2 for one that it may act as, 4 for an admin."""
    roles = state.catalog.roles
    yield PUBLIC, PUBLIC, 1
    for member in roles.values():
        yield member.role_id, PUBLIC, 1
        inherited = state.catalog.inherited(member.role_id)
        for role_id in roles:
            if member.superuser or state.catalog.has_role(member.role_id, role_id):
                admin = any(each.role_id == role_id and each.admin for each in member.member_of)
                rights = 1 if member.superuser or role_id in inherited else 0
                yield member.role_id, role_id, rights | 2 | (4 if admin or member.superuser else 0)


def _superusers(state: SystemState) -> Iterable[Row]:
    return ((role.role_id,) for role in state.catalog.roles.values() if role.superuser)


def _attributes(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        yield from ((relation_oid(found), number, column.name) for number, column in visible_columns(found))
    for system in state.system_relations:
        oid = system_relation_oid(system.schema, system.name)
        yield from ((oid, number, column.name) for number, column in enumerate(system.columns, start=1))


def _databases(state: SystemState) -> Iterable[Row]:
    return ((each.database_id, each.name) for each in state.catalog.databases.values())


ACLS = relation(
    "risingpy", "rp_acls", "rp_kind text, rp_object oid, rp_column int2, rp_grantee oid, rp_bits int8", _acls
)
MEMBERSHIPS = relation("risingpy", "rp_memberships", "rp_member oid, rp_of oid, rp_how int4", _memberships)
SUPERUSERS = relation("risingpy", "rp_superusers", "rp_super oid", _superusers)
ATTRIBUTES = relation("risingpy", "rp_attributes", "rp_table oid, rp_attnum int2, rp_attname text", _attributes)
DATABASES = relation("risingpy", "rp_databases", "rp_database oid, rp_datname text", _databases)
