"""Estimates how many rows an operator's output has. It only needs to tell a small input from a large one.

The estimate for a stored relation is the number of its rows now, and some that may still come: views are often created
before their tables are filled, and an empty table must not count as smaller than a subquery's one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import (
    Changelog,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.recursion.operators import (
    RecursivePlan,
)

TableRows = Callable[[int], int]  # how many rows the table with this id has

ROWS_TO_COME = 1000
ROWS_OF_A_SOURCE = 1_000_000


def no_table_rows(table_id: int) -> int:
    """For callers without table sizes: all tables count as empty."""
    return 0


class RowEstimates:
    """Estimates for the plans of one view. It visits each operator once, though joins ask at every level."""

    def __init__(self, table_rows: TableRows = no_table_rows) -> None:
        self._table_rows = table_rows
        self._known: dict[int, tuple[StreamPlan, int]] = {}  # by id(), of plans that are kept alive here

    def of(self, plan: StreamPlan) -> int:
        """About the most rows that `plan` gives. It takes filters and groups to keep every row."""
        known = self._known.get(id(plan))
        if known is None:
            known = self._known[id(plan)] = plan, _estimated(plan, self.of, self._table_rows)
        return known[1]


def _estimated(plan: StreamPlan, of: Callable[[StreamPlan], int], table_rows: TableRows) -> int:
    if isinstance(plan, Dml | Source | SinkInput | RecursivePlan):
        return ROWS_OF_A_SOURCE
    match plan:
        case TableScan():
            return table_rows(plan.upstream.table_id) + ROWS_TO_COME
        case StreamValues():
            return len(plan.rows)
        case Now() | SimpleAgg():
            return 1
        case StreamTopN(limit=int(limit), group_key=(), with_ties=False):
            return min(limit, of(plan.input))
        case (
            StreamFilter()
            | StreamProject()
            | StreamProjectSet()
            | WatermarkFilter()
            | EowcSort()
            | StreamTtl()
            | Dedup()
            | StreamChangeLog()
        ):
            return of(plan.input)
        case (
            LocalAgg()
            | HashAgg()
            | LocalTopN()
            | StreamTopN()
            | StreamOverWindow()
            | Exchange()
            | Share()
            | Materialize()
            | Changelog()
            | IntoTable()
            | TemporalJoin()
        ):
            return of(plan.input)
        case StreamExpand():
            return plan.copies * of(plan.input)
        case DynamicFilter() | AsOfJoin() | HashJoin(kind=JoinKind.LEFT_SEMI | JoinKind.LEFT_ANTI):
            return of(plan.left)
        case HashJoin():
            sides = of(plan.left), of(plan.right)
            return max(sides) if plan.left_side.key else sides[0] * sides[1]
        case StreamUnion():
            return sum(of(each) for each in plan.inputs)
        case TableInputs():
            return of(plan.log) + (0 if plan.fed is None else of(plan.fed)) + sum(of(each) for each in plan.sinks)
        case _:
            assert_never(plan)
