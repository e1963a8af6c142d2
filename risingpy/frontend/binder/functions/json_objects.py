"""json_object and jsonb_object: of arrays of texts with one dimension, or two.

jsonb_object('{{a,1},{b,2}}')  =>  jsonb_object(text[][]): a written array has as many dimensions as its braces say

Other numbers of dimensions are an error where a value is computed, as in PostgreSQL, whose types do not tell them.
"""

from __future__ import annotations

import re

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import JSONB, VARCHAR, SqlType, TypeKind, array_of

_BRACES = re.compile(r"(?:[^{]*=)?[\s{]*")  # after bounds


def bind_json_object(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The call over arrays whose depths are those of the arguments."""
    if len(args) not in (1, 2) or all(_depth(arg) == 1 for arg in args):
        return binder.calls.function(name, args, position)
    if not all(arg.type.kind is TypeKind.UNKNOWN or arg.type.leaf.is_text for arg in args):
        raise no_function(name, args, position)
    coerce = binder.context.coercer.coerce
    arrays = tuple(coerce(arg, _texts(_depth(arg)), Context.IMPLICIT) for arg in args)
    return Call(name, arrays, JSONB)


def _depth(arg: Operand) -> int:
    if isinstance(arg.expr, Literal) and arg.type.kind is TypeKind.UNKNOWN and isinstance(arg.expr.value, str):
        braces = _BRACES.match(arg.expr.value)
        assert braces is not None
        return max(braces[0].count("{"), 1)
    return arg.type.depth or 1


def _texts(depth: int) -> SqlType:
    return array_of(_texts(depth - 1)) if depth else VARCHAR
