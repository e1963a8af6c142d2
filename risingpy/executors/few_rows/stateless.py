"""Filter, Project, TableScan and Dml of a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.executors.epoch.operator_tree import FragmentEpoch, NotFew
from risingpy.executors.few_rows.chunk import Chunk, FewRows, OpRow, consolidated_rows
from risingpy.executors.few_rows.shards import RowShards
from risingpy.functions.evaluation.python_rows import NotInPython, OfRow


@dataclass(frozen=True, slots=True)
class FewFilter:
    """The rows for which `predicate` is true."""

    predicate: OfRow

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (changes,) = inputs
        kept = _passing(self.predicate, changes.rows)
        return changes if len(kept) == len(changes.rows) else FewRows(changes.types, kept)


@dataclass(frozen=True, slots=True)
class FewProject:
    """The rows for which `predicate`, if there is one, is true, projected. `may_cancel`: see `ProjectExecutor`."""

    predicate: OfRow | None
    expressions: Sequence[OfRow]
    types: Sequence[pa.DataType]
    may_cancel: bool

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (changes,) = inputs
        rows = changes.rows if self.predicate is None else _passing(self.predicate, changes.rows)
        epoch.passed = len(rows)
        expressions = self.expressions
        try:
            projected = [(op, tuple([value(row) for value in expressions])) for op, row in rows]
        except NotInPython as error:
            raise NotFew from error
        return FewRows(self.types, consolidated_rows(projected) if self.may_cancel else projected)


def _passing(predicate: OfRow, rows: list[OpRow]) -> list[OpRow]:
    try:
        return [each for each in rows if predicate(each[1])]
    except NotInPython as error:
        raise NotFew from error


@dataclass(frozen=True, slots=True)
class FewScan:
    """A TableScan whose backfill has ended: the changes of the table. `columns`: None for all of them."""

    table_id: int
    columns: Sequence[int] | None
    types: Sequence[pa.DataType]

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        changes = epoch.upstream.get(self.table_id)
        if not isinstance(changes, FewRows) or epoch.epoch_input.is_backfilling(epoch.job_id):
            raise NotFew
        epoch.backfill = epoch.backfill or (0, True)
        columns = self.columns
        if columns is None:
            return changes
        selected = [(op, tuple([row[column] for column in columns])) for op, row in changes.rows]
        # An update of columns that are not selected changes nothing here.
        return FewRows(self.types, consolidated_rows(selected))


@dataclass(frozen=True, slots=True)
class FewLogged:
    """A Dml: the shard's part of what was logged."""

    table_id: int
    shards: Callable[[int], RowShards]

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        logged = epoch.epoch_input.log_changes(self.table_id)
        if not isinstance(logged, FewRows):
            raise NotFew
        owner_of = self.shards(epoch.shards)
        rows = [each for each in logged.rows if owner_of(each[1]) == epoch.shard]
        return logged if len(rows) == len(logged.rows) else FewRows(logged.types, rows)


@dataclass(frozen=True, slots=True)
class FewReceived:
    """An Exchange, or another input that other fragments send."""

    index: int

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> Chunk:
        return epoch.inputs[self.index]
