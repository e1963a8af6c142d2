"""Computes a volatile expression below the operator that needs its value in several places.

    Project(CASE random() WHEN a THEN 1 WHEN b THEN 2 END; t)
                               =>  Project(CASE r WHEN a THEN 1 WHEN b THEN 2 END; Project(*, random() AS r; t))
    Filter(random() IN (q); t)
                               =>  Project(*; Filter(r IN (q); Project(*, random() AS r; t)))

The binder copies an operand where the tree of expressions has no name for it: the operand of CASE, the row before IN,
the argument of a function that SQL defines. A copy is the same object, so the rule tells two calls that a user wrote
apart. It always computes a subquery's arguments below: the rules that take subqueries out read them in several
operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from risingpy.optimizer.rewrite import (
    column_references,
    expressions_of,
    is_volatile,
    map_expressions,
    plan_inputs,
    query_of,
    subqueries_of,
    with_inputs,
)
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Expr, InputRef, Subquery
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project


def volatile_once(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the same output columns, in which each volatile expression is computed once a row."""
    plan = with_inputs(plan, [volatile_once(each) for each in plan_inputs(plan)])
    expressions = expressions_of(plan)
    if any(isinstance(part, Subquery) for expr in expressions for part in walk(expr)):
        plan = _with_subqueries(plan)
        expressions = expressions_of(plan)
    if not (isinstance(plan, Project | Filter) and any(map(_is_volatile, expressions))):
        return plan
    shared = _shared(expressions)
    return _over(plan, shared) if shared else plan


def _with_subqueries(plan: LogicalPlan) -> LogicalPlan:
    """The operator with the rule applied to its subqueries; copies of one are copies of the new one."""
    done: dict[int, Subquery] = {}

    def changed(part: Expr) -> Expr | None:
        if not isinstance(part, Subquery):
            return None
        if id(part) not in done:
            args = tuple(transform(arg, changed) for arg in part.args)
            done[id(part)] = replace(part, plan=volatile_once(query_of(part)), args=args)
        return done[id(part)]

    return map_expressions(plan, lambda expr: transform(expr, changed))


def _is_volatile(expr: Expr) -> bool:
    """Whether the expression, or a subquery in it, may have another value each time."""
    return is_volatile(expr) or any(_has_volatile(query_of(part)) for part in walk(expr) if isinstance(part, Subquery))


def _has_volatile(plan: LogicalPlan) -> bool:
    below = (*plan_inputs(plan), *subqueries_of(plan))
    return any(map(is_volatile, expressions_of(plan))) or any(map(_has_volatile, below))


def _shared(expressions: Sequence[Expr]) -> dict[int, Expr]:
    """By identity, the volatile expressions that stand in several places, and the arguments of subqueries."""
    parts = [part for expr in expressions for part in walk(expr)]
    places = Counter(map(id, parts))
    arguments = {id(arg) for part in parts if isinstance(part, Subquery) for arg in part.args}
    return {id(part): part for part in parts if (places[id(part)] > 1 or id(part) in arguments) and _is_volatile(part)}


def _over(plan: Project | Filter, shared: dict[int, Expr]) -> LogicalPlan:
    """The operator over an input that has the outermost of the shared expressions as columns besides its own."""
    width = len(plan.input.schema)
    computed: dict[int, Expr] = {}

    def column(part: Expr) -> Expr | None:
        if id(part) not in shared:
            return None
        computed.setdefault(id(part), part)
        return InputRef(width + list(computed).index(id(part)), part.type)

    changed = map_expressions(plan, lambda expr: transform(expr, column))
    hidden = tuple(Field("volatile", part.type, hidden=True) for part in computed.values())
    columns = (*column_references(plan.input), *computed.values())
    below = Project(plan.input, columns, plan.input.schema + hidden)
    if isinstance(changed, Project):
        return replace(changed, input=below)
    assert isinstance(changed, Filter)
    return Project(Filter(below, changed.predicate), tuple(column_references(plan.input)), plan.schema)
