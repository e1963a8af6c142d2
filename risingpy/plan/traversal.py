"""Walking through the operators of a stream plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expression_trees import substituted
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
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
    StreamLet,
    StreamLevels,
    StreamLevelScan,
    StreamMoments,
    StreamRecursion,
    StreamRecursiveScan,
)
from risingpy.plan.state_tables import state_tables
from risingpy.storage.codec.table_schema import TableSchema

Border: TypeAlias = Exchange | Share | StreamLevelScan  # what reads another fragment


def children(plan: StreamPlan) -> tuple[StreamPlan, ...]:
    """The inputs of an operator, left to right."""
    match plan:
        case TableScan() | Dml() | Source() | StreamValues() | Now() | SinkInput():
            return ()
        case StreamRecursiveScan() | StreamLevelScan():
            return ()
        case StreamRecursion() | StreamLevels():
            return (plan.start, plan.step)
        case StreamLet():
            return (plan.input, plan.body)
        case WatermarkFilter() | EowcSort() | StreamTtl() | StreamFilter() | StreamProject() | StreamProjectSet():
            return (plan.input,)
        case LocalAgg() | HashAgg() | SimpleAgg():
            return (plan.input,)
        case LocalTopN():
            return (plan.input,)
        case (
            StreamTopN()
            | Dedup()
            | StreamOverWindow()
            | StreamChangeLog()
            | StreamExpand()
            | StreamMoments()
            | TemporalJoin()
            | Exchange()
            | Share()
        ):
            return (plan.input,)
        case Materialize() | Changelog() | IntoTable():
            return (plan.input,)
        case HashJoin() | AsOfJoin() | DynamicFilter():
            return (plan.left, plan.right)
        case StreamUnion():
            return plan.inputs
        case TableInputs():
            return (plan.log, *(() if plan.fed is None else (plan.fed,)), *plan.sinks)
        case _:
            assert_never(plan)


def nodes_of_fragment(root: StreamPlan) -> Iterator[StreamPlan]:
    """Depth first, left to right; the leaves that read other fragments included, and nothing below them.

    The root may be such a leaf, where a shared part is another one's rows as they are.
    """
    rest = [root]
    while rest:
        node = rest.pop()
        yield node
        if not isinstance(node, Border):
            rest += reversed(children(node))


def all_state_tables(root: StreamPlan) -> Iterator[TableSchema]:
    """Every table that a job keeps, the relation's first, through all fragments."""
    shared: set[int] = set()
    rest = [root]
    while rest:
        node = rest.pop()
        if isinstance(node, Share):
            if node.number in shared:
                continue
            shared.add(node.number)
        yield from state_tables(node)
        rest += reversed(children(node))


def over_now(plan: StreamPlan) -> Expr | None:
    """The one column of a plan as an expression over the column of the Now that it reads; None if it reads none."""
    if len(plan.properties.schema) != 1:
        return None
    expr: Expr = InputRef(0, plan.properties.schema[0].type)
    while isinstance(plan, StreamProject):
        expr = substituted(expr, plan.expressions)
        plan = plan.input
    return expr if isinstance(plan, Now) else None
