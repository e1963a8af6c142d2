"""Gives each random() and gen_random_uuid() of a view a seed, so that its value is a function of the row.

    Project(random(); t)  =>  Project(random_of_row(seed); t)

A view must retract exactly what it has stored, also after a restart and when a task is tried again. So such a call
becomes a hash of its seed and of the key of its row, which `optimizer/stream/expressions.py` adds when the key is known
(docs/decisions/116). This rule comes before all others: they may copy a call, and its copies have one seed; two calls
that a user wrote have two, so that equal texts still mean equal values.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from risingpy.functions.volatile import OF_ROW
from risingpy.optimizer.rewrite import map_expressions, query_of, rewrite_plan
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Call, Expr, Literal, Subquery
from risingpy.plan.logical import LogicalPlan
from risingpy.types import BIGINT

_SEED_BITS = 63


def seeded_calls(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the same output columns, in which each such call has a seed."""
    return _Seeds().of_plan(plan)


class _Seeds:
    """By identity, a call and its copies have one seed: the binder copies an operand by naming its object twice."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}
        self._subqueries: dict[int, Subquery] = {}

    def of_plan(self, plan: LogicalPlan) -> LogicalPlan:
        return rewrite_plan(plan, lambda node: map_expressions(node, self._of_expression))

    def _of_expression(self, expression: Expr) -> Expr:
        return transform(expression, self._changed)

    def _changed(self, part: Expr) -> Expr | None:
        match part:
            case Call(function, ()) if function in OF_ROW:
                if id(part) not in self._calls:
                    seed = Literal(secrets.randbits(_SEED_BITS), BIGINT)
                    self._calls[id(part)] = Call(OF_ROW[function], (seed,), part.type)
                return self._calls[id(part)]
            case Subquery():
                if id(part) not in self._subqueries:
                    args = tuple(self._of_expression(arg) for arg in part.args)
                    self._subqueries[id(part)] = replace(part, plan=self.of_plan(query_of(part)), args=args)
                return self._subqueries[id(part)]
            case _:
                return None
