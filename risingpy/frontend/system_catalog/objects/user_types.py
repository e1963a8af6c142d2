"""The rows of types that users have created: in pg_type, pg_enum, and where types are looked up by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.objects import composites, domains
from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.type_functions import function_oids
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import ColumnDesc, CompositeDesc, DomainDesc, EnumDesc, UserType
from risingpy.types import SqlType, TypeKind
from risingpy.types.type_entries import TYPES_BY_OID


def is_visible(state: SystemState, found: UserType) -> bool:
    """Whether the type's bare name finds it: no type of the system, and none earlier on the search path, has it."""
    is_system = any(entry.name == found.name for entry in TYPES_BY_OID.values())
    return not is_system and state.catalog.find_type(found.name, None, state.search_path) == found


def display_name(state: SystemState, found: UserType) -> str:
    """The name as format_type prints it: qualified only if it must be."""
    name = quote_name(found.name)
    return name if is_visible(state, found) else f"{quote_name(found.schema_name)}.{name}"


def type_texts(state: SystemState) -> Iterable[Row]:
    """(OID, what format_type prints) of each, and of its arrays."""
    for found in state.catalog.types.values():
        shown = display_name(state, found)
        yield found.type_id, shown
        yield found.array_id, f"{shown}[]"


def type_spellings(state: SystemState) -> Iterable[Row]:
    """(Key, OID) of each, and of its arrays: with the schema, and without it if that is enough."""
    for found in state.catalog.own_types:
        for name, oid in ((found.name, found.type_id), (found.array_name, found.array_id)):
            yield f"{found.schema_name}.{name}", oid
            if is_visible(state, found):
                yield name, oid


def pg_type_rows(state: SystemState) -> Iterator[Row]:
    """Each, and its arrays."""
    for found in state.catalog.own_types:
        if isinstance(found, DomainDesc):
            yield from domains.pg_type_rows(state, found)
            continue
        if isinstance(found, CompositeDesc):
            yield from composites.pg_type_rows(state, found)
            continue
        place = schema_oid(found.schema_name), found.owner
        yield (
            *(found.type_id, found.name, *place, 4, True, "e", "E", False, True, ",", 0, 0, 0, found.array_id),
            *(*function_oids("anyenum"), 0, 0, 0, "i", "p", False, 0, -1, 0, 0),
            *(None, None, acl_texts(state, found.acl)),
        )
        yield (
            *(found.array_id, found.array_name, *place, -1, False, "b", "A", False, True, ",", 0, 0, found.type_id, 0),
            *(*function_oids("array"), 0, 0, 0, "i", "x", False, 0, -1, 0, 0, None, None, None),
        )


def udt(state: SystemState, type_: SqlType) -> tuple[str, str]:
    """The schema and the name in pg_type of any type, as information_schema has them."""
    found = state.catalog.types.get(type_.leaf.oid)
    if found is None:
        return "pg_catalog", TYPES_BY_OID[type_.oid].name
    return found.schema_name, found.array_name if type_.kind is TypeKind.ARRAY else found.name


def column_udt(state: SystemState, column: ColumnDesc) -> tuple[str, str]:
    """As `udt`, of a column: of a domain that of the type below, of an array of a domain its own."""
    domain = column.domain
    if domain is None or not domain.dimensions(column.type):
        return udt(state, column.shown_type)
    return domain.schema_name, f"_{domain.name}"


def _enums(state: SystemState) -> Iterable[Row]:
    for found in state.catalog.own_types:
        for order, label in enumerate(found.labels if isinstance(found, EnumDesc) else (), 1):
            yield label.oid, found.type_id, float(order), label.text


PG_ENUM = relation("pg_catalog", "pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name", _enums)
