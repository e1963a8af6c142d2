"""Functions that look into expressions and logical plans, rebuild them, or move them to another input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never, cast

from risingpy.functions.topics.python_functions import VOLATILE
from risingpy.functions.volatile import NON_DETERMINISTIC, SEEDED
from risingpy.optimizer.once_per_operator import OncePerOperator
from risingpy.plan.expression_trees import remapped, transform, walk
from risingpy.plan.expressions import Call, CorrelatedRef, Expr, InputRef, Subquery
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    GivenRows,
    Join,
    Limit,
    LogicalPlan,
    MutualRecursion,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    RecursiveScan,
    Scan,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)
from risingpy.plan.window_calls import WindowCall

_VOLATILE = VOLATILE | NON_DETERMINISTIC | SEEDED


def column_references(plan: LogicalPlan) -> list[InputRef]:
    """A reference to every column of the plan's output."""
    return [InputRef(i, field.type) for i, field in enumerate(plan.schema)]


def is_volatile(expr: Expr) -> bool:
    """Whether the expression may have a different value each time that it is evaluated."""
    return any(isinstance(part, Call) and part.function in _VOLATILE for part in walk(expr))


def plan_inputs(plan: LogicalPlan) -> tuple[LogicalPlan, ...]:
    """The inputs of an operator, left to right."""
    match plan:
        case Scan() | SystemScan() | Values() | RecursiveScan() | GivenRows():
            return ()
        case Recursion():
            return (plan.start, plan.step)
        case MutualRecursion():
            return plan.items
        case Filter() | Project() | ProjectSet() | Aggregate() | ChangeLog() | Expand():
            return (plan.input,)
        case Sort() | Limit() | TopN() | OverWindow():
            return (plan.input,)
        case Join() | Apply():
            return (plan.left, plan.right)
        case Union():
            return plan.inputs
        case _:
            assert_never(plan)


def with_inputs(plan: LogicalPlan, inputs: Sequence[LogicalPlan]) -> LogicalPlan:
    """The operator over other inputs of the same columns."""
    match plan:
        case Scan() | SystemScan() | Values() | RecursiveScan() | GivenRows():
            return plan
        case Recursion():
            return replace(plan, start=inputs[0], step=inputs[1])
        case MutualRecursion():
            return replace(plan, items=tuple(inputs))
        case Filter() | Project() | ProjectSet() | Aggregate() | ChangeLog() | Expand():
            return replace(plan, input=inputs[0])
        case Sort() | Limit() | TopN() | OverWindow():
            return replace(plan, input=inputs[0])
        case Join() | Apply():
            return replace(plan, left=inputs[0], right=inputs[1])
        case Union():
            return replace(plan, inputs=tuple(inputs))
        case _:
            assert_never(plan)


def rewrite_plan(plan: LogicalPlan, change: Callable[[LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Rewrites bottom-up: `change` gets each operator with its inputs rewritten."""
    inputs = plan_inputs(plan)
    rewritten = [rewrite_plan(i, change) for i in inputs]
    if any(new is not old for new, old in zip(rewritten, inputs, strict=True)):
        plan = with_inputs(plan, rewritten)
    return change(plan)


def map_expressions(plan: LogicalPlan, change: Callable[[Expr], Expr]) -> LogicalPlan:
    """One operator with `change` applied to each of its own expressions; the columns' types must stay the same."""
    match plan:
        case Values():
            return replace(plan, rows=tuple(tuple(change(e) for e in row) for row in plan.rows))
        case Filter():
            return replace(plan, predicate=change(plan.predicate))
        case Project():
            return replace(plan, expressions=tuple(change(e) for e in plan.expressions))
        case ProjectSet():
            return replace(plan, lists=tuple(change(e) for e in plan.lists))
        case Join():
            return plan if plan.condition is None else replace(plan, condition=change(plan.condition))
        case Apply():
            condition = None if plan.condition is None else change(plan.condition)
            return replace(plan, args=tuple(change(e) for e in plan.args), condition=condition)
        case Limit():
            limit, offset = (None if e is None else change(e) for e in (plan.limit, plan.offset))
            return replace(plan, limit=limit, offset=offset)
        case OverWindow():
            return replace(plan, calls=tuple(map_window_call(call, change) for call in plan.calls))
        case Scan() | Aggregate() | Union() | ChangeLog() | Expand() | Sort() | TopN():
            return plan
        case SystemScan() | Recursion() | RecursiveScan() | MutualRecursion() | GivenRows():
            return plan
        case _:
            assert_never(plan)


def expressions_of(plan: LogicalPlan) -> tuple[Expr, ...]:
    """An operator's own expressions."""
    found: list[Expr] = []

    def noted(expr: Expr) -> Expr:
        found.append(expr)
        return expr

    map_expressions(plan, noted)
    return tuple(found)


def subqueries_of(plan: LogicalPlan) -> tuple[LogicalPlan, ...]:
    """The plans of the subqueries in an operator's own expressions."""
    parts = (part for expr in expressions_of(plan) for part in walk(expr))
    return tuple(query_of(part) for part in parts if isinstance(part, Subquery))


def query_of(subquery: Subquery) -> LogicalPlan:
    """The plan that the subquery runs."""
    return cast(LogicalPlan, subquery.plan)


def with_correlated(plan: LogicalPlan, change: Callable[[CorrelatedRef], Expr]) -> LogicalPlan:
    """A subquery's plan with each of its own correlated references replaced, not those of an Apply within."""

    def changed(expr: Expr) -> Expr:
        return transform(expr, lambda e: change(e) if isinstance(e, CorrelatedRef) else None)

    inputs = [with_correlated(each, change) for each in plan_inputs(plan)]
    if isinstance(plan, Apply):
        inputs[1] = plan.right
    return map_expressions(with_inputs(plan, inputs), changed)


@OncePerOperator
def correlated_refs(plan: LogicalPlan) -> frozenset[int]:
    """The `args` that a subquery's plan reads. An Apply within has `args` of its own, which its right input reads."""
    own = (part for e in expressions_of(plan) for part in walk(e))
    found = frozenset(part.index for part in own if isinstance(part, CorrelatedRef))
    inputs = (plan.left,) if isinstance(plan, Apply) else plan_inputs(plan)
    return found.union(*(correlated_refs(each) for each in inputs))


@OncePerOperator
def recursive_names(plan: LogicalPlan) -> frozenset[str]:
    """The names of the recursive queries whose rows a plan reads."""
    own = frozenset({plan.name}) if isinstance(plan, RecursiveScan) else frozenset()
    return own.union(*map(recursive_names, plan_inputs(plan)))


def map_window_call(call: WindowCall, change: Callable[[Expr], Expr]) -> WindowCall:
    """The call with its arguments and its frame's offsets changed."""
    frame = call.frame
    start, end = (
        bound if bound.offset is None else replace(bound, offset=change(bound.offset))
        for bound in (frame.start, frame.end)
    )
    args = tuple(change(arg) for arg in call.args)
    return replace(call, args=args, frame=replace(frame, start=start, end=end))


def moved_window(call: WindowCall, positions: dict[int, int]) -> WindowCall:
    """The call over an input whose columns have moved: old position → new position."""
    condition = None if call.filter is None else positions[call.filter]
    return replace(map_window_call(call, lambda e: remapped(e, positions)), filter=condition)
