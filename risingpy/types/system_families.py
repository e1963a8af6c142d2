"""The types of system catalogs: each is a kind of type under a name and an OID of PostgreSQL's.

An oid is a bigint, a regclass is the oid of a relation, "char" and name are texts, int2vector is an array of smallints.
So comparisons, joins and functions are those of the kind that holds the values. The name, the OID, the text and the
binary form, and a few casts (`regclass` to text) are the system type's own. A column of a table cannot have one, but
for json, whose values are texts of jsonb's kind.

Sources: PostgreSQL 15's pg_type and pg_proc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from risingpy.types.families import FAMILIES, TypeKind


@dataclass(frozen=True, slots=True)
class SystemFamily:
    """A type of system catalogs; `families.TypeFamily` says what a kind of type has.

    `holds` is the kind whose values are this type's. `length` is pg_type.typlen, `category` pg_type.typcategory, and
    `shown` is what format_type prints. `functions` and `function_prefix` are those of a TypeFamily; without functions
    the type has no row in pg_type, and 0 stands for a form that it does not have. `element` is the name of what a
    vector is made of.

    `is_oid`: values are oids, 4 bytes without sign in binary. `names_object`: they are shown by the name of the object
    that has that oid.
    """

    oid: int
    array_oid: int
    length: int
    category: str
    holds: TypeKind
    shown: str
    functions: tuple[int, int, int, int] | None
    function_prefix: str = ""
    element: str = ""
    is_oid: bool = False
    names_object: bool = False


_K = TypeKind
_TEXT = FAMILIES[_K.UNKNOWN]  # an unknown literal reaches a client as text


def _named(oid: int, array_oid: int, name: str, functions: tuple[int, int, int, int]) -> SystemFamily:
    """The family of regclass or one of its siblings."""
    return SystemFamily(
        oid, array_oid, 4, "N", _K.BIGINT, name, functions, function_prefix=name, is_oid=True, names_object=True
    )


def _pseudo(oid: int, name: str) -> SystemFamily:
    """A type that no value has."""
    return SystemFamily(oid, 0, 4, "P", _K.VARCHAR, name, None)


# fmt: off
SYSTEM_FAMILIES: Mapping[str, SystemFamily] = MappingProxyType(
    {
        "char": SystemFamily(18, 1002, 1, "Z", _K.VARCHAR, '"char"', (1245, 33, 2434, 2435), "char"),
        "name": SystemFamily(19, 1003, 64, "S", _K.VARCHAR, "name", (34, 35, 2422, 2423), "name"),
        "text": SystemFamily(
            _TEXT.oid, _TEXT.array_oid, -1, "S", _K.VARCHAR, "text", _TEXT.functions, _TEXT.function_prefix
        ),
        "cstring": SystemFamily(2275, 1263, -2, "P", _K.VARCHAR, "cstring", (2292, 2293, 2500, 2501), "cstring_"),
        "aclitem": SystemFamily(1033, 1034, 12, "U", _K.VARCHAR, "aclitem", (1031, 1032, 0, 0), "aclitem"),
        "pg_node_tree": SystemFamily(
            194, 0, -1, "Z", _K.VARCHAR, "pg_node_tree", (195, 196, 197, 198), "pg_node_tree_"
        ),
        "oid": SystemFamily(26, 1028, 4, "N", _K.BIGINT, "oid", (1798, 1799, 2418, 2419), "oid", is_oid=True),
        "xid": SystemFamily(28, 1011, 4, "U", _K.BIGINT, "xid", (50, 51, 2440, 2441), "xid", is_oid=True),
        "regproc": _named(24, 1008, "regproc", (44, 45, 2444, 2445)),
        "regprocedure": _named(2202, 2207, "regprocedure", (2212, 2213, 2446, 2447)),
        "regclass": _named(2205, 2210, "regclass", (2218, 2219, 2452, 2453)),
        "regtype": _named(2206, 2211, "regtype", (2220, 2221, 2454, 2455)),
        "regnamespace": _named(4089, 4090, "regnamespace", (4084, 4085, 4087, 4088)),
        "regrole": _named(4096, 4097, "regrole", (4098, 4092, 4094, 4095)),
        "int2vector": SystemFamily(
            22, 1006, -1, "A", _K.ARRAY, "int2vector", (40, 41, 2410, 2411), "int2vector", element="int2"
        ),
        "oidvector": SystemFamily(
            30, 1013, -1, "A", _K.ARRAY, "oidvector", (54, 55, 2420, 2421), "oidvector", element="oid"
        ),
        # Not of catalogs alone: columns have it, too.
        "json": SystemFamily(114, 199, -1, "U", _K.JSONB, "json", (321, 322, 323, 324), "json_"),
        # Drivers give it to parameters that are the place of a call's result.
        "void": SystemFamily(2278, 0, 4, "P", _K.VARCHAR, "void", None),
        # What functions take and give: each call says which type it is.
        "anyelement": _pseudo(2283, "anyelement"),
        "anyarray": _pseudo(2277, "anyarray"),
        "anynonarray": _pseudo(2776, "anynonarray"),
        "anyenum": _pseudo(3500, "anyenum"),
        "anyrange": _pseudo(3831, "anyrange"),
        "anymultirange": _pseudo(4537, "anymultirange"),
        "anycompatible": _pseudo(5077, "anycompatible"),
        "anycompatiblearray": _pseudo(5078, "anycompatiblearray"),
        "anycompatiblenonarray": _pseudo(5079, "anycompatiblenonarray"),
        "record": _pseudo(2249, "record"),
        # No value has this type: pg_type lists it, and what would have it reaches a client as text.
        "unknown": SystemFamily(705, 0, -2, "X", _K.UNKNOWN, "unknown", (109, 110, 2416, 2417), "unknown"),
    }
)
# fmt: on
