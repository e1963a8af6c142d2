"""COLLATE: texts are ordered by code point, so that of all collations only those are known that do it too."""

from __future__ import annotations

from risingpy.errors import DatatypeMismatch, UndefinedObject
from risingpy.types import SqlType, TypeKind

_COLLATIONS = ("default", "C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic")


def check_collation(name: str, sql_type: SqlType, position: int) -> None:
    """Raises UndefinedObject for an unknown collation, DatatypeMismatch for values that have none."""
    if name not in _COLLATIONS:
        raise UndefinedObject(f'collation "{name}" for encoding "UTF8" does not exist', position=position)
    if not sql_type.is_text and sql_type.kind is not TypeKind.UNKNOWN:
        raise DatatypeMismatch(f"collations are not supported by type {sql_type.name}", position=position)
