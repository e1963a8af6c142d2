"""The system types as SqlTypes: what `system_names.py` describes, by name."""

from __future__ import annotations

from dataclasses import replace

from risingpy.types.sql_type import BIGINT, SMALLINT, VARCHAR, SqlType, array_of
from risingpy.types.system_names import OBJECT_IDENTIFIERS, VECTORS

OID = replace(BIGINT, system="oid")
XID = replace(BIGINT, system="xid")
NAME = replace(VARCHAR, system="name")
TEXT = replace(VARCHAR, system="text")
CHAR = replace(VARCHAR, system="char")
REGCLASS = replace(BIGINT, system="regclass")
REGTYPE = replace(BIGINT, system="regtype")
REGPROC = replace(BIGINT, system="regproc")
INT2VECTOR = replace(array_of(SMALLINT), system="int2vector")
OIDVECTOR = replace(array_of(OID), system="oidvector")

SYSTEM_TYPES: dict[str, SqlType] = {
    "oid": OID,
    "xid": XID,
    "name": NAME,
    "text": TEXT,
    "char": CHAR,
    "cstring": replace(VARCHAR, system="cstring"),
    "aclitem": replace(VARCHAR, system="aclitem"),
    "pg_node_tree": replace(VARCHAR, system="pg_node_tree"),
    "int2vector": INT2VECTOR,
    "oidvector": OIDVECTOR,
    **{name: replace(BIGINT, system=name) for name in sorted(OBJECT_IDENTIFIERS)},
}
"""By name in pg_type."""


def is_object_identifier(type_: SqlType) -> bool:
    """Whether values are oids that are shown by name: regclass, regtype, …"""
    return type_.system in OBJECT_IDENTIFIERS


def is_oid(type_: SqlType) -> bool:
    """Whether values are oids, however they are shown."""
    return type_.system in ("oid", "xid") or is_object_identifier(type_)


def is_vector(type_: SqlType) -> bool:
    """Whether the type is an array that counts from 0."""
    return type_.system in VECTORS


def is_of_system(type_: SqlType) -> bool:
    """Whether a system type is the type or is in it."""
    return bool(type_.system) or any(map(is_of_system, type_.items))
