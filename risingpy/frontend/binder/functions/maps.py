"""Functions on maps, and those on arrays whose result is of another type than their arguments'; all RisingWave's.

map_insert(map(varchar, integer), 'k', 1)    the key and the value become what the map has
map_cat(a, b)                                the common type of both
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import check_map_key
from risingpy.frontend.binder.scope.aggregates import make_aggregate
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import BOOLEAN, INTEGER, VARCHAR, SqlType, TypeKind, array_of, map_of, struct_of

Bind = Callable[[ExpressionBinder, str, list[Operand], int], Expr]
_ENTRY = ("key", "value")


def _checked(kinds: Sequence[TypeKind | None], bind: Bind) -> Bind:
    """`bind` for arguments of these kinds; None is any. Another call is one of an undefined function."""

    def checked(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
        args = [Operand(binder.context.coercer.settled(a), a.where) if a.type.kind is TypeKind.MAP else a for a in args]
        fits = len(args) == len(kinds) and all(k in (None, a.type.kind) for k, a in zip(kinds, args, strict=True))
        if not fits:
            raise no_function(name, args, position)
        return bind(binder, name, args, position)

    return checked


def _of_map(result: Callable[[SqlType, SqlType], SqlType]) -> Bind:
    """Of a map alone; `result` says the type, of those of the keys and of the values."""
    return _checked(
        [TypeKind.MAP], lambda binder, name, args, position: Call(name, (args[0].expr,), result(*args[0].type.items))
    )


def _with_key(result: Callable[[SqlType], SqlType]) -> Bind:
    def bind(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
        key = binder.context.coercer.exactly(args[1], args[0].type.items[0])
        return Call(name, (args[0].expr, key), result(args[0].type))

    return _checked([TypeKind.MAP, None], bind)


def _from_entries(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    entry = args[0].type.element
    if entry.kind is not TypeKind.STRUCT or len(entry.items) != len(_ENTRY):
        raise no_function(name, args, position)
    known = [VARCHAR if item.kind is TypeKind.UNKNOWN else item for item in entry.items]
    check_map_key(known[0], position)
    entries, wanted = args[0].expr, array_of(replace(entry, items=tuple(known)))
    if entries.type != wanted:
        entries = Literal(entries.value, wanted) if isinstance(entries, Literal) else Cast(entries, wanted)
    return Call(name, (entries,), map_of(*known))


def _from_key_values(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    keys, values = (arg.type.element for arg in args)
    check_map_key(keys, position)
    return Call(name, tuple(arg.expr for arg in args), map_of(keys, values))


def _cat(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    kinds = {arg.type.kind for arg in args}
    if len(args) != 2 or TypeKind.MAP not in kinds or not kinds <= {TypeKind.MAP, TypeKind.UNKNOWN}:
        raise no_function(name, args, position)
    exprs, common = binder.context.coercer.to_common_type(args, name)
    return Call(name, tuple(exprs), common)


def _insert(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    parts = zip(args[1:], args[0].type.items, strict=True)
    exprs = [binder.context.coercer.exactly(arg, wanted) for arg, wanted in parts]
    return Call(name, (args[0].expr, *exprs), args[0].type)


def _array_sum(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Typed as the aggregate of the elements."""
    element = Operand(Literal(None, args[0].type.element), args[0].where)
    coercer = binder.context.coercer
    total = make_aggregate(coercer, "sum", [element], position, distinct=False, condition=None)
    return Call(name, (args[0].expr,), total.type)


def _array_flatten(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if args[0].type.depth == 1:
        raise no_function(name, args, position)
    return Call(name, (args[0].expr,), args[0].type.element)


MAP_FUNCTIONS: dict[str, Bind] = {
    "map_from_entries": _checked([TypeKind.ARRAY], _from_entries),
    "map_from_key_values": _checked([TypeKind.ARRAY, TypeKind.ARRAY], _from_key_values),
    "map_access": _with_key(lambda given: given.items[1]),
    "map_contains": _with_key(lambda given: BOOLEAN),
    "map_keys": _of_map(lambda key, value: array_of(key)),
    "map_values": _of_map(lambda key, value: array_of(value)),
    "map_entries": _of_map(lambda key, value: array_of(struct_of(_ENTRY, (key, value)))),
    "map_length": _of_map(lambda key, value: INTEGER),
    "map_cat": _cat,
    "map_insert": _checked([TypeKind.MAP, None, None], _insert),
    "map_delete": _with_key(lambda given: given),
    "array_sum": _checked([TypeKind.ARRAY], _array_sum),
    "array_flatten": _checked([TypeKind.ARRAY], _array_flatten),
}
