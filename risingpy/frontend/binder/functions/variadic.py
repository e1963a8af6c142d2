"""VARIADIC: an array whose elements are a call's last arguments.

f(a, VARIADIC ARRAY[b, c])              =>  f(a, b, c)
jsonb_extract_path(j, VARIADIC path)    =>  j #> path
concat_ws(',', VARIADIC list)           =>  array_to_string(list, ',')
jsonb_build_array(VARIADIC list)        its elements, whatever its dimensions
int4multirange(VARIADIC ranges)         the multirange of an array
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, FeatureNotSupported
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.multiranges import MULTIRANGE_FUNCTIONS
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.signatures import SCALARS
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import VARCHAR, TypeKind, array_of
from risingpy.types.ranges.multiranges import RANGE_OF
from risingpy.types.system_types import TEXT

_OF_ELEMENTS = {"jsonb_build_array": "JSONB_BUILD_ARRAY_OF", "jsonb_build_object": "JSONB_BUILD_OBJECT_OF"}
_PATHS = {"jsonb_extract_path": "#>", "jsonb_extract_path_text": "#>>"}


def written_out(name: str, arguments: Sequence[exp.Expr]) -> list[exp.Expr] | None:
    """The arguments with the elements of a written array in its place; None if it is no such array.

    Also None if the function takes so many arguments as its signature has, or takes only elements of one type.
    """
    last = arguments[-1].this
    if not isinstance(last, exp.Array) or not last.expressions or not _takes_any_number(name) or name in _OF_ELEMENTS:
        return None
    return [*arguments[:-1], *last.expressions]


def _takes_any_number(name: str) -> bool:
    return name in MULTIRANGE_FUNCTIONS or any(each.variadic for each in SCALARS.get(name, ()))


def bind_variadic(binder: ExpressionBinder, name: str, arguments: Sequence[exp.Expr], position: int) -> Expr:
    """The call with an array that is computed. Raises 42804 for what is none, 42883 and 0A000 for other functions."""
    given, array = [binder.bind(each) for each in arguments[:-1]], binder.bind(arguments[-1].this)
    if not _takes_any_number(name):
        raise no_function(name, [*given, array], position)
    if array.type.kind not in (TypeKind.ARRAY, TypeKind.UNKNOWN):
        raise DatatypeMismatch("VARIADIC argument must be an array", position=array.position)
    if name in _OF_ELEMENTS:
        return _of_elements(binder, name, given, array, position)
    match name, given:
        case _, [] if name in MULTIRANGE_FUNCTIONS:
            wanted = array_of(RANGE_OF[TypeKind(name)])
            if array.type.kind is TypeKind.ARRAY and array.type != wanted:
                raise no_function(name, [array], position)
            ranges = binder.context.coercer.coerce(array, wanted, Context.IMPLICIT)
            return binder.calls.form("MULTIRANGE_OF", [Operand(ranges, array.where)], name)
        case _, [value] if name in _PATHS:
            return binder.calls.operator(_PATHS[name], [value, array], position)
        case "concat", []:
            nothing = Operand(Literal("", VARCHAR), position)
            return binder.calls.function("array_to_string", [array, nothing], position)
        case "concat_ws", [separator]:
            return binder.calls.function("array_to_string", [array, separator], position)
        case "format", [template]:
            if array.type.kind is TypeKind.UNKNOWN:
                array = Operand(binder.context.coercer.coerce(array, array_of(TEXT), Context.IMPLICIT), array.where)
            text = binder.context.coercer.coerce(template, TEXT, Context.IMPLICIT)
            return Call("format_array", (text, array.expr), TEXT)
    hint = "Write the array's elements as arguments, or VARIADIC ARRAY[…]."
    raise FeatureNotSupported(f"VARIADIC of {name} is not supported", position=position, hint=hint)


def _of_elements(binder: ExpressionBinder, name: str, given: Sequence[Operand], array: Operand, position: int) -> Expr:
    """A function that takes arguments of any types: those of an array, and then no other."""
    if array.type.kind is TypeKind.UNKNOWN:
        raise DatatypeMismatch("VARIADIC argument must be an array", position=array.position)
    if given:
        raise no_function(name, [*given, array], position)
    return binder.calls.form(_OF_ELEMENTS[name], [array], name)
