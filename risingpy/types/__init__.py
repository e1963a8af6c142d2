"""SQL types: what a type is in Arrow, in DuckDB and on the wire. Used by every layer above.

families       what is known of each kind of type: OIDs, names, casts, Arrow's and DuckDB's type
forms          the text and the binary form of values, by kind; a module of functions each (`uuid`, `integer`, …)
enums          types that users create
packed         addresses, bit strings, vectors
ranges         int4range and its siblings
sql_type       a type of a column or an expression, as a value
system_*       the types of system catalogs
"""

from risingpy.types.families import TypeKind
from risingpy.types.sql_type import (
    BIGINT,
    BIT,
    BOOLEAN,
    BYTEA,
    CHARACTER,
    CIDR,
    DATE,
    DOUBLE,
    INET,
    INT256,
    INTEGER,
    INTERVAL,
    JSONB,
    MAX_PRECISION,
    NARROW_NUMERIC,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UNDECLARED_SCALE,
    UNKNOWN,
    UUID,
    VARBIT,
    VARCHAR,
    VECTOR,
    SqlType,
    array_of,
    enum_of,
    map_of,
    narrow,
    numeric,
    struct_of,
)

__all__ = [
    "BIGINT",
    "BIT",
    "BOOLEAN",
    "BYTEA",
    "CHARACTER",
    "CIDR",
    "DATE",
    "DOUBLE",
    "INET",
    "INT256",
    "INTEGER",
    "INTERVAL",
    "JSONB",
    "MAX_PRECISION",
    "NARROW_NUMERIC",
    "NUMERIC",
    "REAL",
    "SMALLINT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TIMESTAMP_NS",
    "UNDECLARED_SCALE",
    "UNKNOWN",
    "UUID",
    "VARBIT",
    "VARCHAR",
    "VECTOR",
    "SqlType",
    "TypeKind",
    "array_of",
    "enum_of",
    "map_of",
    "narrow",
    "numeric",
    "struct_of",
]
