"""enum_first, enum_last and enum_range: the labels of an enum, of which the arguments say no more than the type."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.errors import DatatypeMismatch, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.context import SystemUse
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import SqlType, TypeKind, array_of
from risingpy.types.enums.enumeration import labels_of


def _enum_of(name: str, args: list[Operand], position: int) -> SqlType:
    """The enum that the arguments are of. Raises 42804 if none has a type, 42883 for other types."""
    known = [arg.type for arg in args if arg.type.kind is not TypeKind.UNKNOWN]
    if args and not known:
        message = "could not determine polymorphic type because input has type unknown"
        raise DatatypeMismatch(message, position=position)
    same = {type_.oid for type_ in known}
    if not known or len(same) > 1 or known[0].kind is not TypeKind.ENUM:
        raise no_function(name, args, position)
    return known[0]


def _end(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """enum_first and enum_last."""
    if len(args) != 1:
        raise no_function(name, args, position)
    enum = _enum_of(name, args, position)
    # A view would keep what the labels are now, and ALTER TYPE adds others.
    binder.context.system_uses.append(SystemUse(name, position))
    labels = labels_of(enum)
    if not labels:
        raise SqlError(f"enum {enum.name} contains no values", sqlstate="55000")
    return Literal(labels[0 if name == "enum_first" else -1].number, enum)


def _range(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """All labels, or those from one to another, NULL standing for the first or the last."""
    if len(args) not in (1, 2):
        raise no_function(name, args, position)
    enum = _enum_of(name, args, position)
    binder.context.system_uses.append(SystemUse(name, position))
    numbers = tuple(label.number for label in labels_of(enum))
    every = Literal(numbers, array_of(enum))
    if len(args) == 1:
        return every
    bounds = [binder.context.coercer.coerce(arg, enum, Context.IMPLICIT) for arg in args]
    match bounds:
        case [Literal(int() | None as least), Literal(int() | None as greatest)]:
            chosen = (n for n in numbers if (least is None or n >= least) and (greatest is None or n <= greatest))
            return Literal(tuple(chosen), every.type)
    return Call("enum_range", (every, *bounds), every.type)


ENUM_FUNCTIONS: dict[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = {
    "enum_first": _end,
    "enum_last": _end,
    "enum_range": _range,
}
