"""Copies filters on one column to the columns that a join makes equal to it. A part of predicate pushdown.

    Filter(a.x = 1; Inner(a.x = b.x; a, Inner(b.x = c.x; b, c)))  =>  also b.x = 1 and c.x = 1

Only comparisons with constants, and AND, OR and NOT of them, are copied: they cannot fail. The other column has rows
that the join drops, and a filter must not raise an error for these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.optimizer.rules.equal_columns import EqualColumns
from risingpy.plan.expression_trees import columns_read, conjuncts, remapped, shifted
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, operands
from risingpy.plan.logical import Filter, Join, JoinKind, LogicalPlan

_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
_SAFE = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "is_not_null", "is_true", "is_false"})


def transitive_predicates(plan: Join, predicates: Sequence[Expr]) -> list[Expr]:
    """Conditions that follow from `predicates` over the output of `plan`; none unless `plan` is an inner join."""
    if plan.kind not in _INNER:
        return []
    known = [*predicates, *_conditions(plan)]
    equal = EqualColumns.of(known)
    found: list[Expr] = []
    for predicate in known:
        read = columns_read(predicate)
        if len(read) != 1 or not _cannot_fail(predicate):
            continue
        (column,) = read
        for other in equal.members(column):
            moved = remapped(predicate, {column: other})
            if moved not in known and moved not in found:
                found.append(moved)
    return found


def _conditions(plan: LogicalPlan) -> Iterator[Expr]:
    """All conditions that hold for the output of nested inner joins and filters."""
    match plan:
        case Join() if plan.kind in _INNER:
            if plan.condition is not None:
                yield from conjuncts(plan.condition)
            yield from _conditions(plan.left)
            for condition in _conditions(plan.right):
                yield shifted(condition, len(plan.left.schema))
        case Filter():
            yield from conjuncts(plan.predicate)
            yield from _conditions(plan.input)


def _cannot_fail(expr: Expr) -> bool:
    match expr:
        case InputRef() | Literal():
            return True
        case Call(function) if function in _SAFE:
            return all(_cannot_fail(part) for part in operands(expr))
        case _:
            return False
