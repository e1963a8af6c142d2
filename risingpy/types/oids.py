"""pg_type OIDs → types of ours, for what clients declare and for the columns of system relations."""

from __future__ import annotations

from risingpy.types.families import FAMILIES
from risingpy.types.sql_type import BARE_TYPES, UNKNOWN, VARCHAR, SqlType, array_of
from risingpy.types.system_types import OID, XID

TYPE_BY_OID: dict[int, SqlType] = {
    **{FAMILIES[kind].oid: type_ for kind, type_ in BARE_TYPES.items()},
    18: VARCHAR,  # "char"
    19: VARCHAR,  # name
    26: OID,  # four bytes on the wire, without sign
    28: XID,
    24: VARCHAR,  # regproc
    25: VARCHAR,  # text
    194: VARCHAR,  # pg_node_tree
    705: UNKNOWN,
    1033: VARCHAR,  # aclitem
    2205: VARCHAR,  # regclass
    2206: VARCHAR,  # regtype
    4089: VARCHAR,  # regnamespace
}
"""The type that holds a value of that OID."""

OID_ALIASES = frozenset((24, 26, 28, 29, 2205, 2206, 4089))
"""Types that are an OID underneath: uint32 in binary form."""

ARRAY_ELEMENT: dict[int, int] = {
    **{FAMILIES[kind].array_oid: FAMILIES[kind].oid for kind in BARE_TYPES},
    1002: 18,
    1003: 19,
    1009: 25,
    1028: 26,
    1034: 1033,
    2210: 2205,
    2211: 2206,
}
"""Array type → element type."""


def type_by_oid(oid: int) -> SqlType | None:
    """The type that holds a value of that OID, an array's too; None if there is none."""
    element = TYPE_BY_OID.get(ARRAY_ELEMENT.get(oid, 0))
    return TYPE_BY_OID.get(oid) if element is None else array_of(element)


VECTOR_ELEMENT: dict[int, int] = {22: 21, 30: 26}
"""int2vector and oidvector: arrays whose text is their elements between blanks, and which count from 0."""
