"""Whether a plan turns values of an enum into texts, or texts into its values.

The rows that it has computed keep what the labels were then. A plan that only moves, orders, groups and compares values
needs no label: it goes on whatever the labels are called, and however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.plan.enum_forms import enums_in, parts_of
from risingpy.plan.expressions import Call, Cast, Literal
from risingpy.types import SqlType, TypeKind

_TEXTS = frozenset({TypeKind.VARCHAR, TypeKind.CHARACTER, TypeKind.JSONB, TypeKind.BYTEA})
_PARTS = frozenset({"field"})  # gives another part of a row than the enum


def makes_texts_of_enums(plan: object, oid: int) -> bool:
    """Whether some expression of the plan has texts of the enum's labels as its result."""
    for each in _computed(plan):
        if isinstance(each, Cast):
            if oid in enums_in(each.arg.type) and oid not in enums_in(each.type):
                return True
        elif each.function not in _PARTS and _has_text(each.type) and oid not in enums_in(each.type):
            args = tuple(arg.type for arg in each.args)
            if oid in enums_in(args):
                return True
    return False


def makes_enums_of_texts(plan: object, oid: int) -> bool:
    """Whether some expression of the plan reads labels of the enum from what is no constant."""
    for each in _computed(plan):
        args = (each.arg,) if isinstance(each, Cast) else each.args
        if oid not in enums_in(each.type) or all(isinstance(arg, Literal) for arg in args):
            continue
        if not any(oid in enums_in(arg.type) for arg in args):
            return True
    return False


def _has_text(type_: SqlType) -> bool:
    return type_.kind in _TEXTS or any(map(_has_text, type_.items))


def _computed(plan: object) -> Iterator[Call | Cast]:
    """The calls and casts anywhere in a plan."""
    return (part for part in parts_of(plan) if isinstance(part, Call | Cast))
