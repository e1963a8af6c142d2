"""The types of system catalogs: each is one of our types under PostgreSQL's name for it.

An oid is a bigint, a regclass is the oid of a relation, "char" and name are texts, int2vector is an array of smallints.
So values, comparisons, joins and functions are those of the type that holds them; only the name, the OID and a few
casts (`regclass` to text) are the system type's own. A column of a table cannot have one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemName:
    """A type's entry in pg_type; `shown` is what format_type prints."""

    oid: int
    array_oid: int
    length: int
    shown: str


SYSTEM_NAMES: dict[str, SystemName] = {
    "char": SystemName(18, 1002, 1, '"char"'),
    "name": SystemName(19, 1003, 64, "name"),
    "int2vector": SystemName(22, 1006, -1, "int2vector"),
    "regproc": SystemName(24, 1008, 4, "regproc"),
    "text": SystemName(25, 1009, -1, "text"),
    "oid": SystemName(26, 1028, 4, "oid"),
    "xid": SystemName(28, 1011, 4, "xid"),
    "oidvector": SystemName(30, 1013, -1, "oidvector"),
    "pg_node_tree": SystemName(194, 0, -1, "pg_node_tree"),
    "aclitem": SystemName(1033, 1034, 12, "aclitem"),
    "regprocedure": SystemName(2202, 2207, 4, "regprocedure"),
    "regclass": SystemName(2205, 2210, 4, "regclass"),
    "regtype": SystemName(2206, 2211, 4, "regtype"),
    "cstring": SystemName(2275, 1263, -2, "cstring"),
    "regnamespace": SystemName(4089, 4090, 4, "regnamespace"),
    "regrole": SystemName(4096, 4097, 4, "regrole"),
}

OBJECT_IDENTIFIERS = frozenset(("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"))
"""Types whose values are oids, shown by the names of what they mean."""

VECTORS = frozenset(("int2vector", "oidvector"))
"""Arrays that count from 0, and whose text is their elements between blanks."""
