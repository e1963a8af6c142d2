"""Whether a role may do something with an object, at one version of the catalog.

Every question about rights ends here. Superusers may do everything; others what the object's list gives to them, to a
role whose rights they inherit, or to everybody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from risingpy.plan.catalog.acl import (
    ALL_OF,
    NOTHING,
    PUBLIC,
    Acl,
    AclItem,
    ObjectKind,
    Privilege,
    ServerAcls,
    default_acl,
    grantable_in,
    privileges_in,
)
from risingpy.plan.catalog.databases import DEFAULT_SCHEMA, DatabaseDesc
from risingpy.plan.catalog.domains import DomainDesc
from risingpy.plan.catalog.functions import FunctionDesc, FunctionLanguage
from risingpy.plan.catalog.relations import Index, InternalTable, Relation
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID, READ_ALL_DATA_ROLE_ID, WRITE_ALL_DATA_ROLE_ID
from risingpy.plan.catalog.secrets import ConnectionDesc, SecretDesc
from risingpy.plan.catalog.sequences import NumberSequence
from risingpy.plan.catalog.snapshot import Catalog
from risingpy.plan.catalog.user_types import CompositeDesc, EnumDesc, UserType

_WRITES = Privilege.INSERT | Privilege.UPDATE | Privilege.DELETE


@dataclass(frozen=True, slots=True)
class Securable:
    """An object that rights are on: its kind and key (an id, or the name of a schema, language or type), and its list.

    `stored` is None as long as nobody has granted or revoked anything. A column is that of the relation `key`.
    """

    kind: ObjectKind
    key: int | str
    noun: str
    name: str
    owner: int
    stored: Acl | None
    column_id: int = 0

    @property
    def acl(self) -> Acl:
        """The list that counts."""
        if self.stored is not None:
            return self.stored
        if self.kind is ObjectKind.SCHEMA and self.key == DEFAULT_SCHEMA:
            return (*default_acl(self.kind, self.owner), AclItem(PUBLIC, self.owner, int(Privilege.USAGE)))
        if self.kind is ObjectKind.LANGUAGE and self.key == FunctionLanguage.PYTHON.value:
            return (AclItem(self.owner, self.owner, int(Privilege.USAGE)),)  # its functions are programs
        return default_acl(self.kind, self.owner)


def securable(catalog: Catalog, found: Relation | FunctionDesc | UserType | SecretDesc | ConnectionDesc) -> Securable:
    """An object of the catalog as what rights are on. An index has those of what it is on.

    A state table is its job's owner's alone: it has columns of what the job reads, which the job's readers do not see.
    """
    match found:
        case FunctionDesc():
            what = ObjectKind.FUNCTION, found.function_id, "function", found.name
            return Securable(*what, found.owner, found.acl)
        case EnumDesc() | DomainDesc() | CompositeDesc():
            return Securable(ObjectKind.TYPE, found.type_id, found.noun, found.name, found.owner, found.acl)
        case SecretDesc():
            return Securable(ObjectKind.SECRET, found.secret_id, found.noun, found.name, found.owner, found.acl)
        case ConnectionDesc():
            what = ObjectKind.CONNECTION, found.connection_id, found.noun, found.name
            return Securable(*what, found.owner, found.acl)
        case InternalTable():
            of = catalog.relations.get(found.job_id, found)
            return Securable(ObjectKind.RELATION, found.relation_id, "table", found.name, of.owner, None)
        case Index():
            indexed = catalog.relations.get(found.index.relation_id, found)
            return Securable(ObjectKind.RELATION, found.relation_id, found.noun, found.name, indexed.owner, indexed.acl)
        case NumberSequence():
            what = ObjectKind.SEQUENCE, found.relation_id, found.noun, found.name
            return Securable(*what, found.owner, found.acl)
        case _:
            return Securable(ObjectKind.RELATION, found.relation_id, found.noun, found.name, found.owner, found.acl)


def column_of(relation: Relation, column_id: int) -> Securable:
    """A column as what rights are on, beside those on its relation."""
    name = next((column.name for column in relation.columns if column.column_id == column_id), "")
    stored = dict(relation.column_acls).get(column_id)
    return Securable(ObjectKind.COLUMN, relation.relation_id, "column", name, relation.owner, stored, column_id)


def schema_of(catalog: Catalog, name: str) -> Securable:
    """A schema of the database as what rights are on."""
    stored = catalog.own_database.schema_acls.get(name)
    return Securable(ObjectKind.SCHEMA, name, "schema", name, catalog.schema_owner(name), stored)


def database_of(database: DatabaseDesc) -> Securable:
    """A database as what rights are on."""
    what = ObjectKind.DATABASE, database.database_id, "database", database.name
    return Securable(*what, database.owner, database.acl)


def language_of(catalog: Catalog, name: str) -> Securable:
    """A language of functions as what rights are on; all belong to the bootstrap superuser."""
    stored = catalog.own_database.language_acls.get(name)
    return Securable(ObjectKind.LANGUAGE, name, "language", name, BOOTSTRAP_ROLE_ID, stored)


def parameter_of(catalog: Catalog, name: str) -> Securable:
    """A run-time parameter as what rights are on, by its name in pg_settings, of every database."""
    stored = catalog.server_acls.parameters.get(name)
    return Securable(ObjectKind.PARAMETER, name, "parameter", name, BOOTSTRAP_ROLE_ID, stored)


def tablespace_of(catalog: Catalog, name: str) -> Securable:
    """A tablespace as what rights are on."""
    stored = catalog.server_acls.tablespaces.get(name)
    return Securable(ObjectKind.TABLESPACE, name, "tablespace", name, BOOTSTRAP_ROLE_ID, stored)


def type_of(catalog: Catalog, name: str) -> Securable:
    """A built-in type as what rights are on, by its name in pg_type."""
    stored = catalog.own_database.type_acls.get(name)
    return Securable(ObjectKind.TYPE, name, "type", name, BOOTSTRAP_ROLE_ID, stored)


def privileges_of(catalog: Catalog, role_id: int, on: Securable) -> Privilege:
    """What a role may do with an object. A column has its own list only: that of its relation comes besides."""
    role = catalog.roles.get(role_id)
    if role_id != PUBLIC and role is None:
        return NOTHING
    if role is not None and role.superuser:
        return ALL_OF[on.kind]
    roles = catalog.inherited(role_id)
    found = privileges_in(on.acl, roles)
    if on.kind in (ObjectKind.RELATION, ObjectKind.SCHEMA, ObjectKind.SEQUENCE) and READ_ALL_DATA_ROLE_ID in roles:
        found |= Privilege.USAGE if on.kind is ObjectKind.SCHEMA else Privilege.SELECT
    if on.kind in (ObjectKind.RELATION, ObjectKind.SCHEMA) and WRITE_ALL_DATA_ROLE_ID in roles:
        found |= _WRITES if on.kind is ObjectKind.RELATION else Privilege.USAGE
    return found


def grantable_by(catalog: Catalog, role_id: int, on: Securable) -> Privilege:
    """What a role may pass on."""
    role = catalog.roles.get(role_id)
    if role is not None and role.superuser:
        return ALL_OF[on.kind]
    return grantable_in(on.acl, catalog.inherited(role_id), on.owner) & ALL_OF[on.kind]


def owns(catalog: Catalog, role_id: int, owner: int) -> bool:
    """Whether a role may do what only the owner may: it is the owner, inherits its rights, or is a superuser."""
    role = catalog.roles.get(role_id)
    return role is not None and (role.superuser or owner in catalog.inherited(role_id))


def may_on_columns(
    catalog: Catalog, role_id: int, relation: Relation, wanted: Privilege, columns: frozenset[int]
) -> bool:
    """Whether a role may do one thing with these columns, or with any column if none is named."""
    on = securable(catalog, relation)
    if wanted in privileges_of(catalog, role_id, on):
        return True
    ids = {column.column_id for column in relation.columns if not column.hidden}
    if not columns:
        return any(wanted in privileges_of(catalog, role_id, column_of(relation, each)) for each in ids)
    if not columns <= ids:  # a hidden one: it has no list of its own
        return False
    return all(wanted in privileges_of(catalog, role_id, column_of(relation, each)) for each in columns)


def _with_server_acl(lists: ServerAcls, on: Securable, acl: Acl) -> ServerAcls:
    """A parameter's list goes when it says nothing any more, as in PostgreSQL."""
    if on.kind is ObjectKind.TABLESPACE:
        return replace(lists, tablespaces={**lists.tablespaces, str(on.key): acl})
    others = {name: each for name, each in lists.parameters.items() if name != on.key}
    says_nothing = set(acl) == set(default_acl(on.kind, on.owner))
    return replace(lists, parameters=others if says_nothing else {**others, str(on.key): acl})


def with_acl(catalog: Catalog, on: Securable, acl: Acl) -> Catalog:
    """The catalog, at its next version, in which an object has another list; a schema is one of the database's."""
    version = catalog.version + 1
    match on.kind:
        case ObjectKind.SCHEMA:
            here = catalog.own_database
            return catalog.with_database(replace(here, schema_acls={**here.schema_acls, str(on.key): acl}))
        case ObjectKind.LANGUAGE:
            here = catalog.own_database
            return catalog.with_database(replace(here, language_acls={**here.language_acls, str(on.key): acl}))
        case ObjectKind.TYPE if isinstance(on.key, int):
            created = replace(catalog.types[on.key], acl=acl)
            return replace(catalog, version=version, types={**catalog.types, created.type_id: created})
        case ObjectKind.TYPE:
            here = catalog.own_database
            return catalog.with_database(replace(here, type_acls={**here.type_acls, str(on.key): acl}))
        case ObjectKind.PARAMETER | ObjectKind.TABLESPACE:
            return replace(catalog, version=version, server_acls=_with_server_acl(catalog.server_acls, on, acl))
        case ObjectKind.DATABASE:
            return catalog.with_database(replace(catalog.databases[int(on.key)], acl=acl))
        case ObjectKind.FUNCTION:
            function = replace(catalog.functions[int(on.key)], acl=acl)
            return replace(catalog, version=version, functions={**catalog.functions, function.function_id: function})
        case ObjectKind.SECRET:
            secret = replace(catalog.secrets[int(on.key)], acl=acl)
            return replace(catalog, version=version, secrets={**catalog.secrets, secret.secret_id: secret})
        case ObjectKind.CONNECTION:
            connection = replace(catalog.connections[int(on.key)], acl=acl)
            return replace(
                catalog, version=version, connections={**catalog.connections, connection.connection_id: connection}
            )
        case ObjectKind.RELATION | ObjectKind.SEQUENCE:
            relation = replace(catalog.relations[int(on.key)], acl=acl)
            return replace(catalog, version=version, relations={**catalog.relations, relation.relation_id: relation})
        case ObjectKind.COLUMN:
            relation = catalog.relations[int(on.key)]
            others = tuple(each for each in relation.column_acls if each[0] != on.column_id)
            lists = (*others, (on.column_id, acl)) if acl else others
            relation = replace(relation, column_acls=tuple(sorted(lists, key=lambda each: each[0])))
            return replace(catalog, version=version, relations={**catalog.relations, relation.relation_id: relation})
        case _:
            assert_never(on.kind)
