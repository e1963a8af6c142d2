"""Operands: nodes with their types as PostgreSQL has them, and texts that have no type yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.errors import SqlError
from risingpy.frontend.binder.typing.constants import typed_literal
from risingpy.frontend.deparse import types_shown
from risingpy.frontend.deparse.nodes import Node, PrintedConstant
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.plan.expressions import Literal
from risingpy.types import UNKNOWN, SqlType, TypeKind
from risingpy.types.system_types import TEXT


@dataclass(frozen=True, slots=True)
class Typed:
    """A node and its type. An unknown literal is of type UNKNOWN, and `text` is what stands in it, None for NULL."""

    node: Node
    type: SqlType
    text: str | None = None

    @property
    def is_unknown(self) -> bool:
        return self.type.kind is TypeKind.UNKNOWN


def unknown(text: str | None) -> Typed:
    """A literal without a type."""
    return Typed(PrintedConstant(""), UNKNOWN, text)


def as_type(operand: Typed, wanted: SqlType) -> Node:
    """The operand where `wanted` is taken: a literal of that type, or a cast if there is one to be shown."""
    if not operand.is_unknown:
        return types_shown.cast(operand.node, operand.type, wanted)
    if operand.text is None:
        return types_shown.constant(Literal(None, wanted), wanted)
    held = types_shown.plain(wanted)
    try:
        literal = typed_literal(operand.text, held, "UTC", 1)
    except SqlError as error:
        raise Unprinted("a literal of another type") from error
    if not isinstance(literal, Literal):
        raise Unprinted("a literal that means another time later")
    return types_shown.constant(literal, held)


def settled(operand: Typed) -> Typed:
    """An unknown literal as text."""
    return Typed(as_type(operand, TEXT), TEXT) if operand.is_unknown else operand


def common(operands: Sequence[Typed], bound: SqlType) -> SqlType:
    """The common type of operands, which the binder found to be `bound`; of texts the first one that has a type."""
    if bound.kind is not TypeKind.VARCHAR:
        return types_shown.plain(bound)
    known = [operand.type for operand in operands if not operand.is_unknown]
    return types_shown.plain(known[0]) if known else TEXT
