"""The types of pg_type and their arrays, those of system catalogs included: OID, name, length, category, how shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from risingpy.types.families import FAMILIES, TypeKind


@dataclass(frozen=True, slots=True)
class TypeEntry:
    """A row of pg_type. `display` is what format_type prints, `category` pg_type.typcategory."""

    oid: int
    name: str
    display: str
    length: int
    category: str
    array_oid: int
    kind: str = "b"
    element_oid: int = 0


# Those of no kind of ours, which system catalogs have: oid name length category oid-of-array display
_OTHERS = """
18 char 1 Z 1002 "char"
19 name 64 S 1003 name
22 int2vector -1 A 1006 int2vector
24 regproc 4 N 1008 regproc
25 text -1 S 1009 text
26 oid 4 N 1028 oid
28 xid 4 U 1011 xid
30 oidvector -1 A 1013 oidvector
2202 regprocedure 4 N 2207 regprocedure
2205 regclass 4 N 2210 regclass
2206 regtype 4 N 2211 regtype
4089 regnamespace 4 N 4090 regnamespace
4096 regrole 4 N 4097 regrole
2275 cstring -2 P 1263 cstring
705 unknown -2 X 0 unknown
194 pg_node_tree -1 Z 0 pg_node_tree
"""


VECTOR_ELEMENTS = {"int2vector": 21, "oidvector": 26}


def _scalars() -> Iterable[TypeEntry]:
    for kind, family in FAMILIES.items():
        if kind not in (TypeKind.ARRAY, TypeKind.UNKNOWN):
            yield TypeEntry(family.oid, family.name, kind.value, family.length, family.category.value, family.array_oid)
    for line in _OTHERS.strip().splitlines():
        oid, name, length, category, array_oid, display = line.split(maxsplit=5)
        element = VECTOR_ELEMENTS.get(name, 0)
        yield TypeEntry(int(oid), name, display, int(length), category, int(array_oid), element_oid=element)


def _entries() -> Iterable[TypeEntry]:
    for scalar in _scalars():
        kind = "p" if scalar.category in ("X", "P") else "b"
        yield replace(scalar, kind=kind)
        if scalar.array_oid:
            name, display = f"_{scalar.name}", f"{scalar.display}[]"
            yield TypeEntry(scalar.array_oid, name, display, -1, "A", 0, kind, scalar.oid)


TYPES: tuple[TypeEntry, ...] = tuple(_entries())
TYPES_BY_NAME: dict[str, TypeEntry] = {entry.name: entry for entry in TYPES}
