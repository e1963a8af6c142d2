"""Moves NOT inwards, as far as the condition stays true, false and NULL for the same rows.

NOT (a > 1 OR b <= 2)  =>  a <= 1 AND b > 2
"""

from __future__ import annotations

from risingpy.plan.expressions import Call, Expr
from risingpy.types import BOOLEAN

_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq", "and": "or", "or": "and"}


def positive(condition: Expr) -> Expr:
    """The condition with no NOT around comparisons, ANDs and ORs."""
    match condition:
        case Call("and" | "or" as function, parts):
            return Call(function, tuple(positive(part) for part in parts), BOOLEAN)
        case Call("not", (negated,)):
            return _negation(negated)
        case _:
            return condition


def _negation(condition: Expr) -> Expr:
    match condition:
        case Call("not", (negated,)):
            return positive(negated)
        case Call("and" | "or" as function, parts):
            return Call(_NEGATED[function], tuple(_negation(part) for part in parts), BOOLEAN)
        case Call(function, parts) if function in _NEGATED:
            return Call(_NEGATED[function], parts, BOOLEAN)
        case _:
            return Call("not", (condition,), BOOLEAN)


def disjuncts(condition: Expr) -> list[Expr]:
    """The parts of a disjunction."""
    match condition:
        case Call("or", (left, right)):
            return disjuncts(left) + disjuncts(right)
        case _:
            return [condition]
