"""What ALTER COLUMN … TYPE does to structs: their fields go by name, as in RisingWave, in arrays and maps too.

A cast of one struct to another goes by position, as in PostgreSQL, which has no ALTER of an anonymous row's type.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import SqlType, TypeKind


def with_fields_of(expr: Expr, target: SqlType) -> Expr:
    """`expr` with the structs' fields of `target`, found by name; a field that is there keeps its type."""
    shape = _shape(expr.type, target)
    return expr if shape == expr.type else Call("fields_by_name", (expr, Literal(None, shape)), shape)


def _shape(source: SqlType, target: SqlType) -> SqlType:
    """`source` with the structs' fields of `target`: those of new names in their types."""
    if source.kind is not target.kind or not source.items:
        return source
    if source.kind is not TypeKind.STRUCT:
        return replace(source, items=tuple(map(_shape, source.items, target.items)))
    known = dict(zip(source.names, source.items, strict=True))
    pairs = zip(target.names, target.items, strict=True)
    items = tuple(_shape(known[name], wanted) if name in known else wanted for name, wanted in pairs)
    return replace(source, names=target.names, items=items)
