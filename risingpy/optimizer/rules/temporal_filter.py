"""Makes joins with the time of conditions on now(). For views only: in a SELECT, now() is a constant.

    Filter(ts > now() - i AND p; t)  =>  LeftSemi(ts > b; Filter(p; t), Values(now() - i AS b))
    Filter(ts > now() OR p; t)       =>  Union(Filter(p; t), LeftSemi(ts > b; Filter(p IS NOT TRUE; t), Values(…)))
    Filter(a < now() OR b > now())   =>  Union(a < now(), a >= now() AND b > now(), a IS NULL AND b > now())
    Inner(ts > now() AND p; t, u)    =>  LeftSemi(ts > b; Inner(p; t, u), Values(now() AS b))

A row may have to leave the view although it does not change, only because time passes. In a dynamic filter the time is
a row like any other: when it changes, the stored rows between the old bound and the new one come or go.

A comparison must have columns on one side, and now() with constants on the other; `now() - ts < i` is rewritten so
(`now_alone`). An equality becomes two comparisons that must both be true, and `<>` two of which one must be. This rule
or the planner refuses any other use of now().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.now import motion, now_alone, reads_now
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.rules.positive_conditions import disjuncts, positive
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, disjunction, opened, shifted, transform
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import Field, Filter, Join, JoinKind, LogicalPlan, Union, Values
from risingpy.types import BOOLEAN

_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_OTHERWISE = {"lt": ("ge",), "le": ("gt",), "gt": ("le",), "ge": ("lt",), "eq": ("lt", "gt")}
MOST_BRANCHES = 32  # each is an operator with its own state
_HINT = (
    "Compare columns by <, <=, >, >= or BETWEEN with now() and constants: WHERE ts > now() - interval '1 hour', "
    "or WHERE ts + interval '5 minutes' < now(). Conditions may be joined by AND, OR and NOT, but not be inside CASE."
)


def temporal_filter(plan: LogicalPlan) -> LogicalPlan:
    """The plan with joins for filters on now(). Raises FeatureNotSupported (0A000) for now() in an outer join's ON."""
    return rewrite_plan(plan, _rewritten)


def _rewritten(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Filter() if reads_now(plan.predicate):
            return _filtered(plan.input, _parts(plan.predicate))
        case Join() if plan.condition is not None and reads_now(plan.condition):
            if plan.kind not in _INNER:
                raise FeatureNotSupported(
                    f"now() in the ON of this join ({plan.kind.value}) of a materialized view is not supported",
                    hint="Filter the input before: JOIN (SELECT … WHERE ts > now() - interval '1 hour') …",
                )
            parts = _parts(plan.condition)
            rest = conjunction([part for part in parts if not reads_now(part)])
            kind = JoinKind.CROSS if rest is None else JoinKind.INNER
            joined = replace(plan, kind=kind, condition=rest)
            return _filtered(joined, [part for part in parts if reads_now(part)])
        case _:
            return plan


def _parts(condition: Expr) -> list[Expr]:
    """The parts that must be true. A computed operand of BETWEEN now() … is written into both comparisons."""

    def written_out(part: Expr) -> Expr | None:
        match part:
            case Call("let", (operand, body, _)) if reads_now(body) and not reads_now(operand):
                return opened(body, operand)
            case _:
                return None

    return conjuncts(positive(transform(condition, written_out)))


def _filtered(input: LogicalPlan, parts: Sequence[Expr]) -> LogicalPlan:
    """The rows for which all `parts` are true."""
    timeless = conjunction([part for part in parts if not reads_now(part)])
    plan = input if timeless is None else Filter(input, timeless)
    temporal = [part for part in parts if reads_now(part)]
    for part in sorted(temporal, key=_is_disjunction):  # disjunctions repeat the plan below them, so they come last
        match part:
            case Call("or"):
                plan = _either(plan, disjuncts(part))
            case Call("ne"):  # at most one of its two sides is true
                plan = Union(tuple(_compared(plan, side) for side in _alternatives(part)), plan.schema)
            case _:
                plan = _compared(plan, part)
    return plan


def _is_disjunction(part: Expr) -> bool:
    return isinstance(part, Call) and part.function in ("or", "ne")


def _alternatives(part: Expr) -> list[Expr]:
    """The sides of a disjunction; those of `a <> b` exclude each other."""
    match part:
        case Call("ne", sides):
            return [Call("lt", sides, BOOLEAN), Call("gt", sides, BOOLEAN)]
        case _:
            return disjuncts(part)


def _either(input: LogicalPlan, parts: Sequence[Expr]) -> LogicalPlan:
    """The rows for which one of `parts` is true, as a union without duplicates.

    It has the rows for which a part without now() is true, then the rest for which the first part is, and so on.
    """
    branches: list[LogicalPlan] = []
    rest: list[LogicalPlan] = [input]
    timeless = disjunction([part for part in parts if not reads_now(part)])
    if timeless is not None:
        branches.append(Filter(input, timeless))
        rest = [Filter(input, Call("is_not_true", (timeless,), BOOLEAN))]
    temporal = [part for part in parts if reads_now(part)]
    for part in temporal[:-1]:
        branches += [_filtered(each, conjuncts(part)) for each in rest]
        rest = [plan for each in rest for plan in _without(each, conjuncts(part))]
        if len(branches) + len(rest) > MOST_BRANCHES:
            raise FeatureNotSupported(
                "a condition with so many ORs of conditions on now() in a materialized view is not supported",
                hint="Make a column of it: WHERE greatest(a, b) > now() is WHERE a > now() OR b > now().",
            )
    branches += [_filtered(each, conjuncts(temporal[-1])) for each in rest]
    return Union(tuple(branches), input.schema)


def _without(input: LogicalPlan, parts: Sequence[Expr]) -> list[LogicalPlan]:
    """The rows for which not all `parts` are true, in plans that have no row in common."""
    first, *others = parts
    if not others:
        return _without_one(input, first)
    return [*_without_one(input, first), *_without(_filtered(input, [first]), others)]


def _without_one(input: LogicalPlan, part: Expr) -> list[LogicalPlan]:
    if not reads_now(part):
        return [Filter(input, Call("is_not_true", (part,), BOOLEAN))]
    if _is_disjunction(part):
        plans = [input]
        for side in _alternatives(part):
            plans = [plan for each in plans for plan in _without(each, conjuncts(side))]
        return plans
    function, left, time = _comparison(part)
    unknown = Filter(input, Call("is_null", (left,), BOOLEAN))
    return [*(_joined(input, left, other, time) for other in _OTHERWISE[function]), unknown]


def _compared(input: LogicalPlan, part: Expr) -> LogicalPlan:
    function, left, time = _comparison(part)
    for comparison in ("ge", "le") if function == "eq" else (function,):
        input = _joined(input, left, comparison, time)
    return input


def _comparison(part: Expr) -> tuple[str, Expr, Expr]:
    """The comparison's operator, its side with columns, its side with now(). Else raises FeatureNotSupported."""
    match now_alone(part):
        case Call(function, (left, right)) if function in _MIRRORED:
            if reads_now(left) and not reads_now(right):
                function, left, right = _MIRRORED[function], right, left
            if not (reads_now(left) or columns_read(right) or motion(right) is None):
                return function, left, right
    raise FeatureNotSupported("this condition on now() in a materialized view is not supported", hint=_HINT)


def _joined(input: LogicalPlan, left: Expr, comparison: str, time: Expr) -> LogicalPlan:
    bound = InputRef(0, time.type)
    condition = Call(comparison, (left, shifted(bound, len(input.schema))), BOOLEAN)
    times = Values(((time,),), (Field("now", time.type),))
    return Join(input, times, JoinKind.LEFT_SEMI, condition, input.schema)
