"""pg_type and what belongs to types: those of columns and results, their arrays, and PostgreSQL's pseudo-types."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.objects.operator_classes import operator_class
from risingpy.frontend.system_catalog.objects.user_types import pg_type_rows
from risingpy.frontend.system_catalog.oids import DEFAULT_COLLATION_OID, ROOT_USER_OID, schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.type_functions import function_oids
from risingpy.types.families import FAMILIES, MULTIRANGE_OF
from risingpy.types.ranges.elements import ELEMENTS
from risingpy.types.type_entries import TYPES, VALUE_TYPES

_PREFERRED = ("bool", "float8", "inet", "interval", "oid", "text", "timestamptz", "varbit")
_SHARED = {"r": "range", "m": "multirange"}  # by typtype: types whose functions are those of all of that kind
_TEXTUAL = ("text", "varchar", "bpchar", "name")


def _rows(state: SystemState) -> Iterable[Row]:
    acls = state.catalog.own_database.type_acls
    for entry in TYPES:
        is_array = bool(entry.element_oid) and not entry.array_oid  # a vector has an array of its own
        collation = DEFAULT_COLLATION_OID if entry.name.lstrip("_") in _TEXTUAL else 0
        by_value = entry.length in (1, 2, 4, 8)
        yield (
            *(entry.oid, entry.name, schema_oid("pg_catalog"), ROOT_USER_OID, entry.length, by_value, entry.kind),
            *(entry.category, entry.name in _PREFERRED, True, ",", 0, 0, entry.element_oid, entry.array_oid),
            *(*function_oids("array" if is_array else _SHARED.get(entry.kind, entry.name)), 0, 0, 0),
            *("i", "p" if entry.length > 0 else "m" if entry.name == "numeric" else "x", False, 0, -1, 0, collation),
            *(None, None, acl_texts(state, acls.get(entry.name))),
        )
    yield from pg_type_rows(state)


PG_TYPE = relation(
    "pg_catalog",
    "pg_type",
    "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, typcategory char,"
    "typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, typelem oid,"
    "typarray oid, typinput regproc, typoutput regproc, typreceive regproc, typsend regproc, typmodin regproc,"
    "typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, typbasetype oid,"
    "typtypmod int4, typndims int4, typcollation oid, typdefaultbin pg_node_tree, typdefault text, typacl _aclitem",
    _rows,
)


def _ranges(_state: SystemState) -> Iterable[Row]:
    for kind, element in ELEMENTS.items():
        several = FAMILIES[MULTIRANGE_OF[kind]].oid
        yield FAMILIES[kind].oid, element.type.oid, several, 0, operator_class(element.type), 0, 0


PG_RANGE = relation(  # there are no functions beside those of the operators
    "pg_catalog",
    "pg_range",
    "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, "
    "rngcanonical regproc, rngsubdiff regproc",
    _ranges,
)


def _collations(_state: SystemState) -> Iterable[Row]:
    yield DEFAULT_COLLATION_OID, "default", schema_oid("pg_catalog"), ROOT_USER_OID, "d", True, -1, "", "", None, None


PG_COLLATION = relation(
    "pg_catalog",
    "pg_collation",
    "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool,"
    "collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
    _collations,
)


def _rw_types(state: SystemState) -> Iterable[Row]:
    for entry in VALUE_TYPES:
        yield entry.oid, entry.display, entry.oid, entry.element_oid, entry.array_oid
    for made in state.catalog.own_types:
        yield made.type_id, made.name, made.type_id, 0, made.array_id
        yield made.array_id, f"{made.name}[]", made.array_id, made.type_id, 0


RW_TYPES = relation(
    "rw_catalog", "rw_types", "id int4, name text, input_oid int4, typelem int4, typarray int4", _rw_types
)
