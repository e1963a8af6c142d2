"""The functions that read and write a type's text and binary form: pg_type names them, and drivers know the names.

No client calls them. Their oids are PostgreSQL's; those of types that are ours alone lie below our other functions'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from risingpy.types.families import FAMILIES, MULTIRANGE_OF, TypeKind
from risingpy.types.system_families import SYSTEM_FAMILIES

_PURPOSES = ("in", "out", "recv", "send")
_SHARED = dict.fromkeys(MULTIRANGE_OF, "range") | dict.fromkeys(MULTIRANGE_OF.values(), "multirange")
_TEXT = TypeKind.UNKNOWN  # which has the functions of the system type text


@dataclass(frozen=True, slots=True)
class TypeFunction:
    """A function of a type's: `type_name` is "array", "range" or "multirange" for those that all of that kind share."""

    oid: int
    name: str
    type_name: str
    purpose: str


def _functions() -> Iterable[TypeFunction]:
    kinds = {_SHARED.get(kind, family.name): family for kind, family in FAMILIES.items() if kind is not _TEXT}
    owners = [(name, each.functions, each.function_prefix) for name, each in kinds.items()]
    owners += [(name, each.functions, each.function_prefix) for name, each in SYSTEM_FAMILIES.items() if each.functions]
    for type_name, oids, prefix in owners:
        for purpose, oid in zip(_PURPOSES, oids, strict=True):
            if oid:
                yield TypeFunction(oid, prefix + purpose, type_name, purpose)


TYPE_FUNCTIONS: tuple[TypeFunction, ...] = tuple(_functions())
_OIDS = {(function.type_name, function.purpose): function.oid for function in TYPE_FUNCTIONS}


def function_oids(type_name: str) -> tuple[int, int, int, int]:
    """pg_type's typinput, typoutput, typreceive and typsend; 0 for a type that no value here has."""
    read, written, received, sent = (_OIDS.get((type_name, purpose), 0) for purpose in _PURPOSES)
    return read, written, received, sent
