"""Types as JSON: in the definitions of users' functions, and in the names of functions that SQL text calls."""

from __future__ import annotations

import json
from typing import Any

from risingpy.types import SqlType, TypeKind


def packed(type_: SqlType) -> list[Any]:
    """The type as lists, numbers and texts that JSON knows. Whether a numeric was declared is left out."""
    plain = [type_.kind.value, type_.precision, type_.scale, type_.length]
    return [*plain, [packed(item) for item in type_.items], list(type_.names)]


def unpacked(value: list[Any]) -> SqlType:
    """The inverse of `packed`."""
    kind, precision, scale, length, items, names = value
    inner = tuple(unpacked(item) for item in items)
    return SqlType(TypeKind(kind), precision, scale, length=length, items=inner, names=tuple(names))


def packed_type(type_: SqlType) -> str:
    """The type as a text."""
    return json.dumps(packed(type_), separators=(",", ":"))


def type_of_packed(text: str) -> SqlType:
    """The inverse of `packed_type`."""
    return unpacked(json.loads(text))
