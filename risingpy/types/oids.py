"""pg_type OIDs → types of ours, for what clients declare.

An array's OID does not tell its depth, on which our types depend. What a session is told of a parameter whose value has
come is therefore `declared(type)`: the OID, and above its 32 bits how many dimensions more than one there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.types.families import FAMILIES
from risingpy.types.sql_type import BARE_TYPES, UNKNOWN, VARCHAR, SqlType, array_of
from risingpy.types.system_families import SYSTEM_FAMILIES
from risingpy.types.system_types import SYSTEM_TYPES, VOID


def _by_oid() -> Iterable[tuple[int, SqlType]]:
    """Each OID with the type that holds its values; a value of a type that is shown by a name comes as that name."""
    for kind, type_ in BARE_TYPES.items():
        yield FAMILIES[kind].oid, type_
        yield FAMILIES[kind].array_oid, array_of(type_)
    for name, type_ in SYSTEM_TYPES.items():
        family = SYSTEM_FAMILIES[name]
        held = VARCHAR if type_.is_text or family.names_object else type_
        yield family.oid, held
        if not family.element:  # no column is an array of vectors
            yield family.array_oid, array_of(held)
    yield SYSTEM_FAMILIES["unknown"].oid, UNKNOWN
    yield SYSTEM_FAMILIES["void"].oid, VOID


_TYPES = dict(_by_oid())
_OID_BITS = 32


def type_by_oid(oid: int) -> SqlType | None:
    """The type that holds a value of that OID, an array's too; None if there is none."""
    return _TYPES.get(oid) if oid else None


def declared(type_: SqlType) -> int:
    """The type as a session is told it."""
    return type_.oid | max(type_.depth - 1, 0) << _OID_BITS


def oid_and_depth(number: int) -> tuple[int, int]:
    """(The OID, how many dimensions more than one) of what `declared` gave, or of an OID alone."""
    return number & ((1 << _OID_BITS) - 1), number >> _OID_BITS
