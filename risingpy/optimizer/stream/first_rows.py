"""Plans a view of the first row of each group of an append-only input. The view's own rows are its only state.

    Materialize(Project(columns; TopN(group, order, limit 1; input)))
    =>  Materialize(first by order; Project(columns, order's columns; input))    the key is the group

Materialize compares every new row with the stored one, as TopN would with the one in its own table. That saves half
the writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.optimizer.stream.projection import select_columns
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import SortKey
from risingpy.plan.operators import StreamPlan, StreamProject
from risingpy.plan.ordered import StreamTopN
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.watermark_use import cleaning_watermark


@dataclass(frozen=True, slots=True)
class FirstRows:
    """A view keeps, for each value of `key`, the first row of `input` in `order`; `input` only grows."""

    input: StreamPlan
    key: tuple[ColumnIndex, ...]
    order: tuple[SortKey, ...]


def first_rows_of(plan: StreamPlan) -> FirstRows | None:
    """`plan` as first rows, if it has that form; otherwise None. Their columns are `plan`'s, then further ones."""
    top, shown = _shown_columns(plan)
    if (
        not isinstance(top, StreamTopN)
        or not top.keeps_one_row
        or not set(top.group_key) <= set(shown)
        or not top.group_key
    ):
        return None
    if cleaning_watermark(top) is not None:  # a TopN would delete rows too old to change, the view must keep them
        return None
    order = (*top.order, *(SortKey(i) for i in top.input.properties.stream_key))
    columns = list(dict.fromkeys((*shown, *(key.index for key in order))))
    return FirstRows(
        select_columns(top.input, columns),
        tuple(columns.index(i) for i in top.group_key),
        tuple(replace(key, index=columns.index(key.index)) for key in top.order),
    )


def _shown_columns(plan: StreamPlan) -> tuple[StreamPlan, list[ColumnIndex]]:
    """The operator below, and which of its columns are shown; none if something is computed or shown twice."""
    if not isinstance(plan, StreamProject):
        return plan, list(range(len(plan.properties.schema)))
    positions = [e.index for e in plan.expressions if isinstance(e, InputRef)]
    return plan.input, positions if len(set(positions)) == len(plan.expressions) else []
