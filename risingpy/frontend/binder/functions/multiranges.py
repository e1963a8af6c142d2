"""Constructors of multiranges, and the aggregates that make one value of many ranges.

int4multirange(r, s)    the signature table's function of ARRAY[r, s]
range_agg(r)            the function of array_agg(r), whose rows can be taken back
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.errors import SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import SqlType, TypeKind, array_of
from risingpy.types.families import MULTIRANGE_OF
from risingpy.types.ranges.multiranges import NO_RANGES, RANGE_OF

RANGE_AGGREGATES = frozenset({"range_agg", "range_intersect_agg"})


def _made(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """`int4multirange(…)` of no range, one or several; of one text or multirange it is a cast."""
    type_, one = SqlType(TypeKind(name)), RANGE_OF[TypeKind(name)]
    if not args:
        return Literal(NO_RANGES, type_)
    if len(args) == 1 and (
        args[0].type.kind is TypeKind.UNKNOWN or args[0].type.kind is type_.kind or args[0].type.is_text
    ):
        return binder.context.coercer.coerce(args[0], type_, Context.EXPLICIT)
    if not all(can_coerce(arg.type, one, Context.IMPLICIT) for arg in args):
        raise no_function(name, args, position)
    if len(args) == 1:
        return binder.calls.function(name, args, position)
    ranges = tuple(binder.context.coercer.coerce(arg, one, Context.IMPLICIT) for arg in args)
    listed = Operand(Call("array", ranges, array_of(one)), position)
    return binder.calls.form("MULTIRANGE_OF", [listed], name)


MULTIRANGE_FUNCTIONS: dict[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = {
    kind.value: _made for kind in MULTIRANGE_OF.values()
}


def ranges_together(binder: ExpressionBinder, name: str, array: Expr, position: int) -> Expr:
    """range_agg and range_intersect_agg of the array of all rows' ranges. Raises 42883 for what are no ranges."""
    element = array.type.element
    if not (element.is_range or element.is_multirange):
        raise no_function(name, [Operand(Literal(None, element), position)], position)
    return binder.calls.form(name.upper(), [Operand(array, position)], name)


def unnested(binder: ExpressionBinder, operands: Sequence[Operand], position: int) -> tuple[Expr, ...]:
    """The lists whose elements unnest gives: all that an array of whatever depth holds, and the ranges of a multirange.

    Raises 42883 for other types, and 42725 for an unknown literal.
    """
    if not operands:
        raise no_function("unnest", [], position)
    return tuple(_list_of(binder, operand, position) for operand in operands)


def _list_of(binder: ExpressionBinder, operand: Operand, position: int) -> Expr:
    match operand.type.kind:
        case TypeKind.ARRAY if operand.type.depth == 1:
            return operand.expr
        case TypeKind.ARRAY:
            return Call("array_leaves", (operand.expr,), array_of(operand.type.leaf))
        case TypeKind.UNKNOWN:
            raise SqlError("function unnest(unknown) is not unique", sqlstate="42725", position=position)
    if operand.type.is_multirange:
        return binder.calls.form("RANGES_OF", [operand], "unnest")
    raise no_function("unnest", [operand], position)
