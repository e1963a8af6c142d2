"""How large a query may be: what is larger is refused before rules and planner take time and memory for it.

A part that is read from several places (a common table expression) counts at each of them, for the rules rewrite it at
each. So `WITH a AS (…), b AS (… a … a), c AS (… b … b) …`, which doubles at every step, is refused as soon as it is
bound, and a hundred joins are not.
"""

from __future__ import annotations

from risingpy.errors import StatementTooComplex
from risingpy.optimizer.logical import Join, LogicalPlan
from risingpy.optimizer.rewrite import plan_inputs, subqueries_of

MAX_OPERATORS = 5_000  # of a query, with all that its views read
MAX_JOINS = 300  # what a join costs grows with those below it, and a view keeps the columns of each
_HINT = "What a WITH item or a view reads counts wherever that is read. Make materialized views of its parts."


def check_size(plan: LogicalPlan) -> None:
    """Raises StatementTooComplex if the query has too many operators, or joins."""
    operators, joins = _sizes(plan, {})
    if operators > MAX_OPERATORS:
        raise StatementTooComplex(
            f"the statement has more than {MAX_OPERATORS} operators",
            hint=_HINT,
        )
    if joins > MAX_JOINS:
        raise StatementTooComplex(
            f"the statement has more than {MAX_JOINS} joins",
            hint=_HINT,
        )


def _sizes(plan: LogicalPlan, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """(operators, joins); `known` by id(), so that a part is looked at once however often it is read."""
    size = known.get(id(plan))
    if size is None:
        below = [_sizes(each, known) for each in (*plan_inputs(plan), *subqueries_of(plan))]
        operators, joins = 1 + sum(each[0] for each in below), sum(each[1] for each in below)
        size = known[id(plan)] = operators, joins + isinstance(plan, Join)
    return size
