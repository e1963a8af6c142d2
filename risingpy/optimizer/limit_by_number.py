"""A LIMIT or OFFSET that is no constant, in a subquery that reads the row around: a condition on the rows' numbers.

Limit(outer$0 OFFSET outer$1; Sort(keys; t))
=>  Project(t.*)
      Sort(keys)
        Filter(n > outer$1 AND n - outer$1 <= outer$0)
          OverWindow(row_number() AS n, order keys; t)

A TopN, which a group key can be added to, has constants alone. Each row around has its own numbers here, and NULL is no
limit. Rows that tie with the last one are told by their rank.
"""

from __future__ import annotations

from risingpy.optimizer.rewrite import column_references
from risingpy.plan.expression_trees import conjunction
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Field, Filter, Limit, LogicalPlan, OverWindow, Project, Sort
from risingpy.plan.window_calls import WindowCall
from risingpy.types import BIGINT, BOOLEAN

_NO_ROWS = Literal(0, BIGINT)


def limit_by_number(limit: Limit) -> LogicalPlan:
    """The rows of `limit`, in its order."""
    input, keys = (limit.input.input, limit.input.keys) if isinstance(limit.input, Sort) else (limit.input, ())
    width = len(input.schema)
    functions = ("row_number", "rank") if limit.with_ties else ("row_number",)
    calls = tuple(WindowCall(function, (), BIGINT) for function in functions)
    fields = tuple(Field(call.function, BIGINT) for call in calls)
    numbered = OverWindow(input, (), keys, calls, (*input.schema, *fields))
    number, last = InputRef(width, BIGINT), InputRef(width + len(calls) - 1, BIGINT)
    skipped: Expr = _NO_ROWS if limit.offset is None else Call("coalesce", (limit.offset, _NO_ROWS), BIGINT)
    conditions: list[Expr] = []
    if limit.offset is not None:
        conditions.append(Call("gt", (number, skipped), BOOLEAN))
    if limit.limit is not None:
        counted = Call("subtract", (last, skipped), BIGINT)
        within = Call("le", (counted, limit.limit), BOOLEAN)
        some = Call("gt", (limit.limit, _NO_ROWS), BOOLEAN)  # LIMIT 0 WITH TIES has no last row
        conditions.append(
            Call("or", (Call("is_null", (limit.limit,), BOOLEAN), Call("and", (within, some), BOOLEAN)), BOOLEAN)
        )
    condition = conjunction(conditions)
    kept: LogicalPlan = numbered if condition is None else Filter(numbered, condition)
    if keys:
        kept = Sort(kept, keys)
    return Project(kept, tuple(column_references(limit.input)), limit.input.schema)
