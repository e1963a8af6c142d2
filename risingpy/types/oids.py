"""pg_type OIDs → types of ours, for what clients declare."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.types.families import FAMILIES
from risingpy.types.sql_type import BARE_TYPES, UNKNOWN, VARCHAR, SqlType, array_of
from risingpy.types.system_families import SYSTEM_FAMILIES
from risingpy.types.system_types import SYSTEM_TYPES


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


_TYPES = dict(_by_oid())


def type_by_oid(oid: int) -> SqlType | None:
    """The type that holds a value of that OID, an array's too; None if there is none."""
    return _TYPES.get(oid) if oid else None
