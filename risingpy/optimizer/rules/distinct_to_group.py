"""Counts and sums distinct values in two steps, for aggregates without GROUP BY. For views only.

    Agg(count(DISTINCT a), sum(DISTINCT a); t)  =>  Agg(count(a), sum(a); Agg(group a; t))

All shards then take part in finding the distinct values. Only values that come or go reach the one shard that counts.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.logical import Aggregate, LogicalPlan

_FUNCTIONS = frozenset({"count", "sum", "avg"})


def distinct_to_group(plan: LogicalPlan) -> LogicalPlan:
    """The plan with its distinct aggregates over a grouping; one that the rule does not fit stays as it is."""
    return rewrite_plan(plan, _rewritten)


def _rewritten(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, Aggregate) or plan.group_key or len({call.args for call in plan.calls}) != 1:
        return plan
    if not all(call.distinct and call.function in _FUNCTIONS and call.filter is None for call in plan.calls):
        return plan
    args = plan.calls[0].args
    values = Aggregate(plan.input, args, (), tuple(plan.input.schema[i] for i in args))
    moved = {arg: i for i, arg in enumerate(args)}
    calls = tuple(replace(call.moved(moved), distinct=False) for call in plan.calls)
    return Aggregate(values, (), calls, plan.schema)
