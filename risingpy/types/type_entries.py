"""The types of pg_type and their arrays, those of system catalogs included: OID, name, length, category, how shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from risingpy.types.families import FAMILIES, TypeKind
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


def _scalars() -> Iterable[TypeEntry]:
    for kind, family in FAMILIES.items():
        if kind not in (TypeKind.ARRAY, TypeKind.UNKNOWN):
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
        kind = "p" if scalar.category in ("X", "P") else "b"
        yield replace(scalar, kind=kind)
        if scalar.array_oid:
            name, display = f"_{scalar.name}", f"{scalar.display}[]"
            yield TypeEntry(scalar.array_oid, name, display, -1, "A", 0, kind, scalar.oid)


TYPES: tuple[TypeEntry, ...] = tuple(_entries())
TYPES_BY_NAME: dict[str, TypeEntry] = {entry.name: entry for entry in TYPES}
