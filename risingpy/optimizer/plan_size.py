"""Limits the size of a query, before the rules and the planner take time and memory for it.

A part that several places read (a common table expression) counts at each of them, because the rules rewrite it at
each. So `WITH a AS (…), b AS (… a … a), c AS (… b … b) …`, which doubles at every step, is refused right after it is
bound, while a hundred joins are allowed.
"""

from __future__ import annotations

from risingpy.errors import StatementTooComplex
from risingpy.optimizer.once_per_operator import OncePerOperator
from risingpy.optimizer.rewrite import plan_inputs, subqueries_of
from risingpy.plan.logical import Apply, Join, LogicalPlan, OverWindow, Union

MAX_OPERATORS = 5_000  # of a query, with those of the views that it reads
# Each join or UNION costs more the more of them are below it: a view keeps the columns of each join, and the key of a
# UNION has one column more than its inputs' keys. A subquery becomes a join.
MAX_JOINS = 150
MAX_UNIONS = 300
MAX_UNNESTED_OPERATORS = 20_000  # after subqueries have become joins; two seconds of work
MAX_WINDOWS = 150  # each different PARTITION BY or ORDER BY is an operator, which passes on the results of those below
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
    """Raises StatementTooComplex if there are too many joins after subqueries have become joins, some of them two.

    Here a join that several parts read counts once. The domain of each subquery reads all that is before it, so that
    occurrences of joins double with each subquery; but a view makes each join only once. The rules rewrite every
    occurrence, so all of them count against the limit of operators.
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
