"""Interval joins: derives from the condition and the watermarks which rows can match nothing more.

    l.ts >= r.ts - '5 min', r.ts with watermark W   =>   left rows below W - '5 min' match no right row to come

Such a row may still be retracted, and the join then needs it. So it is deleted only if its own side never retracts, or
has a watermark that has passed the row, too.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.optimizer.join_condition import inequality
from risingpy.optimizer.stream.watermarks import expression_bounds
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Expr
from risingpy.plan.joins import JoinSide, PassedRows
from risingpy.plan.operators import StreamPlan


def with_passed_rows(
    sides: tuple[JoinSide, JoinSide], condition: Expr | None, left: StreamPlan, right: StreamPlan
) -> tuple[JoinSide, JoinSide]:
    """The join's sides, each with its passed rows; `condition` reads the left columns, then the right ones."""
    passed: list[PassedRows | None] = [None, None]
    for part in [] if condition is None else conjuncts(condition):
        compared = inequality(part, len(left.properties.schema))
        if compared is None:
            continue
        if compared.comparison in (">", ">="):
            passed[0] = passed[0] or _passed(compared.left, left, compared.right, right)
        else:
            passed[1] = passed[1] or _passed(compared.right, right, compared.left, left)
    return replace(sides[0], passed=passed[0]), replace(sides[1], passed=passed[1])


def _passed(larger: Expr, own: StreamPlan, smaller: Expr, other: StreamPlan) -> PassedRows | None:
    """The passed rows of `own`, for a condition `larger >= smaller` of expressions over `own` and over `other`."""
    coming, going = expression_bounds(smaller, other), expression_bounds(larger, own)
    if not coming or not (going or own.properties.append_only):
        return None
    bounds = coming if own.properties.append_only else tuple(dict.fromkeys((*coming, *going)))
    return PassedRows(larger, bounds)
