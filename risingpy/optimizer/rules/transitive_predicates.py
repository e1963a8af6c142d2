"""Copies filters on one column to the columns that a join makes equal to it. A part of predicate pushdown.

    Filter(a.x = 1; Inner(a.x = b.x; a, Inner(b.x = c.x; b, c)))  =>  also b.x = 1 and c.x = 1

    Filter(a.x = 1; Left(a.x = b.x; a, b))  =>  also b.x = 1, in b alone

An outer, semi or anti join has a side whose rows count only where they match: those are left out that no row of the
other side can match. Only comparisons with constants, and AND, OR and NOT of them, are copied: they cannot fail. The
other column has rows that the join drops, and a filter must not raise an error for these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.optimizer.rules.equal_columns import EqualColumns
from risingpy.plan.expression_trees import columns_read, conjuncts, remapped, shifted
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, operands
from risingpy.plan.logical import Filter, Join, JoinKind, LogicalPlan

_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
_KEEPS_LEFT = frozenset({JoinKind.LEFT, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})
_SAFE = frozenset({"in", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "is_not_null", "is_true", "is_false"})


def transitive_predicates(plan: Join, predicates: Sequence[Expr]) -> list[Expr]:
    """Conditions that follow from `predicates` over the output of `plan`; none unless `plan` is an inner join."""
    if plan.kind not in _INNER:
        return []
    known = [*predicates, *_conditions(plan)]
    copies = _copies(known, EqualColumns.of(known))
    return list(dict.fromkeys(each for each in copies if each not in known))


def predicates_of_matches(plan: Join, predicates: Sequence[Expr]) -> list[Expr]:
    """Conditions on the side of `plan` whose rows count only where they match, over the left and the right columns.

    They follow from `predicates` over its output, and from what holds for the other side.
    """
    keeps_left = plan.kind in _KEEPS_LEFT
    if plan.condition is None or not (keeps_left or plan.kind is JoinKind.RIGHT):
        return []
    split = len(plan.left.schema)
    left = list(_conditions(plan.left))
    right = [shifted(each, split) for each in _conditions(plan.right)]
    kept, other = (left, right) if keeps_left else (right, left)
    kept += [each for each in predicates if all((column < split) is keeps_left for column in columns_read(each))]
    copies = _copies(kept, EqualColumns.of([*kept, *conjuncts(plan.condition)]))
    found = (each for each in copies if all((column < split) is not keeps_left for column in columns_read(each)))
    return list(dict.fromkeys(each for each in found if each not in other))


def _copies(known: Sequence[Expr], equal: EqualColumns) -> Iterator[Expr]:
    """The conditions on one column, each for every column that equals it."""
    for predicate in known:
        read = columns_read(predicate)
        if len(read) == 1 and _cannot_fail(predicate):
            (column,) = read
            yield from (remapped(predicate, {column: other}) for other in equal.members(column))


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
