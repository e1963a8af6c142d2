"""`x op ANY (q)` with its NULLs: true if it is true for any row, else NULL if it is NULL for any row, else false.

In WHERE, `NOT (x = ANY (q))` must be false for all rows of q:

    x <> y of all rows  =>  NOT EXISTS(Filter(x = y; q)), and no y is NULL, and x is not NULL unless q is empty

If neither side can be NULL, the first part is enough. As a value:

    x = ANY (y of q)  =>  matches > 0, else NULL if there are rows and x or any y is NULL, else false
    x < ANY (y of q)  =>  x < max(y), else NULL if any y is NULL, else false
    any other         =>  the comparison is computed for each row, and its results are counted

So an equality is still a join by equality, and an order needs only one row of aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.optimizer.facts import is_not_null, not_null_columns
from risingpy.optimizer.rewrite import query_of
from risingpy.plan.expression_trees import columns_read, transform, walk
from risingpy.plan.expressions import Call, Case, CorrelatedRef, Expr, Literal, Subquery, SubqueryKind
from risingpy.plan.logical import AggCall, Field, Filter, LogicalPlan, Project
from risingpy.types import BIGINT, BOOLEAN

# Adds the results of an aggregate without GROUP BY over a subquery's plan as columns.
Aggregated = Callable[[LogicalPlan, tuple[Expr, ...], Sequence[AggCall]], tuple[Expr, ...]]

_COUNT = AggCall("count", (), BIGINT)
_NULL = Literal(None, BOOLEAN)
_TRUE, _FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)
_EXTREME = {"lt": "max", "le": "max", "gt": "min", "ge": "min"}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def failing(subquery: Subquery) -> Subquery:
    """Whether a row makes `NOT subquery` not true; for an equality, only equal rows count (see `nulls_matter`)."""
    plan, comparison = query_of(subquery), subquery.comparison
    assert comparison is not None
    sides = _sides(comparison)
    if sides is None or sides[0] != "eq":
        comparison = Call("is_not_false", (comparison,), BOOLEAN)
    return replace(subquery, kind=SubqueryKind.EXISTS, plan=Filter(plan, comparison), comparison=None)


def nulls_matter(subquery: Subquery, known: frozenset[int]) -> bool:
    """Whether NULLs can make an equality NULL, given that the outer columns `known` are not NULL."""
    assert subquery.comparison is not None
    sides = _sides(subquery.comparison)
    if sides is None or sides[0] != "eq":
        return False
    outside = _outside(sides[1], subquery.args)
    return not (is_not_null(outside, known) and is_not_null(sides[2], not_null_columns(query_of(subquery))))


def no_nulls(subquery: Subquery, aggregated: Aggregated) -> Expr:
    """The condition that no NULL makes an equality NULL: there are no rows, or neither x nor any y is NULL."""
    assert subquery.comparison is not None
    sides = _sides(subquery.comparison)
    assert sides is not None
    rows, known = _rows_and_known(query_of(subquery), subquery.args, sides[2], aggregated)
    outside = _outside(sides[1], subquery.args)
    empty = Call("eq", (rows, Literal(0, BIGINT)), BOOLEAN)
    given = Call("and", (Call("is_not_null", (outside,), BOOLEAN), Call("eq", (rows, known), BOOLEAN)), BOOLEAN)
    return Call("or", (empty, given), BOOLEAN)


def _rows_and_known(plan: LogicalPlan, args: tuple[Expr, ...], y: Expr, aggregated: Aggregated) -> tuple[Expr, Expr]:
    """The number of rows, and the number of those in which y is not NULL."""
    values = Project(plan, (y,), (Field("value", y.type),))
    rows, known = aggregated(values, args, (_COUNT, AggCall("count", (0,), BIGINT)))
    return rows, known


def any_value(subquery: Subquery, known: frozenset[int], aggregated: Aggregated) -> Expr:
    """The value of an ANY; `args` read the plan to which `aggregated` adds columns, whose `known` are not NULL."""
    plan, args, comparison = query_of(subquery), subquery.args, subquery.comparison
    assert comparison is not None
    sides = _sides(comparison)
    if sides is not None and sides[0] == "eq":
        return _equal_any(subquery, known, aggregated)
    if sides is not None and sides[0] in _EXTREME:
        return _ordered_any(plan, args, sides, aggregated)
    compared = Project(plan, (comparison,), (Field("compared", BOOLEAN),))
    calls = (AggCall("bool_or", (0,), BOOLEAN), _COUNT, AggCall("count", (0,), BIGINT))
    some, rows, decided = aggregated(compared, args, calls)
    found = Call("coalesce", (some, _FALSE), BOOLEAN)
    return Case(((found, _TRUE), (Call("gt", (rows, decided), BOOLEAN), _NULL)), _FALSE, BOOLEAN)


def _equal_any(subquery: Subquery, known: frozenset[int], aggregated: Aggregated) -> Expr:
    plan, args, comparison = query_of(subquery), subquery.args, subquery.comparison
    assert comparison is not None
    (matches,) = aggregated(Filter(plan, comparison), args, (_COUNT,))
    found = _positive(matches)
    if not nulls_matter(subquery, known):
        return found
    unknown = Call("not", (no_nulls(subquery, aggregated),), BOOLEAN)
    return Case(((found, _TRUE), (unknown, _NULL)), _FALSE, BOOLEAN)


def _ordered_any(
    plan: LogicalPlan, args: tuple[Expr, ...], sides: tuple[str, Expr, Expr], aggregated: Aggregated
) -> Expr:
    function, x, y = sides
    values = Project(plan, (y,), (Field("value", y.type),))
    calls = (AggCall(_EXTREME[function], (0,), y.type), _COUNT, AggCall("count", (0,), BIGINT))
    best, rows, known = aggregated(values, args, calls)
    compared = Call(function, (_outside(x, args), best), BOOLEAN)
    empty = Call("eq", (rows, Literal(0, BIGINT)), BOOLEAN)
    unless = Call("and", (Call("gt", (rows, known), BOOLEAN), Call("not", (compared,), BOOLEAN)), BOOLEAN)
    return Case(((empty, _FALSE), (unless, _NULL)), compared, BOOLEAN)


def _positive(count: Expr) -> Expr:
    return Call("gt", (count, Literal(0, BIGINT)), BOOLEAN)


def _sides(comparison: Expr) -> tuple[str, Expr, Expr] | None:
    """(operator, x, y) of a comparison of an outer value, x, with one of the subquery, y."""
    match comparison:
        case Call(function, (x, y)) if function == "eq" or function in _EXTREME:
            if _is_outside(x) and not _reads_outside(y):
                return function, x, y
            if _is_outside(y) and not _reads_outside(x):
                return _SWAPPED.get(function, function), y, x
    return None


def _is_outside(expr: Expr) -> bool:
    return not columns_read(expr)


def _reads_outside(expr: Expr) -> bool:
    return any(isinstance(part, CorrelatedRef) for part in walk(expr))


def _outside(x: Expr, args: tuple[Expr, ...]) -> Expr:
    """The value as an expression over the outer row."""
    return transform(x, lambda e: args[e.index] if isinstance(e, CorrelatedRef) else None)
