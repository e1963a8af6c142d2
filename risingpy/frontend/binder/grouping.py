"""GROUP BY: puts an Aggregate between the FROM clause and what is computed from the groups.

SELECT a + 1, sum(b * 2) FROM t GROUP BY a + 1
=>  Project($0, $1)
      Aggregate(key 0, sum($1))
        Project(a + 1, b * 2)
          Scan t
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import GroupingError
from risingpy.executors.expression.nodes import Expr, InputRef
from risingpy.frontend.binder.aggregates import AggregateCall, AggregateCalls
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.windows import is_window
from risingpy.optimizer.logical import AggCall, Aggregate, Field, LogicalPlan, SortKey
from risingpy.optimizer.rewrite import transform


class Grouping:
    """The Aggregate over `plan`, and the way from expressions over the FROM clause to expressions over the groups."""

    def __init__(self, plan: LogicalPlan, keys: Sequence[Expr], collected: AggregateCalls) -> None:
        self._keys = list(dict.fromkeys(keys))
        self._collected = collected
        columns = list(self._keys)
        calls = [_placed(call, columns) for call in collected.calls]
        names = [f"key{i}" for i in range(len(self._keys))]
        names += [f"arg{i}" for i in range(len(columns) - len(self._keys))]
        fields = [Field(name, key.type) for name, key in zip(names, self._keys, strict=False)]
        fields += [Field(call.function, call.type) for call in calls]
        group_key = tuple(range(len(self._keys)))
        self.plan = Aggregate(project(plan, columns, names), group_key, tuple(calls), tuple(fields))

    def over_groups(self, expr: Expr) -> Expr:
        """`expr` over the Aggregate's output. Raises GroupingError for a column that is not grouped."""
        return transform(expr, self._replacement)

    def _replacement(self, expr: Expr) -> Expr | None:
        if expr in self._keys:
            return InputRef(self._keys.index(expr), expr.type)
        if not isinstance(expr, InputRef):
            return None
        if is_window(expr):  # has its place when the groups are there
            return expr
        if expr.index < 0:
            return InputRef(len(self._keys) - 1 - expr.index, expr.type)
        _, position, shown = self._collected.references.get(id(expr), (expr, None, "?"))
        message = f'column "{shown}" must appear in the GROUP BY clause or be used in an aggregate function'
        if id(expr) in self._collected.outer_references:
            message = f'subquery uses ungrouped column "{shown}" from outer query'
        raise GroupingError(message, position=position)


def _placed(call: AggregateCall, columns: list[Expr]) -> AggCall:
    args = tuple(_column(arg, columns) for arg in call.args)
    condition = None if call.filter is None else _column(call.filter, columns)
    order = tuple(SortKey(_column(key.expr, columns), key.descending, key.nulls_first) for key in call.order_by)
    return AggCall(call.function, args, call.type, call.distinct, condition, order)


def _column(expr: Expr, columns: list[Expr]) -> int:
    if expr not in columns:
        columns.append(expr)
    return columns.index(expr)
