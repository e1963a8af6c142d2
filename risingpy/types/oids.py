"""pg_type OIDs → types of ours, for what clients declare and for the columns of system relations."""

from __future__ import annotations

from risingpy.types.sql_type import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    CHARACTER,
    DATE,
    DOUBLE,
    INT256,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    VARCHAR,
    SqlType,
    array_of,
)
from risingpy.types.system_types import OID, XID

TYPE_BY_OID: dict[int, SqlType] = {
    16: BOOLEAN,
    17: BYTEA,
    18: VARCHAR,  # "char"
    19: VARCHAR,  # name
    26: OID,  # four bytes on the wire, without sign
    28: XID,
    20: BIGINT,
    21: SMALLINT,
    23: INTEGER,
    24: VARCHAR,  # regproc
    25: VARCHAR,  # text
    194: VARCHAR,  # pg_node_tree
    700: REAL,
    701: DOUBLE,
    705: UNKNOWN,
    1033: VARCHAR,  # aclitem
    1042: CHARACTER,
    1043: VARCHAR,
    1082: DATE,
    1083: TIME,
    1114: TIMESTAMP,
    1184: TIMESTAMPTZ,
    1186: INTERVAL,
    1301: INT256,
    1700: NUMERIC,
    2205: VARCHAR,  # regclass
    2206: VARCHAR,  # regtype
    2950: UUID,
    3802: JSONB,
    4089: VARCHAR,  # regnamespace
}
"""The type that holds a value of that OID."""

OID_ALIASES = frozenset((24, 26, 28, 29, 2205, 2206, 4089))
"""Types that are an OID underneath: uint32 in binary form."""

ARRAY_ELEMENT: dict[int, int] = {
    1000: 16,
    1001: 17,
    1002: 18,
    1003: 19,
    1005: 21,
    1007: 23,
    1009: 25,
    1014: 1042,
    1015: 1043,
    1016: 20,
    1021: 700,
    1022: 701,
    1028: 26,
    1034: 1033,
    1115: 1114,
    1182: 1082,
    1183: 1083,
    1185: 1184,
    1187: 1186,
    1231: 1700,
    1302: 1301,
    2210: 2205,
    2211: 2206,
    2951: 2950,
    3807: 3802,
}
"""Array type → element type."""


def type_by_oid(oid: int) -> SqlType | None:
    """The type that holds a value of that OID, an array's too; None if there is none."""
    element = TYPE_BY_OID.get(ARRAY_ELEMENT.get(oid, 0))
    return TYPE_BY_OID.get(oid) if element is None else array_of(element)


VECTOR_ELEMENT: dict[int, int] = {22: 21, 30: 26}
"""int2vector and oidvector: arrays whose text is their elements between blanks, and which count from 0."""
