"""Makes the executors that depend on an order: TopN, LocalTopN, OverWindow, Dedup."""

from __future__ import annotations

import pyarrow as pa

from risingpy.executors.epoch.operator_tree import CompiledOperator, FragmentEpoch
from risingpy.executors.ordered.dedup import DedupExecutor
from risingpy.executors.ordered.first_of_group import FirstOfGroupExecutor
from risingpy.executors.ordered.kept_tail import kept_tail
from risingpy.executors.ordered.local_top_n import LocalTopNExecutor
from risingpy.executors.ordered.over_window import OverWindowExecutor
from risingpy.executors.ordered.top_n import TopNExecutor, Window
from risingpy.executors.ordered.window_functions import WindowFunctions
from risingpy.executors.watermark.bound import Bound
from risingpy.plan.expressions import InputRef
from risingpy.plan.operators import Materialize
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.state_tables import ordered_rows
from risingpy.storage.engine.state_table import StateTable


def top_n(plan: StreamTopN, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a TopN."""
    schema = plan.input.properties.schema
    group_types = [schema[k].type for k in plan.group_key]
    if plan.keeps_one_row:
        order = ordered_rows(0, "", "", plan.input.properties, plan.group_key, plan.order, ())
        return CompiledOperator(
            lambda epoch: FirstOfGroupExecutor(
                table=epoch.transaction.state_table(plan.table),
                group_key=plan.group_key,
                group_types=group_types,
                order=order,
            ),
            empty,
            (input,),
        )
    window = Window(plan.offset, plan.limit, plan.with_ties)
    return CompiledOperator(
        lambda epoch: TopNExecutor(
            table=epoch.transaction.state_table(plan.table),
            group_key=plan.group_key,
            group_types=group_types,
            ordered=len(plan.group_key) + len(plan.order),
            window=window,
            append_only=plan.input.properties.append_only,
        ),
        empty,
        (input,),
    )


def first_of_key(plan: Materialize, table: StateTable) -> FirstOfGroupExecutor:
    """The executor of a Materialize that keeps the first row of each key: the relation itself is a TopN's state."""
    key = [column.index for column in plan.table.key]
    return FirstOfGroupExecutor(
        table=table,
        group_key=key,
        group_types=[plan.table.columns[k].type for k in key],
        order=ordered_rows(0, "", "", plan.input.properties, (), plan.first_by or (), ()),
    )


def local_top_n(plan: LocalTopN, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a LocalTopN."""
    types = [column.type for column in plan.input.properties.schema]
    order = ordered_rows(0, "", "", plan.input.properties, (), plan.order, ())
    return CompiledOperator(
        lambda epoch: LocalTopNExecutor(
            order=order,
            types=types,
            ordered=len(plan.order),
            reach=plan.reach,
            with_ties=plan.with_ties,
        ),
        empty,
        (input,),
    )


def over_window(plan: StreamOverWindow, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of an OverWindow."""
    schema = plan.input.properties.schema
    order = [
        (
            key.index,
            f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}",
            schema[key.index].type,
        )
        for key in plan.order_by
    ]
    functions = WindowFunctions(plan.calls, order, len(schema))
    tail = None
    if plan.emit_on_window_close and len(plan.order_by) == 1:
        tail = kept_tail(plan.calls, plan.order_by[0].index, schema[plan.order_by[0].index].type)
    partition_types = [schema[k].type for k in plan.partition_by]
    ordered = len({*plan.partition_by, *(key.index for key in plan.order_by)})
    passed = plan.passed
    bound = None if passed is None else Bound(passed.bounds)

    def passed_rows(epoch: FragmentEpoch) -> tuple[int, pa.Array] | None:
        known = None if bound is None else bound(epoch)
        if passed is None or known is None:
            return None
        assert isinstance(passed.expression, InputRef)
        return passed.expression.index, known

    return CompiledOperator(
        lambda epoch: OverWindowExecutor(
            table=epoch.transaction.state_table(plan.table),
            partition_by=plan.partition_by,
            partition_types=partition_types,
            ordered=ordered,
            functions=functions,
            result_types=[call.type for call in plan.calls],
            awaited=[len(schema) + call for call in plan.awaits],
            passed=passed_rows(epoch),
            comes_in_order=plan.emit_on_window_close,
            tail=tail,
        ),
        empty,
        (input,),
    )


def dedup(plan: Dedup, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a Dedup."""
    types = [column.type for column in plan.input.properties.schema]
    return CompiledOperator(
        lambda epoch: DedupExecutor(
            table=epoch.transaction.state_table(plan.table),
            key=plan.key,
            stream_key=plan.input.properties.stream_key,
            types=types,
        ),
        empty,
        (input,),
    )
