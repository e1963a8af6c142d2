"""Says of a join by ranges which bounds of the two sides are in order, as plain comparisons beside the operator.

    Inner(a.r && b.r; a, b)  =>  Inner(a.r && b.r AND low(a.r) <= high(b.r) AND high(a.r) >= low(b.r); a, b)
    Inner(a.r @> b.r; a, b)  =>  Inner(a.r @> b.r AND low(a.r) <= low(b.r) AND high(a.r) >= low(b.r); a, b)
    Inner(a.r @> b.x; a, b)  =>  as if b.x were the range [b.x, b.x]

The comparisons follow from the operator. A bound is a place on a line, whose bytes order as places do (`types.ranges`):
with two of them a query of DuckDB's sorts both sides instead of calling the operator for each pair, and the stream's
join looks its pairs up in sorted bounds (`executors.join.intervals`). The empty range overlaps nothing, so its bounds
are NULL. But each range contains it: as the contained one it is after all places in one comparison and before all of
them in the other. As the one that contains it lies the other way around, so that both hold for another empty one only.
What two multiranges share or contain, their spans do, too: the comparisons are of the ranges from first bound to last.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.plan.logical import Join, JoinKind, LogicalPlan
from risingpy.types import BOOLEAN, BYTEA, VARCHAR, SqlType
from risingpy.types.ranges.multiranges import RANGE_OF, element_of, prefix_of

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
_WIDTHS = ("multirange", "nummultirange")
_OVERLAPS = frozenset(
    [
        "range_overlaps",
        *(f.format(w) for w in _WIDTHS for f in ("{}_overlaps", "{}_overlaps_range", "range_overlaps_{}")),
    ]
)
_CONTAINS = frozenset(
    [
        "range_contains",
        *(f.format(w) for w in _WIDTHS for f in ("{}_contains", "{}_contains_range", "range_contains_{}")),
    ]
)
_CONTAINED = frozenset(
    [
        "range_contained",
        *(f.format(w) for w in _WIDTHS for f in ("{}_contained", "{}_contained_by_range", "range_contained_by_{}")),
    ]
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
        case Call(function, (one, other)) if function in _OVERLAPS and _meets(one, other, width):
            one, other = _span(one), _span(other)
            return [_at_most(_low(one), _high(other)), _at_most(_low(other), _high(one))]
        case Call(function, (outer, inner)) if function in _CONTAINS and _meets(outer, inner, width):
            return _within(_span(inner), _span(outer))
        case Call(function, (inner, outer)) if function in _CONTAINED and _meets(outer, inner, width):
            return _within(_span(inner), _span(outer))
        case Call(function, (outer, element)) if function == f"{outer.type.kind.value}_contains_element":
            return _around(outer, element, width)
        case Call(function, (element, outer)) if function == f"{outer.type.kind.value}_contains_own_element":
            return _around(outer, element, width)
    return []


def _within(inner: Expr, outer: Expr) -> list[Expr]:
    low, high = _low(outer, _LAST), _high(outer, _FIRST)
    return [_at_most(low, _low(inner, _LAST)), _at_most(_low(inner, _FIRST), high)]


def _span(value: Expr) -> Expr:
    """A range, or the smallest range with all of a multirange in it."""
    if not value.type.is_multirange:
        return value
    kind = value.type.kind
    return Call(f"{prefix_of(element_of(kind))}_span", (value,), RANGE_OF[kind])


def _around(outer: Expr, element: Expr, width: int) -> list[Expr]:
    if not _meets(outer, element, width):
        return []
    outer = _span(outer)
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
