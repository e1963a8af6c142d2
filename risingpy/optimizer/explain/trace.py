"""EXPLAIN (TRACE): the plan as it was bound, and again after each rule that changed it."""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.optimizer.explain.query import explain_logical
from risingpy.optimizer.rules import steps
from risingpy.plan.logical import LogicalPlan


def explain_trace(plan: LogicalPlan, *, for_stream: bool) -> Iterator[str]:
    """The lines that come before the final plan. `for_stream`: with the rules for views."""
    yield from ("Begin:", "", *explain_logical(plan), "")
    for rule, after in steps(plan, for_stream=for_stream):
        yield from (f"After {rule.replace('_', ' ')}:", "", *explain_logical(after), "")
    yield from ("End:", "")
