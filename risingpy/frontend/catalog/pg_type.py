"""pg_type and what belongs to types: the types that columns and results can have, and their arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from risingpy.frontend.catalog.oids import DEFAULT_COLLATION_OID, ROOT_USER_OID, schema_oid
from risingpy.frontend.catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.catalog.type_functions import function_oids


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
2249 record -1 P 2287 record
"""


_VECTOR_ELEMENTS = {"int2vector": 21, "oidvector": 26}


def _entries() -> Iterable[TypeEntry]:
    for line in _SCALARS.strip().splitlines():
        oid, name, length, category, array_oid, display = line.split(maxsplit=5)
        kind = "p" if category in ("X", "P") else "b"
        element = _VECTOR_ELEMENTS.get(name, 0)
        scalar = TypeEntry(int(oid), name, display, int(length), category, int(array_oid), kind, element)
        yield scalar
        if scalar.array_oid:
            yield TypeEntry(scalar.array_oid, f"_{name}", f"{display}[]", -1, "A", 0, kind, scalar.oid)


TYPES: tuple[TypeEntry, ...] = tuple(_entries())
TYPES_BY_NAME: dict[str, TypeEntry] = {entry.name: entry for entry in TYPES}
_PREFERRED = ("bool", "float8", "interval", "oid", "text", "timestamptz")
_TEXTUAL = ("text", "varchar", "bpchar", "name")


def _rows(_state: SystemState) -> Iterable[Row]:
    for entry in TYPES:
        is_array = bool(entry.element_oid) and entry.name not in _VECTOR_ELEMENTS
        collation = DEFAULT_COLLATION_OID if entry.name.lstrip("_") in _TEXTUAL else 0
        by_value = entry.length in (1, 2, 4, 8)
        yield (
            *(entry.oid, entry.name, schema_oid("pg_catalog"), ROOT_USER_OID, entry.length, by_value, entry.kind),
            *(entry.category, entry.name in _PREFERRED, True, ",", 0, entry.element_oid, entry.array_oid),
            *function_oids("array" if is_array else entry.name),
            *("i", "p" if entry.length > 0 else "x", False, 0, -1, 0, collation),
            *(None, None, None),
        )


PG_TYPE = relation(
    "pg_catalog",
    "pg_type",
    "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, typcategory char,"
    "typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typelem oid, typarray oid, typinput regproc,"
    "typoutput regproc, typreceive regproc, typsend regproc, typalign char, typstorage char, typnotnull bool,"
    "typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin text, typdefault text,"
    "typacl _text",
    _rows,
)


def _collations(_state: SystemState) -> Iterable[Row]:
    yield DEFAULT_COLLATION_OID, "default", schema_oid("pg_catalog"), ROOT_USER_OID, "d", True, -1, "", "", None, None


PG_COLLATION = relation(
    "pg_catalog",
    "pg_collation",
    "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool,"
    "collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
    _collations,
)


def _rw_types(_state: SystemState) -> Iterable[Row]:
    for entry in TYPES:
        yield entry.oid, entry.display, entry.oid, entry.element_oid, entry.array_oid


RW_TYPES = relation(
    "rw_catalog", "rw_types", "id int4, name text, input_oid int4, typelem int4, typarray int4", _rw_types
)
