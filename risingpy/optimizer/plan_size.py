"""How large a query may be: what is larger is refused before rules and planner take time and memory for it.

A part that is read from several places (a common table expression) counts at each of them, for the rules rewrite it at
each. So `WITH a AS (…), b AS (… a … a), c AS (… b … b) …`, which doubles at every step, is refused as soon as it is
bound, and a hundred joins are not.
"""

from __future__ import annotations

from risingpy.errors import StatementTooComplex
from risingpy.optimizer.once_per_operator import OncePerOperator
from risingpy.optimizer.rewrite import plan_inputs, subqueries_of
from risingpy.plan.logical import Apply, Join, LogicalPlan, OverWindow, Union

MAX_OPERATORS = 5_000  # of a query, with all that its views read
# A subquery becomes a join. What one of these costs grows with those below it: a view keeps the columns of each join,
# and the key of a UNION has one column more than its inputs'.
MAX_JOINS = 150
MAX_UNIONS = 300
MAX_UNNESTED_OPERATORS = 20_000  # once subqueries are joins; two seconds of work
MAX_WINDOWS = 150  # of different PARTITION BY or ORDER BY: each is an operator that hands on the results of those below
_HINT = "What a WITH item or a view reads counts wherever that is read. Make materialized views of its parts."


def check_size(plan: LogicalPlan) -> None:
    """Raises StatementTooComplex if the query has too many operators, joins, subqueries, unions or windows."""
    operators, joins, unions, windows = _sizes(plan)
    for number, most, what in (
        (operators, MAX_OPERATORS, "operators"),
        (joins, MAX_JOINS, "joins and subqueries"),
        (unions, MAX_UNIONS, "UNIONs"),
        (windows, MAX_WINDOWS, "windows"),
    ):
        if number > most:
            raise StatementTooComplex(f"the statement has more than {most} {what}", hint=_HINT)


def check_joins(plan: LogicalPlan) -> None:
    """Raises StatementTooComplex if there are too many joins, now that subqueries are joins: some became two.

    A join that several parts read counts once. The values for which a subquery is computed are read of all that stands
    before it, so by occurrence such joins double with each subquery; a view makes each of them once. Rules rewrite them
    at each occurrence, though, so these count against the limit of operators.
    """
    seen: set[int] = set()
    joins = 0
    rest = [plan]
    while rest:
        part = rest.pop()
        if id(part) not in seen:
            seen.add(id(part))
            joins += isinstance(part, Join)
            rest += plan_inputs(part)
    if joins > MAX_JOINS or _sizes(plan)[0] > MAX_UNNESTED_OPERATORS:
        raise StatementTooComplex(f"the statement has more than {MAX_JOINS} joins and subqueries", hint=_HINT)


@OncePerOperator
def _sizes(plan: LogicalPlan) -> tuple[int, int, int, int]:
    """(operators, joins and subqueries, unions, windows)."""
    subqueries = subqueries_of(plan)
    below = [_sizes(each) for each in (*plan_inputs(plan), *subqueries)]
    operators, joins, unions, windows = (sum(each[i] for each in below) for i in range(4))
    joins += len(subqueries) + isinstance(plan, Join | Apply)
    return operators + 1, joins, unions + isinstance(plan, Union), windows + isinstance(plan, OverWindow)
