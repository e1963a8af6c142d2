"""Type names: from `character varying (3)` to a SqlType, and the names PostgreSQL gives to columns cast to a type."""

from __future__ import annotations

import re

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, UndefinedObject
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    MAX_PRECISION,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    numeric,
)

_INTERNAL_NAMES: dict[str, SqlType] = {
    "bool": BOOLEAN,
    "int2": SMALLINT,
    "int4": INTEGER,
    "int8": BIGINT,
    "float4": REAL,
    "float8": DOUBLE,
    "numeric": NUMERIC,
    "varchar": VARCHAR,
    "text": VARCHAR,
    "bpchar": VARCHAR,
    "bytea": BYTEA,
    "date": DATE,
    "time": TIME,
    "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMPTZ,
    "interval": INTERVAL,
}

# SQL's names for PostgreSQL's internal ones.
_ALIASES = {
    "boolean": "bool",
    "smallint": "int2",
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "real": "float4",
    "float": "float8",
    "double": "float8",
    "double precision": "float8",
    "decimal": "numeric",
    "dec": "numeric",
    "character varying": "varchar",
    "char varying": "varchar",
    "string": "varchar",
    "char": "bpchar",
    "character": "bpchar",
    "time without time zone": "time",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}

# Types of PostgreSQL and RisingWave that this version does not store.
_UNSUPPORTED = frozenset(
    """
    bit box cidr circle inet int256 json jsonb line lseg macaddr map money oid path point polygon regclass regtype
    rw_int256 serial bigserial smallserial struct timetz tsquery tsvector uuid varbit vector xml name regproc
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_MODIFIERS = re.compile(r"\(([^)]*)\)")
_INTERVAL_FIELDS = re.compile(r"^interval (year|month|day|hour|minute|second)( to (month|day|hour|minute|second))?$")
_TIMES = (TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL)
_MAX_LENGTH = 10_485_760  # PostgreSQL's limit of varchar(n)


def resolve_type(text: str, position: int | None) -> SqlType:
    """The type that `text` names.

    char(n) is taken as varchar(n): nothing is padded. Raises UndefinedObject (42704), FeatureNotSupported, and
    InvalidParameterValue for modifiers out of range.
    """
    internal = internal_name(text)
    if "[" in text or text.lower().endswith(" array"):
        raise FeatureNotSupported("array types are not supported", position=position)
    sql_type = _INTERNAL_NAMES.get(internal)
    if sql_type is None:
        if internal in _UNSUPPORTED or internal == "time with time zone":
            raise FeatureNotSupported(f"type {internal} is not supported", position=position)
        raise UndefinedObject(f'type "{internal}" does not exist', position=position)
    return _with_modifiers(sql_type, internal, _modifiers(text, position), position)


def internal_name(text: str) -> str:
    """The name by which PostgreSQL calls the type (and a column cast to it): `int4` for integer."""
    bare = " ".join(_MODIFIERS.sub(" ", text).split())
    folded = bare[1:-1] if bare.startswith('"') and bare.endswith('"') else bare.lower()
    folded = folded.removeprefix("pg_catalog . ").removeprefix("pg_catalog.")
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
    if internal == "bpchar" and not modifiers:
        return SqlType(TypeKind.VARCHAR, length=1)
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
        return SqlType(TypeKind.VARCHAR, length=modifiers[0])
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
