"""Makes the executors that watermarks drive: the filter of late rows, and those that emit when a window closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from risingpy.executors.aggregate.eowc_hash_agg import EowcHashAggExecutor
from risingpy.executors.aggregate.hash_agg import HashAggExecutor
from risingpy.executors.builders.aggregate import state_calls
from risingpy.executors.epoch.operator_tree import CompiledOperator, Executor, FragmentEpoch
from risingpy.executors.watermark.aging_rows import AgingRows
from risingpy.executors.watermark.bound import Bound, watermark_value
from risingpy.executors.watermark.eowc_sort import EowcSortExecutor
from risingpy.executors.watermark.expiring_rows import ExpiringRows
from risingpy.executors.watermark.oldest_rows import OldestRows
from risingpy.executors.watermark.retained_rows import RetainedRows
from risingpy.executors.watermark.watermark_filter import WatermarkFilterExecutor
from risingpy.executors.watermark.young_rows import YoungRows
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.aggregates import HashAgg
from risingpy.plan.operators import EowcSort, Materialize, StreamPlan, StreamTtl, WatermarkFilter
from risingpy.plan.state_tables import state_tables
from risingpy.plan.watermark_use import emitting_watermark
from risingpy.storage.codec.table_schema import TableSchema


def watermark_filter(plan: WatermarkFilter, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a WatermarkFilter."""
    expression = Evaluator(None, (plan.expression,))
    return CompiledOperator(lambda epoch: _Filter(plan, expression, epoch), empty, (input,))


class _Filter:
    """Gives a WatermarkFilter executor its watermark, and reports how far its rows move it."""

    def __init__(self, plan: WatermarkFilter, expression: Evaluator, epoch: FragmentEpoch) -> None:
        self._plan = plan
        self._epoch = epoch
        known = epoch.epoch_input.watermark(plan.watermark_id)
        type_ = plan.properties.schema[plan.column].type
        watermark = None if known is None else watermark_value(known, type_)
        self._filter = WatermarkFilterExecutor(column=plan.column, expression=expression, watermark=watermark)

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        output = self._filter.execute(inputs)
        self._epoch.errors += self._filter.errors
        if self._filter.reached is not None:
            self._epoch.reached[self._plan.watermark_id] = self._filter.reached
        return output


def eowc_sort(plan: EowcSort, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of an EowcSort."""
    bound = _emitting_bound(plan)
    return CompiledOperator(
        lambda epoch: EowcSortExecutor(
            table=epoch.transaction.state_table(plan.table), bound=bound(epoch), empty=empty
        ),
        empty,
        (input,),
        wakes=lambda epoch: bound(epoch) is not None,
    )


def eowc_hash_agg(plan: HashAgg, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a HashAgg that emits on window close."""
    types = [field.type for field in plan.input.properties.schema]
    group_types = [types[k] for k in plan.group_key]
    make_calls = state_calls(plan, plan.group_key, types)
    bound = _emitting_bound(plan)

    def make(epoch: FragmentEpoch) -> Executor:
        transaction = epoch.transaction
        return EowcHashAggExecutor(
            open_groups=HashAggExecutor(
                group_key=plan.group_key,
                group_types=group_types,
                calls=make_calls(transaction),
                row_count=plan.row_count,
            ),
            make_calls=lambda: make_calls(transaction),
            counts=transaction.state_table(plan.states[plan.row_count].table),
            tables=[transaction.state_table(table) for table in state_tables(plan)],
            group_columns=len(plan.group_key),
            bound=bound(epoch),
            empty=empty,
        )

    return CompiledOperator(make, empty, (input,), wakes=lambda epoch: bound(epoch) is not None)


def expiring_rows(plan: Materialize, stored: CompiledOperator) -> CompiledOperator:
    """The operator of a Materialize whose rows may end; `stored` is that of one whose rows do not."""
    table, expiry = plan.table, plan.expiry
    if expiry is None:
        return stored
    bound = Bound(expiry.bounds)

    def make(epoch: FragmentEpoch) -> Executor:
        return ExpiringRows(
            stored.make(epoch),
            table=epoch.transaction.state_table(table),
            expiry=epoch.transaction.state_table(expiry.table),
            column=expiry.column,
            bound=bound(epoch),
        )

    return replace(stored, make=make, wakes=lambda epoch: bound(epoch) is not None)


def retained_rows(plan: Materialize, stored: CompiledOperator) -> CompiledOperator:
    """The operator of a Materialize whose rows end by the clock; `stored` is that of one whose rows do not."""
    table, retained = plan.table, plan.retained
    if retained is None:
        return stored

    oldest = OldestRows(retained)
    return replace(
        stored, make=lambda epoch: _ending_rows(stored.make(epoch), table, oldest, epoch), wakes=oldest.wakes
    )


def rows_of_ttl(plan: StreamTtl, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a StreamTtl."""
    oldest = OldestRows(plan.retained)

    def make(epoch: FragmentEpoch) -> Executor:
        return _ending_rows(YoungRows(epoch.transaction.state_table(plan.table)), plan.table, oldest, epoch)

    return CompiledOperator(make, empty, (input,), wakes=oldest.wakes)


def _ending_rows(stored: Executor, table: TableSchema, oldest: OldestRows, epoch: FragmentEpoch) -> Executor:
    """`stored`, which stores rows in `table`, with their end by the clock."""
    kept = epoch.transaction.state_table(table)
    times = epoch.transaction.state_table(oldest.retained.table)
    if oldest.retained.ages is None:
        return RetainedRows(stored, table=kept, times=times, oldest=oldest, epoch=epoch)
    ages = epoch.transaction.state_table(oldest.retained.ages)
    return AgingRows(stored, table=kept, times=times, ages=ages, oldest=oldest, epoch=epoch)


def _emitting_bound(plan: StreamPlan) -> Bound:
    watermark = emitting_watermark(plan)
    assert watermark is not None
    return Bound(watermark.bounds)
