"""ORDER BY and DISTINCT ON of a SELECT whose list has set-returning functions: the rows are expanded in their order.

    SELECT a, generate_series(1, n) FROM t ORDER BY b LIMIT 3
    =>  Limit(3)
          ProjectSet(generate_series(1, n))
            Sort(b; t)

As in PostgreSQL, where no key is made of an element: LIMIT cuts within a row's elements, which keep their order, and
DISTINCT ON keeps all elements of the row that it keeps. A key made of an element orders the expanded rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.frontend.binder.plans import expanded_rows, project, references, with_expanded_rows
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import LogicalPlan, Sort, SortKey, TopN


def reads_elements(
    plan: LogicalPlan, levels: int, exprs: Sequence[Expr], keys: Sequence[SortKey], on: Sequence[int]
) -> bool:
    """Whether a key is made of an element. `keys` and `on` are positions in `exprs`, which read `plan`."""
    width = len(expanded_rows(plan, levels).schema)
    used = {*(key.index for key in keys), *on}
    return any(isinstance(part, InputRef) and part.index >= width for i in used for part in walk(exprs[i]))


def sorted_below_sets(
    plan: LogicalPlan, levels: int, exprs: Sequence[Expr], keys: Sequence[SortKey], on: Sequence[int]
) -> tuple[LogicalPlan, Callable[[Expr], Expr]]:
    """`plan` with the rows that its `levels` ProjectSets expand in order, and the way from expressions over `plan`."""
    base = expanded_rows(plan, levels)
    places = {i: len(base.schema) + n for n, i in enumerate(dict.fromkeys((*on, *(key.index for key in keys))))}
    columns = [*references(base.schema), *(exprs[i] for i in places)]
    names = [*(field.name for field in base.schema), *(f"sort{n}" for n in range(len(places)))]
    rows: LogicalPlan = project(base, columns, names)
    moved_keys = tuple(replace(key, index=places[key.index]) for key in keys)
    if on:
        first = tuple(key for key, old in zip(moved_keys, keys, strict=True) if old.index not in on)
        rows = TopN(rows, tuple(places[i] for i in on), first, limit=1)
    return with_expanded_rows(plan, levels, Sort(rows, moved_keys))
