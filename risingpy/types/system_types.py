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
    {
        name: _made(name)
        for name, family in SYSTEM_FAMILIES.items()
        if family.holds is not TypeKind.UNKNOWN and family.functions is not None
    }
)
"""By name in pg_type."""

VOID = _made("void")
RECORD = _made("record")
"""What a function says that gives rows whose columns each call names. The rows themselves are structs."""

_OF_ONE_TYPE = ("anyelement", "anyarray", "anynonarray", "anyenum", "anyrange", "anymultirange")
_OF_COMMON_TYPE = ("anycompatible", "anycompatiblearray", "anycompatiblenonarray")
POLYMORPHIC_TYPES: Mapping[str, SqlType] = MappingProxyType(
    {name: _made(name) for name in (*_OF_ONE_TYPE, *_OF_COMMON_TYPE)}
)
"""The types of arguments and results of functions that each call decides, by name."""


def is_polymorphic(type_: SqlType) -> bool:
    """Whether each call of a function decides what the type is, or what it is made of."""
    return type_.system in POLYMORPHIC_TYPES or any(map(is_polymorphic, type_.items))


OBJECT_IDENTIFIERS = tuple(name for name, family in SYSTEM_FAMILIES.items() if family.names_object)
"""regclass, regtype, …: types whose values are oids, shown by the names of what they mean."""

OID = SYSTEM_TYPES["oid"]
XID = SYSTEM_TYPES["xid"]
NAME = SYSTEM_TYPES["name"]
TEXT = SYSTEM_TYPES["text"]
CHAR = SYSTEM_TYPES["char"]
REGCLASS = SYSTEM_TYPES["regclass"]
JSON = SYSTEM_TYPES["json"]
_OF_COLUMNS = ("", JSON.system)


def element_type(array: SqlType) -> SqlType:
    """That of an argument that is one of the elements of a VARIADIC one."""
    names = {"anyarray": "anyelement", "anycompatiblearray": "anycompatible"}
    return POLYMORPHIC_TYPES[names[array.system]] if array.system in names else array.element


def is_json(type_: SqlType) -> bool:
    """Whether the type is json, whose values are texts as they were written."""
    return type_.system == JSON.system


def is_object_identifier(type_: SqlType) -> bool:
    """Whether values are oids that are shown by name: regclass, regtype, …"""
    return _names_object(type_) and type_.kind is not TypeKind.VARCHAR


def by_name(type_: SqlType) -> SqlType:
    """A regclass, or one of its siblings, or an array of it, whose values are the names: so it reaches a client."""
    if type_.kind is TypeKind.ARRAY:
        return array_of(by_name(type_.element))
    return replace(BARE_TYPES[TypeKind.VARCHAR], system=type_.system)


def is_by_name(type_: SqlType) -> bool:
    """Whether the type is of `by_name`, of which only the text form is known."""
    return _names_object(type_.leaf) and type_.leaf.kind is TypeKind.VARCHAR


def _names_object(type_: SqlType) -> bool:
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
    """The type without anything of system catalogs: what holds its values. json stays."""
    if not is_of_system(sql_type):
        return sql_type
    system = sql_type.system if sql_type.system in _OF_COLUMNS else ""
    return replace(sql_type, system=system, items=tuple(map(plain_type, sql_type.items)))


def as_text(type_: SqlType) -> SqlType:
    """A varchar, or an array of it, as PostgreSQL's text."""
    return array_of(as_text(type_.element)) if type_.kind is TypeKind.ARRAY else TEXT


def is_of_system(type_: SqlType) -> bool:
    """Whether a system type is the type or is in it."""
    return type_.system not in _OF_COLUMNS or any(map(is_of_system, type_.items))
