"""Type names: from `character varying (3)` to a SqlType, and the names PostgreSQL gives to columns cast to a type."""

from __future__ import annotations

import re

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidParameterValue, UndefinedObject
from risingpy.types import (
    DOUBLE,
    INTEGER,
    MAX_PRECISION,
    REAL,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from risingpy.types.families import FAMILIES
from risingpy.types.sql_type import BARE_TYPES
from risingpy.types.system_types import CHAR, SYSTEM_TYPES

_INTERNAL_NAMES: dict[str, SqlType] = {
    **{FAMILIES[kind].name: type_ for kind, type_ in BARE_TYPES.items()},
    "text": VARCHAR,
}

CAST_FUNCTIONS: dict[str, SqlType] = {name: type_ for name, type_ in _INTERNAL_NAMES.items() if name != "rw_int256"}
"""Types whose name in a call is a cast: `int4(2.5)`, `date('2024-02-29')`."""

# SQL's names for PostgreSQL's internal ones.
_ALIASES = {alias: family.name for family in FAMILIES.values() for alias in family.aliases}

# Types of PostgreSQL and RisingWave that this version does not store.
UNSUPPORTED_TYPES = frozenset(
    """
    aclitem bit box cidr circle inet int2vector int256 json line lseg money name oid oidvector path pg_node_tree
    point polygon regclass regnamespace regproc regprocedure regrole regtype serial bigserial smallserial serial2
    serial4 serial8 timetz tsquery tsvector varbit vector xid xml
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_DOMAINS = {  # of information_schema
    "sql_identifier": SYSTEM_TYPES["name"],
    "character_data": VARCHAR,
    "yes_or_no": VARCHAR,
    "cardinal_number": INTEGER,
    "time_stamp": TIMESTAMPTZ,
}
_SERIAL = frozenset({"smallserial", "serial", "serial2", "serial4", "serial8", "bigserial"})
_SERIAL_HINT = "It makes a column of CREATE TABLE number its rows; the values are of type smallint, integer or bigint."
_ARRAY_SUFFIX = re.compile(r"(.*\S)\s*(?:\[\s*\d*\s*\]|\barray(?:\s*\[\s*\d+\s*\])?)", re.IGNORECASE | re.DOTALL)
_CONSTRUCTED = re.compile(r"(struct|map)\s*[<(](.*)[>)]", re.IGNORECASE | re.DOTALL)
_SYSTEM_SCHEMA = re.compile(r"^(?:[^.]+\.)?\s*pg_catalog\s*\.\s*")  # the database in front is the one there is
_QUOTED_CHAR = re.compile(r'(?:^|\.)\s*"char"$')  # which is another type than char
_MODIFIERS = re.compile(r"\(([^)]*)\)")
_INTERVAL_FIELDS = re.compile(r"^interval (year|month|day|hour|minute|second)( to (month|day|hour|minute|second))?$")
_TIMES = (TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL)
_MAX_LENGTH = 10_485_760  # PostgreSQL's limit of varchar(n)


def resolve_type(text: str, position: int | None, *, of_column: bool = True) -> SqlType:
    """The type that `text` names. What is no column may be of a type of system catalogs.

    Raises UndefinedObject (42704), FeatureNotSupported, and InvalidParameterValue for modifiers out of range.
    """
    array = _ARRAY_SUFFIX.fullmatch(text)
    if array is not None:
        return array_of(resolve_type(array[1], position, of_column=of_column))
    made = _CONSTRUCTED.fullmatch(text)
    if made is not None:
        return _constructed_type(made[1].lower(), made[2], position)
    internal = internal_name(text)
    if not of_column and (found := _system_type(text, internal)) is not None:
        return found
    sql_type = _INTERNAL_NAMES.get(internal)
    if sql_type is None:
        if internal in UNSUPPORTED_TYPES or internal == "time with time zone":
            hint = _SERIAL_HINT if internal in _SERIAL else None
            raise FeatureNotSupported(f"type {internal} is not supported", position=position, hint=hint)
        raise UndefinedObject(f'type "{internal}" does not exist', position=position)
    if internal == "bpchar" and "bpchar" not in text.lower() and not _MODIFIERS.search(text):
        return SqlType(TypeKind.CHARACTER, length=1)
    return _with_modifiers(sql_type, internal, _modifiers(text, position), position)


def _system_type(text: str, internal: str) -> SqlType | None:
    """The type of system catalogs that is meant; `"char"`, in quotes, is one, and `_oid` an array of them."""
    if _QUOTED_CHAR.search(text):
        return CHAR
    if internal in ("text", "char"):  # which are types of columns
        return None
    if internal.startswith("information_schema"):
        return _DOMAINS.get(internal.partition(".")[2].strip())
    if internal.startswith("_"):
        element = SYSTEM_TYPES.get(internal[1:]) or _INTERNAL_NAMES.get(internal[1:])
        return None if element is None else array_of(element)
    return SYSTEM_TYPES.get(internal)


def _constructed_type(word: str, inside: str, position: int | None) -> SqlType:
    """`struct<name type, …>` and `map(key, value)`."""
    parts = _split(inside)
    if word == "map":
        if len(parts) != 2:
            raise InvalidParameterValue("a map type has a key type and a value type", position=position)
        key, value = (resolve_type(part, position) for part in parts)
        if not (key.is_text or key.is_integer):
            raise DatatypeMismatch(f"invalid map key type: {key}", position=position)
        return map_of(key, value)
    names, items = [], []
    for part in parts:
        name, _, type_text = part.partition(" ")
        names.append(name[1:-1].replace('""', '"') if name.startswith('"') else name.lower())
        items.append(resolve_type(type_text, position))
    if len(set(names)) != len(names):
        raise InvalidParameterValue("the fields of a struct need distinct names", position=position)
    return struct_of(names, items)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def internal_name(text: str) -> str:
    """The name by which PostgreSQL calls the type (and a column cast to it): `int4` for integer."""
    array = _ARRAY_SUFFIX.fullmatch(text)
    if array is not None:
        return internal_name(array[1])
    made = _CONSTRUCTED.fullmatch(text)
    if made is not None:
        return "row" if made[1].lower() == "struct" else "map"
    bare = " ".join(_MODIFIERS.sub(" ", text).split())
    if _QUOTED_CHAR.search(bare):
        return "char"
    folded = bare[1:-1] if bare.startswith('"') and bare.endswith('"') else bare.lower()
    folded = _SYSTEM_SCHEMA.sub("", folded)
    if _INTERVAL_FIELDS.match(folded):
        return "interval"
    return _ALIASES.get(folded, folded)


def _modifiers(text: str, position: int | None) -> list[int]:
    found = _MODIFIERS.search(text)
    if found is None:
        return []
    words = [word.strip() for word in found.group(1).split(",")]
    if not all(re.fullmatch(r"[+-]?\s*\d+", word) for word in words):
        raise InvalidParameterValue("type modifiers must be simple constants", position=position)
    return [int(word.replace(" ", "")) for word in words]


def _with_modifiers(sql_type: SqlType, internal: str, modifiers: list[int], position: int | None) -> SqlType:
    if not modifiers:
        return sql_type
    if sql_type.kind is TypeKind.NUMERIC and len(modifiers) <= 2:
        return _numeric(modifiers, position)
    if internal in ("varchar", "bpchar") and len(modifiers) == 1:
        shown = "char" if internal == "bpchar" else "varchar"
        if modifiers[0] < 1:
            raise InvalidParameterValue(f"length for type {shown} must be at least 1", position=position)
        if modifiers[0] > _MAX_LENGTH:
            raise InvalidParameterValue(f"length for type {shown} cannot exceed {_MAX_LENGTH}", position=position)
        return SqlType(sql_type.kind, length=modifiers[0])
    if internal == "float8" and len(modifiers) == 1:  # float(p)
        if modifiers[0] < 1:
            raise InvalidParameterValue("precision for type float must be at least 1 bit", position=position)
        if modifiers[0] > 53:
            raise InvalidParameterValue("precision for type float must be less than 54 bits", position=position)
        return REAL if modifiers[0] <= 24 else DOUBLE
    if sql_type.kind in _TIMES and len(modifiers) == 1:
        if modifiers[0] == 6:
            return sql_type
        shown = f"{sql_type}({modifiers[0]})"
        raise FeatureNotSupported(f"{shown} is not supported: times have 6 decimals", position=position)
    raise InvalidParameterValue(f'type modifier is not allowed for type "{internal}"', position=position)


def _numeric(modifiers: list[int], position: int | None) -> SqlType:
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) > 1 else 0
    if not 1 <= precision <= 1000:
        raise InvalidParameterValue(f"NUMERIC precision {precision} must be between 1 and 1000", position=position)
    if not -1000 <= scale <= 1000:
        raise InvalidParameterValue(f"NUMERIC scale {scale} must be between -1000 and 1000", position=position)
    if precision > MAX_PRECISION or not 0 <= scale <= precision:
        raise FeatureNotSupported(
            f"numeric({precision},{scale}) is not supported: at most {MAX_PRECISION} digits, scale from 0 to precision",
            position=position,
        )
    return numeric(precision, scale, declared=True)
