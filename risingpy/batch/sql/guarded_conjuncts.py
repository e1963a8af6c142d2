"""Keeps the order of a filter's parts where it matters: DuckDB evaluates the parts of an AND in its own order.

    x <> 0 AND 10 / x > 1  =>  x <> 0 AND CASE WHEN x <> 0 THEN 10 / x > 1 ELSE false END

Only a part that may fail is guarded, by the parts before it that cannot fail. Those stay unchanged, for scans and joins
to use.
"""

from __future__ import annotations

from risingpy.optimizer.may_fail import may_fail
from risingpy.optimizer.rewrite import is_volatile
from risingpy.plan.expression_trees import conjunction, conjuncts
from risingpy.plan.expressions import Case, Expr, Literal
from risingpy.types import BOOLEAN

_MOST_GUARDS = 8  # of one part: each guard is written again


def guarded_conjuncts(predicate: Expr) -> Expr:
    """The predicate with guards, so that no part fails for rows that an earlier part drops."""
    parts = conjuncts(predicate)
    made: list[Expr] = []
    before: list[Expr] = []
    for part in parts:
        if not may_fail(part):
            if not is_volatile(part):
                before.append(part)
            made.append(part)
            continue
        guard = conjunction(before[:_MOST_GUARDS])
        made.append(part if guard is None else Case(((guard, part),), Literal(False, BOOLEAN), BOOLEAN))
    whole = conjunction(made)
    return predicate if whole is None else whole
