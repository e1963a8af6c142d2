"""The state tables of operators, as EXPLAIN (VERBOSE) shows them: `id kind: key columns in order → value columns`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.explain.tree import column_names, order_text
from risingpy.plan.aggregates import AggState, HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, JoinSide, PassedRows, TemporalJoin
from risingpy.plan.logical import Schema
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


def state_table_lines(plan: StreamPlan) -> list[str]:
    """The operator's state tables, a line each: `table 5 rows: key: [v1 ASC], …`."""
    match plan:
        case TableScan():
            return [f"table {plan.progress.table_id} progress: {table_text(plan.progress)}"]
        case StreamValues():
            return [f"table {plan.marker.table_id} marker: {table_text(plan.marker)}"]
        case HashAgg() | SimpleAgg():
            first = len(plan.properties.schema) - len(plan.calls)
            return _agg_details(plan.states, plan.properties.schema[first:]) + _dedup_details(plan)
        case Dedup():
            return [f"table {plan.table.table_id} values seen: {table_text(plan.table)}"]
        case StreamOverWindow(passed=PassedRows() as passed):
            return [f"table {plan.table.table_id} rows: {table_text(plan.table)}{_cleaned_by(passed, plan.table)}"]
        case StreamTopN() | StreamOverWindow() | StreamMoments() | EowcSort():
            return [f"table {plan.table.table_id} rows: {table_text(plan.table)}"]
        case TemporalJoin():
            return [] if plan.memo is None else [f"table {plan.memo.table_id} memo: {table_text(plan.memo)}"]
        case DynamicFilter():
            tables = {"rows": plan.table, "bound": plan.bound}
            return [f"table {table.table_id} {name}: {table_text(table)}" for name, table in tables.items()]
        case HashJoin() | AsOfJoin():
            return [*_side_details("left", plan.left_side), *_side_details("right", plan.right_side)]
        case StreamRecursion() | StreamLevels():
            kept = {"derivations": plan.rows.derivations, "members": plan.rows.members}
            return [f"table {t.table_id} {name}: {table_text(t)}" for name, t in kept.items() if t is not None]
        case Materialize() | StreamTtl():
            return _details_of_rows(plan)
        case Changelog():
            return [f"table {plan.table.table_id} changes: {table_text(plan.table)}"]
        case IntoTable():
            return [f"table {plan.table.table_id} numbers: {table_text(plan.table)}"] if plan.is_numbered else []
        case Dml() | Source() | SinkInput() | Now() | WatermarkFilter() | Exchange() | TableInputs() | LocalTopN():
            return []
        case (
            StreamFilter()
            | StreamProject()
            | StreamProjectSet()
            | LocalAgg()
            | StreamUnion()
            | StreamChangeLog()
            | StreamExpand()
            | StreamLet()
            | StreamRecursiveScan()
            | StreamLevelScan()
            | Share()
        ):
            return []
        case _:
            assert_never(plan)


def _details_of_rows(plan: Materialize | StreamTtl) -> list[str]:
    """The rows, by what those are found that end, and when they were written."""
    names = ["relation" if isinstance(plan, Materialize) else "rows"]
    names += ["expiry"] if isinstance(plan, Materialize) and plan.expiry is not None else []
    names += [] if plan.retained is None else ["retention", "ages"][: len(plan.retained.tables)]
    names += ["times"] if isinstance(plan, Materialize) and plan.times is not None else []
    named = zip(names, state_tables(plan), strict=True)
    return [f"table {table.table_id} {name}: {table_text(table)}" for name, table in named]


def _cleaned_by(passed: PassedRows, table: TableSchema) -> str:
    return f", cleaned by {expression_text(passed.expression, [column.name for column in table.columns])}"


def _side_details(name: str, side: JoinSide) -> list[str]:
    lines = [f"table {side.table.table_id} {name} rows: {table_text(side.table)}"]
    if side.passed is not None:
        lines[0] += _cleaned_by(side.passed, side.table)
    if side.degree is not None:
        lines.append(f"table {side.degree.table_id} {name} degrees: {table_text(side.degree)}")
    return lines


def _agg_details(states: Sequence[AggState], calls: Schema) -> list[str]:
    return [
        f"table {state.table.table_id} {'materialized input' if state.materialized_input else 'value state'}"
        f" of {call.name}: {table_text(state.table)}"
        for state, call in zip(states, calls, strict=True)
    ]


def _dedup_details(plan: HashAgg | SimpleAgg) -> list[str]:
    names = column_names(plan.input.properties.schema)
    return [
        f"table {dedup.table.table_id} dedup of [{', '.join(names[i] for i in dedup.args)}]: {table_text(dedup.table)}"
        for dedup in plan.dedups
    ]


def table_text(table: TableSchema) -> str:
    """`key: [v1 ASC], value: [sum], distribution: [v1], read prefix: 1`"""
    names = [column.name for column in table.columns]
    key = [order_text(names[k.index], descending=k.descending, nulls_first=k.nulls_first) for k in table.key]
    value = [names[i] for i in table.value_columns]
    distribution = [names[i] for i in table.distribution]
    parts = {"key": key, "value": value, "distribution": distribution}
    return ", ".join([*(f"{k}: [{', '.join(v)}]" for k, v in parts.items()), f"read prefix: {table.read_prefix}"])
