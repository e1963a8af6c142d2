"""The functions that read and write a type's text and binary form: pg_type names them, and drivers know the names.

No client calls them. Their oids are PostgreSQL's; those of types that are ours alone lie below our other functions'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from risingpy.types.families import FAMILIES

_PURPOSES = ("in", "out", "recv", "send")
# Of types that are no kind of ours: oids of input, output, receive, send; the name before the purpose
_TABLE = """
char 1245 33 2434 2435 char
name 34 35 2422 2423 name
int2vector 40 41 2410 2411 int2vector
regproc 44 45 2444 2445 regproc
oid 1798 1799 2418 2419 oid
oidvector 54 55 2420 2421 oidvector
unknown 109 110 2416 2417 unknown
regprocedure 2212 2213 2446 2447 regprocedure
regclass 2218 2219 2452 2453 regclass
regtype 2220 2221 2454 2455 regtype
regrole 4098 4092 4094 4095 regrole
regnamespace 4084 4085 4087 4088 regnamespace
cstring 2292 2293 2500 2501 cstring_
xid 50 51 2440 2441 xid
pg_node_tree 195 196 197 198 pg_node_tree_
"""


@dataclass(frozen=True, slots=True)
class TypeFunction:
    """A function of a type's: `type_name` is "array" for those that all arrays share."""

    oid: int
    name: str
    type_name: str
    purpose: str


def _functions() -> Iterable[TypeFunction]:
    for family in FAMILIES.values():
        for purpose, oid in zip(_PURPOSES, family.functions, strict=True):
            yield TypeFunction(oid, family.function_prefix + purpose, family.name, purpose)
    for line in _TABLE.strip().splitlines():
        type_name, *oids, prefix = line.split()
        for purpose, number in zip(_PURPOSES, oids, strict=True):
            yield TypeFunction(int(number), prefix + purpose, type_name, purpose)


TYPE_FUNCTIONS: tuple[TypeFunction, ...] = tuple(_functions())
_OIDS = {(function.type_name, function.purpose): function.oid for function in TYPE_FUNCTIONS}


def function_oids(type_name: str) -> tuple[int, int, int, int]:
    """pg_type's typinput, typoutput, typreceive and typsend."""
    read, written, received, sent = (_OIDS[type_name, purpose] for purpose in _PURPOSES)
    return read, written, received, sent
