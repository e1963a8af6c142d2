"""Makes the executor of a recursion, and the leaf by which its step reads the recursion's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.executors.epoch.operator_tree import CompiledOperator, Executor, FragmentEpoch, run_operator
from risingpy.executors.recursion.counted_rows import CountedRows
from risingpy.executors.recursion.derived_rows import Derivations, LevelRows, RecursiveRowLayout
from risingpy.executors.recursion.distinct_rows import DistinctRows
from risingpy.executors.recursion.moments import MomentsExecutor
from risingpy.executors.recursion.recursion import LevelBound, LevelsExecutor, RecursionExecutor
from risingpy.executors.recursion.weighted_rows import WeightedRows
from risingpy.plan.recursion.operators import (
    RecursiveRows,
    StreamLet,
    StreamLevels,
    StreamMoments,
    StreamRecursion,
    StreamRecursiveScan,
)
from risingpy.types import SqlType


def recursion(
    plan: StreamRecursion, empty: pa.Table, start: CompiledOperator, step: CompiledOperator
) -> CompiledOperator:
    """The operator of a Recursion.

    The step is its second input, so what else the step reads comes first; the executor then runs the same step again.
    """
    types = [field.type for field in plan.properties.schema]
    rows = plan.rows

    def make(epoch: FragmentEpoch) -> Executor:
        levels = _level_rows(rows, types[: rows.width], epoch)
        return RecursionExecutor(
            rows=levels,
            step=_RecursionStep(step, plan.number, epoch).run,
            width=rows.width,
            types=types,
            limit=plan.limit,
            view=plan.view,
            weighted=rows.weighted,
            levels_of_round=plan.levels_of_round,
            returns_at_limit=plan.returns_at_limit,
        )

    return CompiledOperator(make, empty, (start, step))


def levels(plan: StreamLevels, empty: pa.Table, start: CompiledOperator, step: CompiledOperator) -> CompiledOperator:
    """The operator of a StreamLevels, which has a level's changes in each run of its fragment."""
    types = [field.type for field in plan.properties.schema]
    rows, bound = plan.rows, LevelBound(plan.limit, plan.view, plan.limit)

    def make(epoch: FragmentEpoch) -> Executor:
        kept = _level_rows(rows, types[1 : 1 + rows.width], epoch)
        return LevelsExecutor(rows=kept, width=rows.width, level=epoch.level, bound=bound, hold=epoch.hold)

    return CompiledOperator(make, empty, (start, step))


def _level_rows(rows: RecursiveRows, types: Sequence[SqlType], epoch: FragmentEpoch) -> LevelRows:
    layout = RecursiveRowLayout(tuple(types), rows.identity, rows.carried)
    derivations = Derivations(epoch.transaction.state_table(rows.derivations), layout)
    if rows.weighted:
        return WeightedRows(derivations)
    if rows.members is not None:
        return DistinctRows(derivations, epoch.transaction.state_table(rows.members))
    return CountedRows(derivations)


def recursive_scan(plan: StreamRecursiveScan, empty: pa.Table) -> CompiledOperator:
    """The operator of a recursion's scan: it has rows only when the recursion runs its step."""
    reader = _RecursionReader(plan.number)
    return CompiledOperator(reader, empty, wakes=reader.has_rows, wakes_by_rows=True)


def let(plan: StreamLet, empty: pa.Table, input: CompiledOperator, body: CompiledOperator) -> CompiledOperator:
    """The operator that gives what `body` does, whose scans of this number read the rows of `input`."""
    keeper = CompiledOperator(lambda epoch: _LetInput(plan.number, epoch), input.empty, (input,))
    return CompiledOperator(lambda epoch: _LetBody(), empty, (keeper, body))


def moments(plan: StreamMoments, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    """The operator of a StreamMoments."""
    types = [field.type for field in plan.input.properties.schema[2 : 2 + plan.width]]
    layout = RecursiveRowLayout(tuple(types), plan.identity, plan.carried)

    def make(epoch: FragmentEpoch) -> Executor:
        table = epoch.transaction.state_table(plan.table)
        return MomentsExecutor(table=table, layout=layout, grouped=plan.grouped, gives=plan.gives)

    return CompiledOperator(make, empty, (input,))


@dataclass(frozen=True, slots=True)
class _LetInput:
    """Keeps the rows for the scans, which come later in the same run."""

    number: int
    epoch: FragmentEpoch

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (rows,) = inputs
        self.epoch.recursive = {**self.epoch.recursive, self.number: rows}
        return rows.slice(0, 0)


@dataclass(frozen=True, slots=True)
class _LetBody:
    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        return inputs[1]


@dataclass(frozen=True, slots=True)
class _RecursionStep:
    operator: CompiledOperator
    number: int
    epoch: FragmentEpoch

    def run(self, rows: pa.Table) -> pa.Table:
        """The changes of the step's output by those of the rows that it reads."""
        run = self.epoch.further_run(self.number, rows)
        changes = run_operator(self.operator, run)
        self.epoch.errors += run.errors
        return changes


@dataclass(frozen=True, slots=True)
class _RecursionReader:
    number: int

    def __call__(self, epoch: FragmentEpoch) -> Executor:
        return _RecursionRows(epoch.recursive[self.number])

    def has_rows(self, epoch: FragmentEpoch) -> bool:
        return self.number in epoch.recursive


@dataclass(frozen=True, slots=True)
class _RecursionRows:
    rows: pa.Table

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        return self.rows
