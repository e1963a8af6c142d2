"""The system types as SqlTypes: what `system_families.py` describes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from risingpy.types.families import FAMILIES, TypeKind
from risingpy.types.sql_type import BARE_TYPES, SqlType, array_of
from risingpy.types.system_families import SYSTEM_FAMILIES


def _made(name: str) -> SqlType:
    family = SYSTEM_FAMILIES[name]
    held = array_of(_element(family.element)) if family.element else BARE_TYPES[family.holds]
    return replace(held, system=name)


def _element(name: str) -> SqlType:
    """What a vector is made of: a system type, or a kind by its name in pg_type."""
    if name in SYSTEM_FAMILIES:
        return _made(name)
    return next(type_ for kind, type_ in BARE_TYPES.items() if FAMILIES[kind].name == name)


SYSTEM_TYPES: Mapping[str, SqlType] = MappingProxyType(
    {name: _made(name) for name, family in SYSTEM_FAMILIES.items() if family.holds is not TypeKind.UNKNOWN}
)
"""By name in pg_type."""

OBJECT_IDENTIFIERS = tuple(name for name, family in SYSTEM_FAMILIES.items() if family.names_object)
"""regclass, regtype, …: types whose values are oids, shown by the names of what they mean."""

OID = SYSTEM_TYPES["oid"]
XID = SYSTEM_TYPES["xid"]
NAME = SYSTEM_TYPES["name"]
TEXT = SYSTEM_TYPES["text"]
CHAR = SYSTEM_TYPES["char"]
REGCLASS = SYSTEM_TYPES["regclass"]


def is_object_identifier(type_: SqlType) -> bool:
    """Whether values are oids that are shown by name: regclass, regtype, …"""
    return bool(type_.system) and SYSTEM_FAMILIES[type_.system].names_object


def names_objects(sql_type: SqlType) -> bool:
    """Whether a text of this type may have names: regclass and its siblings, and arrays of them."""
    return is_object_identifier(sql_type.leaf if sql_type.kind is TypeKind.ARRAY else sql_type)


def is_oid(type_: SqlType) -> bool:
    """Whether values are oids, however they are shown."""
    return bool(type_.system) and SYSTEM_FAMILIES[type_.system].is_oid


def is_vector(type_: SqlType) -> bool:
    """Whether the type is an array that counts from 0, and whose text is its elements between blanks."""
    return bool(type_.system) and bool(SYSTEM_FAMILIES[type_.system].element)


def plain_type(sql_type: SqlType) -> SqlType:
    """The type without anything of system catalogs: what holds its values."""
    if not is_of_system(sql_type):
        return sql_type
    return replace(sql_type, system="", items=tuple(map(plain_type, sql_type.items)))


def is_of_system(type_: SqlType) -> bool:
    """Whether a system type is the type or is in it."""
    return bool(type_.system) or any(map(is_of_system, type_.items))
