"""The rules that every query goes through, in order; each is one file and one function from plan to plan.

First subqueries become joins (`UNNESTING`; a view's by `UNNESTING_FOR_STREAM`). A view's query then goes through those
of `STREAM_PIPELINE`, whose results only a stream plan can run, any other through those of `BATCH_PIPELINE`.

In: a bound logical plan. Out: an equivalent one with the same output columns. Called by the session's statements before
a plan is run, explained or streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from risingpy.errors import Check, unchecked
from risingpy.optimizer.plan_size import check_joins, check_size
from risingpy.optimizer.rules.apply_to_join import apply_to_join, strict_apply_to_join
from risingpy.optimizer.rules.common_factors import common_factors
from risingpy.optimizer.rules.constant_folding import constant_folding
from risingpy.optimizer.rules.distinct_to_group import distinct_to_group
from risingpy.optimizer.rules.drop_single_row import drop_single_row
from risingpy.optimizer.rules.filter_merge import filter_merge
from risingpy.optimizer.rules.join_reorder import join_reorder
from risingpy.optimizer.rules.long_lists import long_lists
from risingpy.optimizer.rules.null_safe_equality import null_safe_equality
from risingpy.optimizer.rules.numeric_keys import numeric_keys
from risingpy.optimizer.rules.outer_join_to_inner import outer_join_to_inner
from risingpy.optimizer.rules.over_window_to_top_n import over_window_to_top_n
from risingpy.optimizer.rules.predicate_pushdown import predicate_pushdown
from risingpy.optimizer.rules.project_merge import project_merge
from risingpy.optimizer.rules.prune_common_subplans import prune_common_subplans
from risingpy.optimizer.rules.range_joins import range_joins
from risingpy.optimizer.rules.single_row_join import computed_after_join, single_row_join
from risingpy.optimizer.rules.sort_above_sets import sort_above_sets
from risingpy.optimizer.rules.subqueries_to_apply import subqueries_to_apply
from risingpy.optimizer.rules.temporal_filter import temporal_filter
from risingpy.optimizer.rules.volatile_once import volatile_once
from risingpy.plan.expressions import Cast, InputRef, Parameter
from risingpy.plan.logical import LogicalPlan, Project, Values

__all__ = ["PIPELINE", "STREAM_PIPELINE", "optimize", "optimize_for_stream", "steps"]

Rule = Callable[[LogicalPlan], LogicalPlan]

UNNESTING: tuple[Rule, ...] = (volatile_once, subqueries_to_apply, strict_apply_to_join)
UNNESTING_FOR_STREAM: tuple[Rule, ...] = (
    volatile_once,
    subqueries_to_apply,
    sort_above_sets,
    apply_to_join,
)

PIPELINE: tuple[Rule, ...] = (
    constant_folding,
    long_lists,
    common_factors,
    null_safe_equality,
    predicate_pushdown,
    outer_join_to_inner,
    predicate_pushdown,
    over_window_to_top_n,
    project_merge,
    join_reorder,
    numeric_keys,
    range_joins,
    prune_common_subplans,
    drop_single_row,
    project_merge,
    filter_merge,
)

BATCH_PIPELINE: tuple[Rule, ...] = (computed_after_join, project_merge)

STREAM_PIPELINE: tuple[Rule, ...] = (temporal_filter, single_row_join, distinct_to_group)


def optimize(plan: LogicalPlan, check: Check = unchecked, *, for_stream: bool = False) -> LogicalPlan:
    """The plan after all rules; `check` is called before each. Raises StatementTooComplex if the plan is too large.

    With `for_stream`, that of a view before `optimize_for_stream`.
    """
    if _is_of_parameters(plan):
        return plan
    check_size(plan)
    plan = _after(UNNESTING_FOR_STREAM if for_stream else UNNESTING, plan, check)
    check_joins(plan)
    plan = _after(PIPELINE, plan, check)
    return plan if for_stream else _after(BATCH_PIPELINE, plan, check)


def _is_of_parameters(plan: LogicalPlan) -> bool:
    """Whether these are the rows of `INSERT … VALUES ($1, $2), …`: no rule has anything to do, and they may be many."""
    match plan:
        case Project(Values(rows), outputs) if all(isinstance(output, InputRef) for output in outputs):
            return all(isinstance(c.arg if isinstance(c, Cast) else c, Parameter) for row in rows for c in row)
    return False


def optimize_for_stream(plan: LogicalPlan, check: Check = unchecked) -> LogicalPlan:
    """An optimized plan after the rules for views. Raises FeatureNotSupported for a now() that no view can have."""
    return _after(STREAM_PIPELINE, plan, check)


def _after(rules: Sequence[Rule], plan: LogicalPlan, check: Check) -> LogicalPlan:
    for rule in rules:
        check()
        plan = rule(plan)
    return plan


def steps(plan: LogicalPlan, *, for_stream: bool) -> Iterator[tuple[str, LogicalPlan]]:
    """(rule's name, plan after it) for each rule that changes something; with `for_stream`, rules for views too."""
    check_size(plan)
    unnesting = UNNESTING_FOR_STREAM if for_stream else UNNESTING
    for rule in (*unnesting, *PIPELINE, *(STREAM_PIPELINE if for_stream else BATCH_PIPELINE)):
        before, plan = plan, rule(plan)
        if rule is unnesting[-1]:
            check_joins(plan)
        if plan != before:
            yield rule.__name__, plan
