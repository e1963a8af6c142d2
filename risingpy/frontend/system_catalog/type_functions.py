"""The functions that read and write a type's text and binary form: pg_type names them, and drivers know the names.

No client calls them. Their oids are PostgreSQL's; those of types that are ours alone lie below our other functions'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_PURPOSES = ("in", "out", "recv", "send")
# oids of input, output, receive, send; the name before the purpose
_TABLE = """
bool 1242 1243 2436 2437 bool
bytea 1244 31 2412 2413 bytea
char 1245 33 2434 2435 char
name 34 35 2422 2423 name
int8 460 461 2408 2409 int8
int2 38 39 2404 2405 int2
int2vector 40 41 2410 2411 int2vector
int4 42 43 2406 2407 int4
regproc 44 45 2444 2445 regproc
text 46 47 2414 2415 text
oid 1798 1799 2418 2419 oid
oidvector 54 55 2420 2421 oidvector
float4 200 201 2424 2425 float4
float8 214 215 2426 2427 float8
unknown 109 110 2416 2417 unknown
bpchar 1044 1045 2430 2431 bpchar
varchar 1046 1047 2432 2433 varchar
date 1084 1085 2468 2469 date_
time 1143 1144 2470 2471 time_
timestamp 1312 1313 2474 2475 timestamp_
timestamptz 1150 1151 2476 2477 timestamptz_
interval 1160 1161 2478 2479 interval_
numeric 1701 1702 2460 2461 numeric_
regprocedure 2212 2213 2446 2447 regprocedure
regclass 2218 2219 2452 2453 regclass
regtype 2220 2221 2454 2455 regtype
regrole 4098 4092 4094 4095 regrole
regnamespace 4084 4085 4087 4088 regnamespace
uuid 2952 2953 2961 2962 uuid_
jsonb 3806 3804 3805 3803 jsonb_
record 2290 2291 2402 2403 record_
cstring 2292 2293 2500 2501 cstring_
rw_int256 9000 9001 9002 9003 rw_int256_
xid 50 51 2440 2441 xid
pg_node_tree 195 196 197 198 pg_node_tree_
map 9004 9005 9006 9007 map_
array 750 751 2400 2401 array_
"""


@dataclass(frozen=True, slots=True)
class TypeFunction:
    """A function of a type's: `type_name` is "array" for those that all arrays share."""

    oid: int
    name: str
    type_name: str
    purpose: str


def _functions() -> Iterable[TypeFunction]:
    for line in _TABLE.strip().splitlines():
        type_name, *oids, prefix = line.split()
        for purpose, oid in zip(_PURPOSES, oids, strict=True):
            yield TypeFunction(int(oid), prefix + purpose, type_name, purpose)


TYPE_FUNCTIONS: tuple[TypeFunction, ...] = tuple(_functions())
_OIDS = {(function.type_name, function.purpose): function.oid for function in TYPE_FUNCTIONS}


def function_oids(type_name: str) -> tuple[int, int, int, int]:
    """pg_type's typinput, typoutput, typreceive and typsend."""
    read, written, received, sent = (_OIDS[type_name, purpose] for purpose in _PURPOSES)
    return read, written, received, sent
