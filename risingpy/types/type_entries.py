"""The types of pg_type and their arrays, those of system catalogs included: OID, name, length, category, how shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from risingpy.types.families import FAMILIES, MULTIRANGE_OF, TypeKind
from risingpy.types.system_families import SYSTEM_FAMILIES


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


_RANGE_ENTRIES = {FAMILIES[one].oid: "r" for one in MULTIRANGE_OF} | {
    FAMILIES[n].oid: "m" for n in MULTIRANGE_OF.values()
}


def _scalars() -> Iterable[TypeEntry]:
    for kind, family in FAMILIES.items():
        if kind not in (TypeKind.ARRAY, TypeKind.ENUM, TypeKind.UNKNOWN):
            yield TypeEntry(family.oid, family.name, kind.value, family.length, family.category.value, family.array_oid)
    oids = {family.name: family.oid for family in FAMILIES.values()}
    oids |= {name: system.oid for name, system in SYSTEM_FAMILIES.items()}
    for name, system in SYSTEM_FAMILIES.items():
        if system.functions is not None:
            element = oids[system.element] if system.element else 0
            entry = system.oid, name, system.shown, system.length, system.category, system.array_oid
            yield TypeEntry(*entry, element_oid=element)


def _entries() -> Iterable[TypeEntry]:
    for scalar in _scalars():
        kind = "p" if scalar.category in ("X", "P") else _RANGE_ENTRIES.get(scalar.oid, "b")
        yield replace(scalar, kind=kind)
        if scalar.array_oid:
            name, display = f"_{scalar.name}", f"{scalar.display}[]"
            # Of the pseudo-types' arrays, only record's is one, too.
            kind, category = ("p", "P") if scalar.name == "record" else ("b", "A")
            yield TypeEntry(scalar.array_oid, name, display, -1, category, 0, kind, scalar.oid)


# Types of PostgreSQL's functions that no value here has. Tools ask for their names: 'trigger'::regtype.
_OTHER_PSEUDO_TYPES = (
    ("pg_ddl_command", 32, 8),
    ("table_am_handler", 269, 4),
    ("index_am_handler", 325, 4),
    ("any", 2276, 4),
    ("anyarray", 2277, -1),
    ("void", 2278, 4),
    ("trigger", 2279, 4),
    ("language_handler", 2280, 4),
    ("internal", 2281, 8),
    ("anyelement", 2283, 4),
    ("anynonarray", 2776, 4),
    ("fdw_handler", 3115, 4),
    ("tsm_handler", 3310, 4),
    ("anyenum", 3500, 4),
    ("anyrange", 3831, -1),
    ("event_trigger", 3838, 4),
    ("anymultirange", 4537, -1),
    ("anycompatiblemultirange", 4538, -1),
    ("anycompatible", 5077, 4),
    ("anycompatiblearray", 5078, -1),
    ("anycompatiblenonarray", 5079, 4),
    ("anycompatiblerange", 5080, -1),
)


def _pseudo_types() -> Iterable[TypeEntry]:
    for name, oid, length in _OTHER_PSEUDO_TYPES:
        yield TypeEntry(oid, name, '"any"' if name == "any" else name, length, "P", 0, "p")


VALUE_TYPES: tuple[TypeEntry, ...] = tuple(_entries())
"""The types that columns and results have."""

TYPES: tuple[TypeEntry, ...] = (*VALUE_TYPES, *_pseudo_types())
TYPES_BY_NAME: dict[str, TypeEntry] = {entry.name: entry for entry in TYPES}
TYPES_BY_OID: dict[int, TypeEntry] = {entry.oid: entry for entry in TYPES}
