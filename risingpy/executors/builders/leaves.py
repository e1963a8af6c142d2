"""Makes the executors that read a fragment's input: exchanges, tables, logs, sources, constants and the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from risingpy.executors.builders import few_rows
from risingpy.executors.change_chunk import empty_chunk, make_chunk
from risingpy.executors.epoch.operator_tree import CompiledOperator, Executor, FragmentEpoch, always, at_start
from risingpy.executors.few_rows.chunk import table_of
from risingpy.executors.relation.backfill import TableScanExecutor
from risingpy.executors.relation.dml import DmlExecutor
from risingpy.executors.relation.source import SourceExecutor
from risingpy.executors.stateless.values import ValuesExecutor
from risingpy.executors.watermark.now import NowExecutor
from risingpy.functions.evaluation.evaluate import evaluate_columns
from risingpy.plan.expressions import Expr
from risingpy.plan.operators import Dml, Now, Source, StreamValues, TableScan


def received(index: int, empty: pa.Table) -> CompiledOperator:
    """The operator of the fragment's input number `index`, an Exchange or a Share."""
    receiver = _Receiver(index)
    return CompiledOperator(receiver, empty, wakes=receiver.has_rows, wakes_by_rows=True, few=few_rows.received(index))


def leaf(plan: TableScan | Dml | Source | StreamValues | Now, empty: pa.Table) -> CompiledOperator:
    """The operator of a node without inputs."""
    match plan:
        case TableScan():
            return CompiledOperator(
                lambda epoch: _Scan(plan, epoch),
                empty,
                wakes=lambda epoch: _scan_wakes(plan, epoch),
                wakes_by_rows=True,
            )
        case Dml():
            return CompiledOperator(
                lambda epoch: _dml(plan, epoch, empty), empty, wakes=lambda epoch: _is_logged(plan.table_id, epoch)
            )
        case Source():
            return CompiledOperator(lambda epoch: _source(plan, epoch, empty), empty, wakes=always)
        case StreamValues():
            return CompiledOperator(lambda epoch: _values(plan, epoch, empty), empty, wakes=at_start)
        case Now():
            return CompiledOperator(lambda epoch: _now(epoch, empty), empty, wakes=always)
        case _:
            assert_never(plan)


class _Received:
    """An Exchange leaf: the rows that other tasks sent."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        return self._rows


@dataclass(frozen=True, slots=True)
class _Receiver:
    index: int

    def __call__(self, epoch: FragmentEpoch) -> Executor:
        return _Received(table_of(epoch.inputs[self.index]))

    def has_rows(self, epoch: FragmentEpoch) -> bool:
        return bool(epoch.inputs[self.index].num_rows)


class _Scan:
    """Gives a TableScan executor its upstream's changes, and reports the progress of its backfill."""

    def __init__(self, plan: TableScan, epoch: FragmentEpoch) -> None:
        self._epoch = epoch
        changes = epoch.upstream.get(plan.upstream.table_id)
        self._changes = _upstream_empty(plan) if changes is None else table_of(changes)
        self._scan = TableScanExecutor(
            upstream=epoch.transaction.state_table(plan.upstream),
            schema=plan.upstream,
            columns=plan.columns,
            progress=epoch.transaction.state_table(plan.progress),
            shard=epoch.shard,
            shards=epoch.shards,
            is_backfilling=epoch.epoch_input.is_backfilling(epoch.job_id),
            most_rows=epoch.epoch_input.snapshot_rows(epoch.job_id),
        )

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        output = self._scan.execute([self._changes])
        rows, finished = self._epoch.backfill or (0, True)
        self._epoch.backfill = (rows + self._scan.backfill[0], finished and self._scan.backfill[1])
        return output


def _scan_wakes(plan: TableScan, epoch: FragmentEpoch) -> bool:
    changes = epoch.upstream.get(plan.upstream.table_id)
    return bool(changes is not None and changes.num_rows) or _reads_snapshot(epoch)


def _reads_snapshot(epoch: FragmentEpoch) -> bool:
    """Whether the job reads rows of its upstreams now, or has to say that it has not read them yet."""
    own = epoch.epoch_input
    return own.is_backfilling(epoch.job_id) and (
        own.snapshot_rows(epoch.job_id) > 0 or own.first_epoch_of(epoch.job_id)
    )


def _upstream_empty(plan: TableScan) -> pa.Table:
    return empty_chunk([column.type for column in plan.upstream.columns])


def _dml(plan: Dml, epoch: FragmentEpoch, empty: pa.Table) -> Executor:
    return DmlExecutor(
        table_id=plan.table_id,
        distribution=plan.properties.distribution.columns,
        types=[plan.properties.schema[index].type for index in plan.properties.distribution.columns],
        empty=empty,
        epoch_input=epoch.epoch_input,
        shard=epoch.shard,
        shards=epoch.shards,
    )


def _is_logged(table_id: int, epoch: FragmentEpoch) -> bool:
    logged = epoch.epoch_input.log_changes(table_id)
    return logged is not None and bool(logged.num_rows)


def _source(plan: Source, epoch: FragmentEpoch, empty: pa.Table) -> Executor:
    return SourceExecutor(
        job_id=epoch.job_id,
        source_id=plan.source_id,
        columns=plan.columns,
        empty=empty,
        epoch_input=epoch.epoch_input,
        reject=epoch.rejected.append,
    )


def _values(plan: StreamValues, epoch: FragmentEpoch, empty: pa.Table) -> Executor:
    def rows() -> pa.Table:
        chunk, errors = _constant_rows(plan.rows, empty)
        epoch.errors += errors
        return chunk

    marker = epoch.transaction.state_table(plan.marker)
    return ValuesExecutor(rows=rows, empty=empty, marker=marker, shard=epoch.shard)


def _constant_rows(rows: tuple[tuple[Expr, ...], ...], empty: pa.Table) -> tuple[pa.Table, int]:
    """The rows as insertions, and how many expressions failed."""
    if not rows:
        return empty, 0
    ops = pa.repeat(pa.scalar(1, pa.int8()), len(rows))
    types = [field.type for field in list(empty.schema)[1:]]
    columns, errors = evaluate_columns(list(zip(*rows, strict=True)), types)
    return make_chunk(ops, columns), errors


def _now(epoch: FragmentEpoch, empty: pa.Table) -> Executor:
    input = epoch.epoch_input
    before = None if input.first_epoch_of(epoch.job_id) else input.committed
    return NowExecutor(before=before, epoch=input.epoch, empty=empty)
