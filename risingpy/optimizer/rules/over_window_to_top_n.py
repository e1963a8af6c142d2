"""Keeps only the first rows of each partition if a filter on row numbers drops all others.

    Filter(row_number() <= 3; OverWindow(t))        =>  OverWindow(TopN(3; t))
    Filter(rank() <= 3 AND p; OverWindow(t))        =>  Filter(p; OverWindow(TopN(3 with ties; t)))
    Filter(row_number() = 2; OverWindow(t))         =>  Filter(row_number() >= 2; OverWindow(TopN(2; t)))

The number of a row depends only on the rows before it, so it is the same over the first rows alone. If nobody reads it,
pruning drops the OverWindow. The rule does not apply if another call of the same window looks at rows after its own.
"""

from __future__ import annotations

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expression_trees import conjunction, conjuncts
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Filter, LogicalPlan, OverWindow, TopN
from risingpy.plan.window_calls import FRAMELESS, BoundKind, FrameExclusion, FrameUnits, WindowCall
from risingpy.types import BIGINT, BOOLEAN

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_NUMBERS = ("row_number", "rank")
_LOOKS_BACK = frozenset({"row_number", "rank", "dense_rank"})


def over_window_to_top_n(plan: LogicalPlan) -> LogicalPlan:
    """The plan with a TopN below each window that fits; the window stays, for `column_pruning` to drop."""
    return rewrite_plan(plan, _rewritten)


def _rewritten(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, Filter) or not isinstance(plan.input, OverWindow):
        return plan
    window = plan.input
    if isinstance(window.input, TopN) or not all(_looks_back(call) for call in window.calls):
        return plan
    width = len(window.input.schema)
    bounds = [_bound(part, window, width) for part in conjuncts(plan.predicate)]
    numbered = next((bound[0] for bound in bounds if bound is not None and bound[0].function in _NUMBERS), None)
    if numbered is None:
        return plan
    limits = [bound[1] for bound in bounds if bound is not None and bound[0] == numbered]
    if min(limits) < 1:
        return plan
    ties = numbered.function == "rank"
    top = TopN(window.input, window.partition_by, window.order_by, min(limits), with_ties=ties)
    kept = [
        part if bound is None or bound[0] != numbered else bound[2]
        for part, bound in zip(conjuncts(plan.predicate), bounds, strict=True)
    ]
    rest = conjunction([part for part in kept if part is not None])
    below = OverWindow(top, window.partition_by, window.order_by, window.calls, window.schema)
    return below if rest is None else Filter(below, rest)


def _looks_back(call: WindowCall) -> bool:
    """Whether the call's result depends only on the row and those before it."""
    if call.function in _LOOKS_BACK:
        return True
    if call.function == "lag":
        return len(call.args) == 1 or (isinstance(call.args[1], Literal) and int(str(call.args[1].value or 0)) >= 0)
    frame = call.frame
    rows = frame.units is FrameUnits.ROWS and frame.exclusion is not FrameExclusion.GROUP
    ends = frame.end.kind in (BoundKind.CURRENT_ROW, BoundKind.PRECEDING)
    return call.function not in FRAMELESS and rows and ends and frame.exclusion is not FrameExclusion.TIES


def _bound(part: Expr, window: OverWindow, width: int) -> tuple[WindowCall, int, Expr | None] | None:
    """The numbering call that a condition bounds from above, the bound, and the rest of the condition."""
    comparison: str
    match part:
        case Call("lt" | "le" | "eq" as written, (InputRef(column), Literal(int(number)))):
            comparison = written
        case Call("gt" | "ge" | "eq" as mirrored, (Literal(int(number)), InputRef(column))):
            comparison = _MIRRORED[mirrored]
        case _:
            return None
    if column < width or window.calls[column - width].function not in _NUMBERS:
        return None
    rest: Expr | None = None
    if comparison == "eq" and number > 1:
        rest = Call("ge", (InputRef(column, BIGINT), Literal(number, BIGINT)), BOOLEAN)
    return window.calls[column - width], number - 1 if comparison == "lt" else number, rest
