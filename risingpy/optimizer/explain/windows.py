"""Orders, windows and window functions as EXPLAIN prints them."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.explain.tree import FieldValue, order_text
from risingpy.plan.logical import SortKey
from risingpy.plan.window_calls import DEFAULT_FRAME, SESSION_END, Frame, FrameBound, FrameExclusion, WindowCall


def window_fields(
    partition_by: Sequence[int], order_by: Sequence[SortKey], calls: Sequence[WindowCall], columns: Sequence[str]
) -> dict[str, FieldValue]:
    """The parameters of an OverWindow over an input with these columns."""
    return {
        "partition_by": [columns[i] for i in partition_by],
        "order_by": sort_texts(order_by, columns),
        "calls": [window_call_text(call, columns) for call in calls],
    }


def window_call_text(call: WindowCall, columns: Sequence[str]) -> str:
    """`sum(price) rows between 1 preceding and current row`; the default frame is not shown."""
    # A session's limit, `time + gap`, says nothing that the time and the gap do not say.
    shown = (call.args[0], call.args[2]) if call.function == SESSION_END else call.args
    arguments = ", ".join(expression_text(arg, columns) for arg in shown)
    text = f"{call.function}({arguments})"
    if call.filter is not None:
        text += f" filter({columns[call.filter]})"
    if call.ignore_nulls:
        text += " ignore nulls"
    return text if call.frame == DEFAULT_FRAME else f"{text} {frame_text(call.frame).lower()}"


def frame_text(frame: Frame) -> str:
    """`ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`"""
    text = f"{frame.units.value} BETWEEN {_bound_text(frame.start)} AND {_bound_text(frame.end)}"
    return text if frame.exclusion is FrameExclusion.NO_OTHERS else f"{text} EXCLUDE {frame.exclusion.value}"


def _bound_text(bound: FrameBound) -> str:
    return bound.kind.value if bound.offset is None else f"{expression_text(bound.offset, [])} {bound.kind.value}"


def sort_texts(keys: Sequence[SortKey], columns: Sequence[str]) -> list[str]:
    """`a ASC`, `b DESC NULLS LAST`: the place of NULLs only where it is not PostgreSQL's default."""
    return [order_text(columns[k.index], descending=k.descending, nulls_first=k.nulls_first) for k in keys]
