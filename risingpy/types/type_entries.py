"""The types of pg_type and their arrays, those of system catalogs included: OID, name, length, category, how shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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


# oid name length category oid-of-array display
_SCALARS = """
16 bool 1 B 1000 boolean
17 bytea -1 U 1001 bytea
18 char 1 Z 1002 "char"
19 name 64 S 1003 name
20 int8 8 N 1016 bigint
21 int2 2 N 1005 smallint
22 int2vector -1 A 1006 int2vector
23 int4 4 N 1007 integer
24 regproc 4 N 1008 regproc
25 text -1 S 1009 text
26 oid 4 N 1028 oid
28 xid 4 U 1011 xid
30 oidvector -1 A 1013 oidvector
700 float4 4 N 1021 real
701 float8 8 N 1022 double precision
1042 bpchar -1 S 1014 character
1043 varchar -1 S 1015 character varying
1082 date 4 D 1182 date
1083 time 8 D 1183 time without time zone
1114 timestamp 8 D 1115 timestamp without time zone
1184 timestamptz 8 D 1185 timestamp with time zone
1186 interval 16 T 1187 interval
1700 numeric -1 N 1231 numeric
2950 uuid 16 U 2951 uuid
3802 jsonb -1 U 3807 jsonb
1301 rw_int256 32 N 1302 rw_int256
1303 map -1 U 1304 map
2202 regprocedure 4 N 2207 regprocedure
2205 regclass 4 N 2210 regclass
2206 regtype 4 N 2211 regtype
4089 regnamespace 4 N 4090 regnamespace
4096 regrole 4 N 4097 regrole
2275 cstring -2 P 1263 cstring
705 unknown -2 X 0 unknown
194 pg_node_tree -1 Z 0 pg_node_tree
2249 record -1 P 2287 record
"""


VECTOR_ELEMENTS = {"int2vector": 21, "oidvector": 26}


def _entries() -> Iterable[TypeEntry]:
    for line in _SCALARS.strip().splitlines():
        oid, name, length, category, array_oid, display = line.split(maxsplit=5)
        kind = "p" if category in ("X", "P") else "b"
        element = VECTOR_ELEMENTS.get(name, 0)
        scalar = TypeEntry(int(oid), name, display, int(length), category, int(array_oid), kind, element)
        yield scalar
        if scalar.array_oid:
            yield TypeEntry(scalar.array_oid, f"_{name}", f"{display}[]", -1, "A", 0, kind, scalar.oid)


TYPES: tuple[TypeEntry, ...] = tuple(_entries())
TYPES_BY_NAME: dict[str, TypeEntry] = {entry.name: entry for entry in TYPES}
