"""nextval, currval, setval, lastval: calls with the sequence's oid, which the session answers when they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN
from risingpy.types.system_types import REGCLASS, TEXT, is_oid


def _named(binder: ExpressionBinder, given: Operand) -> Expr:
    """The oid of the sequence that a text names, or that stands there as a number."""
    if given.type.is_integer and not is_oid(given.type):
        return Cast(Cast(given.expr, BIGINT), REGCLASS)
    return binder.context.coercer.coerce(given, REGCLASS, Context.EXPLICIT)


def _next_value(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 1:
        raise no_function(name, args, position)
    return Call("nextval", (_named(binder, args[0]), Literal(True, BOOLEAN)), BIGINT)


def _of_one(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """`currval` and `pg_sequence_last_value`."""
    if len(args) != 1:
        raise no_function(name, args, position)
    return Call(name, (_named(binder, args[0]),), BIGINT)


def _last_value(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if args:
        raise no_function(name, args, position)
    return Call(name, (Literal(True, BOOLEAN),), BIGINT)


def _set_value(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) not in (2, 3):
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    value = coercer.coerce(args[1], BIGINT, Context.IMPLICIT)
    called = coercer.coerce(args[2], BOOLEAN, Context.IMPLICIT) if len(args) == 3 else Literal(True, BOOLEAN)
    return Call(name, (_named(binder, args[0]), value, called), BIGINT)


def _serial_sequence(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The name of the sequence that a column owns."""
    if len(args) != 2:
        raise no_function(name, args, position)
    texts = tuple(binder.context.coercer.coerce(arg, TEXT, Context.IMPLICIT) for arg in args)
    return Call(name, texts, TEXT)


SEQUENCE_FUNCTIONS: Mapping[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = MappingProxyType(
    {
        "nextval": _next_value,
        "currval": _of_one,
        "pg_sequence_last_value": _of_one,
        "lastval": _last_value,
        "setval": _set_value,
        "pg_get_serial_sequence": _serial_sequence,
    }
)
