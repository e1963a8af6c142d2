"""GROUP BY of a SELECT, and where its select list's set-returning functions stand then.

    SELECT unnest(tags), count(*) FROM t GROUP BY 1          the elements are grouped
    =>  Aggregate(key unnest; count)
          ProjectSet(unnest(tags); t)

    SELECT g, generate_series(1, count(*)) FROM t GROUP BY g     the groups are expanded, as in PostgreSQL
    =>  ProjectSet(generate_series(1, $1))
          Aggregate(key g; count; t)

`place_sets` has bound the functions already, as a ProjectSet over the FROM clause. Where no key is made of an element,
the ProjectSet moves from below the Aggregate to above it, and above HAVING.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, GroupingError
from risingpy.frontend.binder.query.grouping import Grouping
from risingpy.frontend.binder.scope.aggregates import AggregateCalls
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Filter, LogicalPlan, ProjectSet

Over = Callable[[Expr], Expr]  # from expressions over the FROM clause to expressions over the result


def grouped(
    plan: LogicalPlan, sets: Sequence[Sequence[Expr]], collected: AggregateCalls, levels: int
) -> tuple[LogicalPlan, Over]:
    """The groups of `plan` by the grouping sets. Its top are `levels` ProjectSets of the select list."""
    if not levels:
        return _groups(plan, sets, collected)
    if levels > 1:
        message = "a set-returning function in the arguments of another one, beside groups, is not supported"
        raise FeatureNotSupported(message, hint="Group in a subquery.")
    assert isinstance(plan, ProjectSet)
    width = len(plan.input.schema)

    def is_element(expr: Expr) -> bool:
        return isinstance(expr, InputRef) and expr.index >= width

    if any(is_element(e) for keys in sets for key in keys for e in walk(key)):
        return _groups_of_elements(plan, sets, collected, is_element)
    groups, over_groups = _groups(plan.input, sets, collected)
    number = len(groups.schema)
    placed = ProjectSet(groups, tuple(map(over_groups, plan.lists)), (*groups.schema, *plan.schema[width:]), plan.outer)

    def over_elements(expr: Expr) -> Expr:
        """Elements stand behind the groups' columns; what stands beside them in `expr` is of the groups."""
        if isinstance(expr, InputRef) and is_element(expr):
            return InputRef(expr.index - width + number, expr.type)
        if any(map(is_element, walk(expr))):
            return transform(expr, lambda e: None if e is expr else over_elements(e))
        return over_groups(expr)

    return placed, over_elements


def of_groups(plan: LogicalPlan, condition: Expr) -> LogicalPlan:
    """HAVING: the groups for which it holds. Only they are expanded; their columns come first in any case."""
    if isinstance(plan, ProjectSet):
        return replace(plan, input=Filter(plan.input, condition))
    return Filter(plan, condition)


def _groups(plan: LogicalPlan, sets: Sequence[Sequence[Expr]], collected: AggregateCalls) -> tuple[LogicalPlan, Over]:
    grouping = Grouping(plan, sets, collected)
    return grouping.plan, grouping.over_groups


def _groups_of_elements(
    plan: ProjectSet,
    sets: Sequence[Sequence[Expr]],
    collected: AggregateCalls,
    is_element: Callable[[Expr], bool],
) -> tuple[LogicalPlan, Over]:
    """All set-returning functions are part of keys: a function that is not would be expanded after the grouping."""
    if any(isinstance(e, InputRef) and e.index < 0 for each in plan.lists for e in walk(each)):
        raise GroupingError("aggregate functions are not allowed in GROUP BY")
    keys = {key for each in sets for key in each}
    groups, over_groups = _groups(plan, sets, collected)

    def over(expr: Expr) -> Expr:
        if _has_other(expr, keys, is_element):
            message = "a set-returning function that is not grouped, beside one that is, is not supported"
            raise FeatureNotSupported(message, hint="Group in a subquery.")
        return over_groups(expr)

    return groups, over


def _has_other(expr: Expr, keys: set[Expr], is_element: Callable[[Expr], bool]) -> bool:
    """Whether an element stands in `expr` outside of what is grouped."""
    found = False

    def look(each: Expr) -> Expr | None:
        nonlocal found
        if each in keys:
            return each
        found = found or is_element(each)
        return None

    transform(expr, look)
    return found
