"""GRANT, REVOKE and ALTER DEFAULT PRIVILEGES, as functions from catalog to catalog; the rules are PostgreSQL's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from risingpy.errors import InsufficientPrivilege
from risingpy.plan.catalog import Catalog, ConnectionDesc, FunctionDesc, Relation, SecretDesc
from risingpy.plan.catalog.acl import (
    NOTHING,
    OF_COLUMNS,
    Acl,
    AclItem,
    DefaultAcl,
    ObjectKind,
    Privilege,
    default_acl,
    grantable_in,
    granted,
    revoked,
    without_role,
)
from risingpy.plan.catalog.rights import (
    Securable,
    column_of,
    database_of,
    language_of,
    owns,
    parameter_of,
    privileges_of,
    schema_of,
    securable,
    tablespace_of,
    type_of,
    with_acl,
)
from risingpy.types.type_entries import TYPES_BY_NAME

SHARED = (ObjectKind.DATABASE, ObjectKind.TABLESPACE, ObjectKind.PARAMETER)
"""What is the same in every database."""
NOT_GRANTED, NOT_REVOKED = "01007", "01006"


@dataclass(frozen=True, slots=True)
class Given:
    """What a GRANT or REVOKE says. `grantees` are ids of roles, or PUBLIC.

    `option`: WITH GRANT OPTION, or GRANT OPTION FOR. `is_all`: ALL PRIVILEGES, without a word of what is left out.
    """

    is_grant: bool
    privileges: Privilege
    grantees: tuple[int, ...]
    is_all: bool = False
    option: bool = False
    cascade: bool = False


def given_on(catalog: Catalog, actor: int, on: Securable, given: Given) -> tuple[Catalog, str | None]:
    """(the catalog after GRANT or REVOKE on an object, a warning). Raises InsufficientPrivilege.

    What is revoked on a relation is revoked on its columns.
    """
    grantor, options = _grantor(catalog, actor, on, given.privileges)
    if not options and not _has_any(catalog, grantor, on):
        raise InsufficientPrivilege(f"permission denied for {_shown(catalog, on)}")
    privileges = given.privileges & options
    warning = _warning(catalog, on, given, privileges)
    acl = with_given(on.acl, replace(given, privileges=privileges), grantor, on.owner)
    if acl != on.acl:
        catalog = with_acl(catalog, on, acl)
    if on.kind is ObjectKind.RELATION and not given.is_grant and given.privileges & OF_COLUMNS:
        _check_revokes_on_columns(catalog, actor, on, given.privileges & OF_COLUMNS)
        catalog = _revoked_on_columns(catalog, on, replace(given, privileges=privileges & OF_COLUMNS), grantor)
    return catalog, warning


def with_given(acl: Acl, given: Given, grantor: int, owner: int) -> Acl:
    """A list after GRANT or REVOKE by `grantor`."""
    for grantee in given.grantees:
        plain = given.privileges if given.is_grant or not given.option else NOTHING
        options = given.privileges if not given.is_grant or given.option else NOTHING
        item = AclItem(grantee, grantor, int(plain), int(options))
        acl = granted(acl, item, owner) if given.is_grant else revoked(acl, item, owner, cascade=given.cascade)
    return acl


def _check_revokes_on_columns(catalog: Catalog, actor: int, on: Securable, privileges: Privilege) -> None:
    """Raises InsufficientPrivilege, as PostgreSQL does, if there is a column with which the actor may do nothing."""
    for each in catalog.relations[int(on.key)].columns:
        column = column_of(catalog.relations[int(on.key)], each.column_id)
        grantor, options = _grantor(catalog, actor, column, privileges)
        if not each.hidden and not options and not _has_any(catalog, grantor, column):
            raise InsufficientPrivilege(f"permission denied for {_shown(catalog, column)}")


def _revoked_on_columns(catalog: Catalog, on: Securable, given: Given, grantor: int) -> Catalog:
    relation = catalog.relations[int(on.key)]
    for column_id, _ in relation.column_acls:
        column = column_of(catalog.relations[int(on.key)], column_id)
        acl = with_given(column.acl, given, grantor, column.owner)
        if acl != column.acl:
            catalog = with_acl(catalog, column, acl)
    return catalog


def _grantor(catalog: Catalog, actor: int, on: Securable, wanted: Privilege) -> tuple[int, Privilege]:
    """In whose name the actor grants, and what that role may pass on: the owner, or who may pass on most of it."""
    if owns(catalog, actor, on.owner):
        return on.owner, wanted
    best, options = actor, NOTHING
    for role in sorted(catalog.inherited(actor), key=lambda each: (each != actor, each)):
        found = grantable_in(_whole_acl(catalog, on), (role,), on.owner) & wanted
        if found.bit_count() > options.bit_count():
            best, options = role, found
    return best, options


def _whole_acl(catalog: Catalog, on: Securable) -> Acl:
    """The list on an object; a column's has that of its relation, too."""
    if on.kind is not ObjectKind.COLUMN:
        return on.acl
    return (*on.acl, *securable(catalog, catalog.relations[int(on.key)]).acl)


def _has_any(catalog: Catalog, role: int, on: Securable) -> bool:
    found = privileges_of(catalog, role, on)
    if on.kind is ObjectKind.COLUMN:
        found |= privileges_of(catalog, role, securable(catalog, catalog.relations[int(on.key)])) & OF_COLUMNS
    return bool(found) or bool(grantable_in(_whole_acl(catalog, on), catalog.inherited(role), on.owner))


def _warning(catalog: Catalog, on: Securable, given: Given, left: Privilege) -> str | None:
    name = f'"{on.name}"'
    if on.kind is ObjectKind.COLUMN:
        name = f'column {name} of relation "{catalog.relations[int(on.key)].name}"'
    done = "were granted" if given.is_grant else "could be revoked"
    if not left:
        return f"no privileges {done} for {name}"
    if left != given.privileges and not given.is_all:
        return f"not all privileges {done} for {name}"
    return None


def _shown(catalog: Catalog, on: Securable) -> str:
    if on.kind is ObjectKind.COLUMN:
        return f'column "{on.name}" of relation "{catalog.relations[int(on.key)].name}"'
    return f"{on.noun} {on.name}"


# -- what new objects get -----------------------------------------------------------------------------------------


def with_default(catalog: Catalog, role: int, kind: ObjectKind, schema: str | None, given: Given) -> Catalog:
    """The catalog after ALTER DEFAULT PRIVILEGES."""
    here, place = catalog.own_database, (role, kind.value, schema)
    places = [each for each in here.default_acls if (each.role, each.kind, each.schema) == place]
    usual = default_acl(kind, role) if schema is None else ()
    before = places[0].acl if places else usual
    acl = tuple(sorted(with_given(before, given, role, role), key=lambda item: (item.grantee, item.grantor)))
    others = tuple(each for each in here.default_acls if each not in places)
    kept = acl if set(acl) != set(usual) else None
    lists = others if kept is None else (*others, DefaultAcl(role, kind.value, kept, schema))
    return catalog.with_database(replace(here, default_acls=lists))


def acl_of_new(catalog: Catalog, role: int, kind: ObjectKind, schema: str | None) -> Acl | None:
    """The list that a new object of a role gets; None for what such objects have anyway."""
    known = {(each.role, each.kind, each.schema): each.acl for each in catalog.own_database.default_acls}
    everywhere = known.get((role, kind.value, None))
    here = () if schema is None else known.get((role, kind.value, schema), ())
    if everywhere is None and not here:
        return None
    acl = default_acl(kind, role) if everywhere is None else everywhere
    for item in here:
        acl = granted(acl, item, role)
    return acl


# -- whose rights depend on a role --------------------------------------------------------------------------------


def securables(catalog: Catalog) -> Iterator[Securable]:
    """Each object of the database, and of all databases (`SHARED`), with rights that somebody granted or revoked."""
    found: list[Relation | FunctionDesc] = [*catalog.own_relations, *catalog.own_functions]
    hidden: list[SecretDesc | ConnectionDesc] = [*catalog.own_secrets, *catalog.own_connections]
    everything = [securable(catalog, each) for each in found]
    everything += [securable(catalog, each) for each in (*hidden, *catalog.own_types)]
    everything += [schema_of(catalog, name) for name in catalog.schemas]
    everything += [language_of(catalog, name) for name in catalog.own_database.language_acls]
    everything += [type_of(catalog, name) for name in catalog.own_database.type_acls]
    everything += [database_of(each) for each in catalog.databases.values()]
    everything += [tablespace_of(catalog, name) for name in catalog.server_acls.tablespaces]
    everything += [parameter_of(catalog, name) for name in catalog.server_acls.parameters]
    yield from (each for each in everything if each.stored is not None)
    for relation in catalog.own_relations:
        ids = {column.column_id for column in relation.columns}
        yield from (column_of(relation, column_id) for column_id, _ in relation.column_acls if column_id in ids)


def without_grants_of(catalog: Catalog, roles: Collection[int]) -> Catalog:
    """The catalog without what any of the roles was given, and without their default privileges: DROP OWNED."""
    for on in list(securables(catalog)):
        acl = on.acl
        for role in roles:
            acl = without_role(acl, role, on.owner)
        if acl != on.acl:
            catalog = with_acl(catalog, on, acl)
    kept = []
    here = catalog.own_database
    for default in here.default_acls:
        if default.role not in roles:
            items = tuple(each for each in default.acl if each.grantee not in roles)
            kept.append(replace(default, acl=items))
    if tuple(kept) == here.default_acls:
        return catalog
    return catalog.with_database(replace(here, default_acls=tuple(kept)))


def privileges_needing(catalog: Catalog, role: int) -> Iterator[str]:
    """What keeps a role from being dropped because it has rights, or has given some, as errors list it."""
    for on in securables(catalog):
        if on.owner != role and _names(on.acl, role):
            yield f"privileges for {_described(catalog, on)}"
    for default in catalog.own_database.default_acls:
        owner = catalog.roles.get(default.role)
        shown = f"default privileges on new {_PLURALS[default.kind]} belonging to role {owner.name if owner else '?'}"
        shown += "" if default.schema is None else f" in schema {default.schema}"
        if default.role == role:
            yield f"owner of {shown}"
        elif _names(default.acl, role):
            yield f"privileges for {shown}"
    for database_id in catalog.databases.keys() - {catalog.database_id}:
        seen = catalog.seen_from(database_id)
        others = [on for on in securables(seen) if on.kind not in SHARED and on.owner != role]
        count = sum(_names(on.acl, role) for on in others)
        count += sum(each.role == role or _names(each.acl, role) for each in seen.own_database.default_acls)
        if count:
            yield f"{count} privilege{'s' if count > 1 else ''} in database {seen.database}"


_PLURALS = {
    ObjectKind.RELATION.value: "relations",
    ObjectKind.FUNCTION.value: "functions",
    ObjectKind.SCHEMA.value: "schemas",
    ObjectKind.SECRET.value: "secrets",
    ObjectKind.CONNECTION.value: "connections",
    ObjectKind.TYPE.value: "types",
    ObjectKind.SEQUENCE.value: "sequences",
}


def _names(acl: Acl, role: int) -> bool:
    return any(role in (item.grantee, item.grantor) for item in acl)


def _described(catalog: Catalog, on: Securable) -> str:
    if on.kind is ObjectKind.COLUMN:
        relation: Relation = catalog.relations[int(on.key)]
        return f"column {on.name} of {relation.noun} {relation.name}"
    if on.kind is ObjectKind.FUNCTION:
        return f"function {catalog.functions[int(on.key)].shown}"
    if on.kind is ObjectKind.TYPE and isinstance(on.key, str):
        return f"type {TYPES_BY_NAME[on.key].display}"
    return f"{on.noun} {on.name}"


# -- names of privileges ------------------------------------------------------------------------------------------

NAMES: Mapping[str, Privilege] = MappingProxyType(
    {**{each.shown: each for each in Privilege}, "TEMP": Privilege.TEMPORARY}
)
"""By the words of SQL."""
