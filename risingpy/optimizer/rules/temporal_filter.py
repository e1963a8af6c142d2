"""Makes joins with the time of conditions on now(). For views only: a SELECT asks for the time once.

    Filter(ts > now() - i AND p; t)  =>  LeftSemi(ts > b; Filter(p; t), Values(now() - i AS b))
    Filter(ts > now() OR p; t)       =>  Union(Filter(p; t), LeftSemi(ts > b; Filter(p IS NOT TRUE; t), Values(…)))
    Inner(ts > now() AND p; t, u)    =>  LeftSemi(ts > b; Inner(p; t, u), Values(now() AS b))

A comparison must have columns on one side, and now() with constants on the other. An equality is two comparisons.
What has now() in another way is refused here, or where it is planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported
from risingpy.executors.expression.nodes import Call, Expr, InputRef
from risingpy.optimizer.logical import Field, Filter, Join, JoinKind, LogicalPlan, Union, Values
from risingpy.optimizer.now import motion, reads_now
from risingpy.optimizer.rewrite import columns_read, conjunction, conjuncts, rewrite_plan, shifted
from risingpy.optimizer.rules.positive_conditions import disjuncts, positive
from risingpy.types import BOOLEAN

_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_HINT = (
    "Compare columns by <, <=, >, >= or BETWEEN with now() and constants: WHERE ts > now() - interval '1 hour', "
    "or WHERE ts + interval '5 minutes' < now(). Of an OR, one side may do so."
)


def temporal_filter(plan: LogicalPlan) -> LogicalPlan:
    return rewrite_plan(plan, _rewritten)


def _rewritten(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Filter() if reads_now(plan.predicate):
            return _filtered(plan.input, conjuncts(positive(plan.predicate)))
        case Join() if plan.condition is not None and reads_now(plan.condition):
            if plan.kind not in _INNER:
                raise FeatureNotSupported(
                    f"now() in the ON of this join ({plan.kind.value}) of a materialized view is not supported",
                    hint="Filter the input before: JOIN (SELECT … WHERE ts > now() - interval '1 hour') …",
                )
            parts = conjuncts(positive(plan.condition))
            rest = conjunction([part for part in parts if not reads_now(part)])
            kind = JoinKind.CROSS if rest is None else JoinKind.INNER
            joined = replace(plan, kind=kind, condition=rest)
            return _filtered(joined, [part for part in parts if reads_now(part)])
        case _:
            return plan


def _filtered(input: LogicalPlan, parts: Sequence[Expr]) -> LogicalPlan:
    """The rows for which all `parts` are true."""
    timeless = conjunction([part for part in parts if not reads_now(part)])
    plan = input if timeless is None else Filter(input, timeless)
    temporal = [part for part in parts if reads_now(part)]
    for part in sorted(temporal, key=_is_disjunction):  # what doubles the plan stands on top
        plan = _either(plan, disjuncts(part)) if _is_disjunction(part) else _compared(plan, part)
    return plan


def _is_disjunction(part: Expr) -> bool:
    return isinstance(part, Call) and part.function == "or"


def _either(input: LogicalPlan, parts: Sequence[Expr]) -> LogicalPlan:
    """The rows for which one of `parts` is true; those that need no time, and the others, of which one asks for it."""
    temporal = [part for part in parts if reads_now(part)]
    timeless = [part for part in parts if not reads_now(part)]
    if len(temporal) != 1 or not timeless:
        raise _refused()
    condition = timeless[0]
    for part in timeless[1:]:
        condition = Call("or", (condition, part), BOOLEAN)
    others = Filter(input, Call("is_not_true", (condition,), BOOLEAN))
    return Union((Filter(input, condition), _filtered(others, conjuncts(temporal[0]))), input.schema)


def _compared(input: LogicalPlan, part: Expr) -> LogicalPlan:
    match part:
        case Call(function, (left, right)) if function in _MIRRORED:
            if reads_now(left) and not reads_now(right):
                function, left, right = _MIRRORED[function], right, left
            if reads_now(left) or columns_read(right) or motion(right) is None:
                raise _refused()
            for comparison in ("ge", "le") if function == "eq" else (function,):
                input = _joined(input, left, comparison, right)
            return input
        case _:
            raise _refused()


def _joined(input: LogicalPlan, left: Expr, comparison: str, time: Expr) -> LogicalPlan:
    bound = InputRef(0, time.type)
    condition = Call(comparison, (left, shifted(bound, len(input.schema))), BOOLEAN)
    times = Values(((time,),), (Field("now", time.type),))
    return Join(input, times, JoinKind.LEFT_SEMI, condition, input.schema)


def _refused() -> FeatureNotSupported:
    return FeatureNotSupported("this condition on now() in a materialized view is not supported", hint=_HINT)
