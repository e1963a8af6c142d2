"""Expressions that fail for ordinary values, a 0 or a text that is no number: who moves them must look.

What fails only for values near a type's limits (`a + b`) is not among them: nearly all expressions would be.
"""

from __future__ import annotations

from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Cast, Expr
from risingpy.types import TypeKind

_FUNCTIONS = frozenset({"divide", "modulo", "div", "sqrt", "ln", "log10", "power", "sqrt_numeric", "ln_numeric"})
_DIFFERENCES = frozenset({"subtract", "difference"})
_DATES = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
_TEXTS = frozenset({TypeKind.VARCHAR, TypeKind.JSONB})


def may_fail(expr: Expr, *, at_infinity: bool = False) -> bool:
    """Whether a part of the expression is such a one; with `at_infinity`, or one that fails for infinite dates."""
    return any(_fails(part) or (at_infinity and _is_of_dates(part)) for part in walk(expr))


def _fails(part: Expr) -> bool:
    if isinstance(part, Call):
        return part.function in _FUNCTIONS
    return isinstance(part, Cast) and part.arg.type.kind in _TEXTS and part.type.kind not in _TEXTS


def _is_of_dates(part: Expr) -> bool:
    return isinstance(part, Call) and part.function in _DIFFERENCES and part.args[0].type.kind in _DATES
