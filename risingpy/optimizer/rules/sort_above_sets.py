"""Moves ORDER BY from below a select list's set-returning functions to above them, where LIMIT finds it.

Limit(3; ProjectSet(lists; Sort(keys; t)))  =>  Limit(3; Sort(keys; ProjectSet(lists; t)))

SELECT expands the rows in their order, so the elements of a row follow one another. A view has no rows in order, but
the keys and, after them, its stream key, which ends with the element's number: the elements stay together. A correlated
subquery of a SELECT has neither: its keys end with the number.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.logical import LogicalPlan, ProjectSet, Sort, SortKey


def sort_above_sets(plan: LogicalPlan) -> LogicalPlan:
    """The plan of a view with every such Sort moved; its columns are the same."""
    return rewrite_plan(plan, lambda each: _moved(each, numbered=False))


def numbered_sort_above_sets(plan: LogicalPlan) -> LogicalPlan:
    """The same with the element's number as the last key."""
    return rewrite_plan(plan, lambda each: _moved(each, numbered=True))


def _moved(plan: LogicalPlan, *, numbered: bool) -> LogicalPlan:
    match plan:
        case ProjectSet(Sort(input, keys)):
            number = (SortKey(len(input.schema)),) if numbered else ()
            return Sort(replace(plan, input=input), (*keys, *number))
        case _:
            return plan
