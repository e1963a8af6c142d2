"""Says of a join by ranges which bounds of the two sides are in order, as plain comparisons beside the operator.

    Inner(a.r && b.r; a, b)  =>  Inner(a.r && b.r AND low(a.r) <= high(b.r) AND high(a.r) >= low(b.r); a, b)
    Inner(a.r @> b.r; a, b)  =>  Inner(a.r @> b.r AND low(a.r) <= low(b.r) AND high(a.r) >= low(b.r); a, b)
    Inner(a.r @> b.x; a, b)  =>  as if b.x were the range [b.x, b.x]

The comparisons follow from the operator. A bound is a place on a line, whose bytes order as places do (`types.ranges`):
with two of them a query of DuckDB's sorts both sides instead of calling the operator for each pair, and the stream's
join looks its pairs up in sorted bounds (`executors.join.intervals`). The empty range overlaps nothing, so its bounds
are NULL. But each range contains it: as the contained one it is after all places in one comparison and before all of
them in the other. As the one that contains it lies the other way around, so that both hold for another empty one only.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.plan.logical import Join, JoinKind, LogicalPlan
from risingpy.types import BOOLEAN, BYTEA, VARCHAR, SqlType

_KINDS = frozenset(
    {
        JoinKind.INNER,
        JoinKind.LEFT,
        JoinKind.RIGHT,
        JoinKind.FULL,
        JoinKind.LEFT_SEMI,
        JoinKind.LEFT_ANTI,
    }
)
_FIRST, _LAST = Literal(b"", BYTEA), Literal(b"\xff", BYTEA)  # before and after all bounds
_CLOSED = Literal("[]", VARCHAR)


def range_joins(plan: LogicalPlan) -> LogicalPlan:
    """The plan whose joins by `&&`, `@>` and `<@` have comparisons of bounds, too."""
    return rewrite_plan(plan, _compared)


def _compared(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Join(kind=kind, condition=condition) if kind in _KINDS and condition is not None:
            parts = conjuncts(condition)
            width = len(plan.left.schema)
            new = [each for part in parts for each in _comparisons(part, width) if each not in parts]
            return replace(plan, condition=conjunction([*parts, *new])) if new else plan
    return plan


def _comparisons(part: Expr, width: int) -> list[Expr]:
    match part:
        case Call("range_overlaps", (one, other)) if _meets(one, other, width):
            return [_at_most(_low(one), _high(other)), _at_most(_low(other), _high(one))]
        case Call("range_contains", (outer, inner)) | Call("range_contained", (inner, outer)):
            if _meets(outer, inner, width):
                low, high = _low(outer, _LAST), _high(outer, _FIRST)
                return [_at_most(low, _low(inner, _LAST)), _at_most(_low(inner, _FIRST), high)]
        case Call(function, (outer, element)) if function == f"{outer.type.kind.value}_contains_element":
            return _around(outer, element, width)
        case Call(function, (element, outer)) if function == f"{outer.type.kind.value}_contains_own_element":
            return _around(outer, element, width)
    return []


def _around(outer: Expr, element: Expr, width: int) -> list[Expr]:
    if not _meets(outer, element, width):
        return []
    place = _low(_point(element, outer.type))
    return [_at_most(_low(outer), place), _at_most(place, _high(outer))]


def _meets(one: Expr, other: Expr, width: int) -> bool:
    """Whether each reads one side, and not the same."""
    sides = [{column < width for column in columns_read(each)} for each in (one, other)]
    return sides in ([{True}, {False}], [{False}, {True}])


def _point(element: Expr, type_: SqlType) -> Expr:
    return Call(type_.kind.value, (element, element, _CLOSED), type_)


def _low(*range_and_of_empty: Expr) -> Expr:
    return Call("range_low", range_and_of_empty, BYTEA)


def _high(*range_and_of_empty: Expr) -> Expr:
    return Call("range_high", range_and_of_empty, BYTEA)


def _at_most(low: Expr, high: Expr) -> Expr:
    return Call("le", (low, high), BOOLEAN)
