"""Adds state cleaning to executors.

Rows of a state table that are below a watermark's bound are deleted: no change can come for them any more. If the table
is sorted by the bounded column, one range deletion does it. Otherwise (an interval join, sessions) a sweep checks row
by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from risingpy.executors.epoch.operator_tree import CompiledOperator, Executor, FragmentEpoch
from risingpy.executors.watermark.bound import Bound
from risingpy.executors.watermark.passed_rows import PassedRowsSweep
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.joins import HashJoin, PassedRows
from risingpy.plan.operators import StreamPlan
from risingpy.plan.ordered import StreamOverWindow
from risingpy.plan.state_tables import state_tables
from risingpy.plan.watermark_use import cleaning_watermark, emitting_watermark
from risingpy.storage.codec.table_schema import TableSchema, vnodes_of_shard

# Per state table and shard: a watermark may pass a whole day of rows at once. Deleting these takes about 100 ms.
CLEANED_ROWS_PER_EPOCH = 100_000


def cleaned(plan: StreamPlan, operator: CompiledOperator) -> CompiledOperator:
    """The operator with state cleaning, if a watermark bounds its state: after its work in an epoch, it deletes the
    rows of its state tables that the watermark has passed."""
    watermark = cleaning_watermark(plan)
    if watermark is None:
        return _swept(operator, [_Sweep.of(table) for table in _swept_tables(plan)])
    if emitting_watermark(plan) is not None:
        return operator
    bound = Bound(watermark.watermark.bounds)
    schemas = state_tables(plan)

    def clean(epoch: FragmentEpoch, input_rows: int) -> None:
        passed = bound(epoch)
        if passed is not None:
            for schema in schemas:
                epoch.transaction.state_table(schema).delete_below(passed, CLEANED_ROWS_PER_EPOCH)

    return _with_cleaning(operator, clean)


@dataclass(frozen=True, slots=True)
class _SweptTable:
    """A state table of which `passed` rows are deleted, and with them their `degree`."""

    passed: PassedRows
    table: TableSchema
    degree: TableSchema | None = None


def _swept_tables(plan: StreamPlan) -> list[_SweptTable]:
    """The tables in which no range of keys has just the passed rows: an interval join's, and that of sessions."""
    match plan:
        case HashJoin():
            sides = (plan.left_side, plan.right_side)
            return [_SweptTable(side.passed, side.table, side.degree) for side in sides if side.passed is not None]
        case StreamOverWindow(passed=PassedRows() as passed):
            return [_SweptTable(passed, plan.table)]
        case _:
            return []


def _swept(operator: CompiledOperator, sweeps: Sequence[_Sweep]) -> CompiledOperator:
    """The operator with sweeps of its tables."""
    if not sweeps:
        return operator

    def clean(epoch: FragmentEpoch, input_rows: int) -> None:
        for sweep in sweeps:
            sweep.run(epoch, input_rows)

    return _with_cleaning(operator, clean)


@dataclass(frozen=True, slots=True)
class _Sweep:
    swept: _SweptTable
    bound: Bound
    rows: PassedRowsSweep

    @classmethod
    def of(cls, swept: _SweptTable) -> _Sweep:
        evaluator = Evaluator(None, (swept.passed.expression,))
        return cls(swept, Bound(swept.passed.bounds), PassedRowsSweep(evaluator))

    def run(self, epoch: FragmentEpoch, input_rows: int) -> None:
        bound = self.bound(epoch)
        if bound is None:
            return
        tables = epoch.transaction.state_table
        self.rows.run(
            tables(self.swept.table),
            None if self.swept.degree is None else tables(self.swept.degree),
            bound,
            shard=epoch.shard,
            vnodes=vnodes_of_shard(epoch.shard, epoch.shards) if self.swept.table.distribution else range(1),
            input_rows=input_rows,
        )


def _with_cleaning(operator: CompiledOperator, clean: Callable[[FragmentEpoch, int], None]) -> CompiledOperator:
    return replace(operator, make=lambda epoch: _Cleaning(operator.make(epoch), lambda rows: clean(epoch, rows)))


class _Cleaning:
    """Runs an executor, then deletes the rows of its tables that are no longer needed."""

    def __init__(self, executor: Executor, clean: Callable[[int], None]) -> None:
        self._executor = executor
        self._clean = clean
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        output = self._executor.execute(inputs)
        self.errors = getattr(self._executor, "errors", 0)
        self._clean(sum(chunk.num_rows for chunk in inputs))
        return output
