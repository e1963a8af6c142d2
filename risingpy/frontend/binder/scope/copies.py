"""Operands that BETWEEN and CASE read in several places: bound once, unless a copy costs little."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.functions.topics.python_functions import VOLATILE
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.plan.expression_trees import LET, OPERAND, operand_of, walk
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal, Parameter, Subquery
from risingpy.types import TypeKind

# Nodes of all copies of an operand that is copied all the same: rules see through copies, to ranges of keys and of
# time, and DuckDB plans them faster than inner SELECTs.
_FEW = 120
# Their types depend on where they stand, and rows are compared field by field.
_UNSETTLED = frozenset({TypeKind.UNKNOWN, TypeKind.STRUCT, TypeKind.MAP})


def bound_once(operand: Operand, write: Callable[[Operand], Expr], copies: int) -> Expr:
    """What `write` makes of the operand, which it may use as often as `copies` says."""
    if copies < 2 or operand.type.kind in _UNSETTLED or _is_cheap(operand.expr, copies):
        return write(operand)
    body = write(Operand(operand_of(operand.type), operand.where))
    return Call(LET, (operand.expr, body, OPERAND), body.type)


def _is_cheap(expr: Expr, copies: int) -> bool:
    """Whether the expression is a column or a constant, with a cast or without, or all its copies are small."""
    inner = expr.arg if isinstance(expr, Cast) else expr
    if isinstance(inner, InputRef | Literal | Parameter):
        return True
    parts = list(islice(walk(expr), _FEW + 1))
    return copies * len(parts) <= _FEW and not any(map(_is_once_only, parts))


def _is_once_only(part: Expr) -> bool:
    """Whether it has another value each time, or a cost that its nodes do not show."""
    volatile = isinstance(part, Call) and part.function in VOLATILE | NON_DETERMINISTIC
    return volatile or isinstance(part, Subquery)
