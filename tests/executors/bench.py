"""Runs one fragment: takes random histories of its inputs, epoch by epoch, and gives its output's changes.

The model of a relation is a dictionary from stream key to row. `Output` replays what comes out and checks that it is a
change stream: consolidated, and without a −1 for a row that is not there.
"""

from __future__ import annotations

import math
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from risingpy.executors.builders.operators import fragment_tree
from risingpy.executors.change_chunk import column_names
from risingpy.executors.epoch.handed_over import HandedOver
from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.executors.epoch.source_reading import SourceRows
from risingpy.executors.few_rows import Chunk, FewRows, table_of
from risingpy.executors.relation.backfill import ROWS_PER_EPOCH
from risingpy.plan.graph import Fragment
from risingpy.plan.logical import Field
from risingpy.plan.operators import Exchange, StreamPlan, StreamValues
from risingpy.plan.properties import Distribution, DistributionKind, Properties
from risingpy.storage.codec.table_schema import TableSchema, ValueFormat
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.types import SqlType

Row = tuple[object, ...]
Relation = Mapping[object, Row]

SINGLE = Distribution(DistributionKind.SINGLE)


@dataclass
class Input:
    """An epoch's input for a fragment that reads a log or a source, or asks whether it starts."""

    epoch: int
    first: bool = False
    logged: Mapping[int, Chunk] = field(default_factory=dict)
    sources: Mapping[int, pa.Table] = field(default_factory=dict)
    committed: int = 0
    watermarks: Mapping[int, int] = field(default_factory=dict)
    backfilling: bool = False
    most_rows: int = ROWS_PER_EPOCH

    def watermark(self, watermark_id: int) -> int | None:
        return self.watermarks.get(watermark_id)

    def is_backfilling(self, job_id: int) -> bool:
        return self.backfilling

    def snapshot_rows(self, job_id: int) -> int:
        return self.most_rows

    def first_epoch_of(self, job_id: int) -> bool:
        return self.first

    def limited(self, job_id: int) -> AbstractContextManager[None]:
        return nullcontext()

    def handed_over(self, job_id: int) -> HandedOver | None:
        return None

    def log_changes(self, table_id: int) -> Chunk | None:
        return self.logged.get(table_id)

    def source_rows(self, job_id: int, source_id: int, columns: Sequence[int]) -> Iterator[SourceRows]:
        rows = self.sources.get(source_id)
        if rows is None:
            return
        chosen = rows.select(["op", *(f"c{index}" for index in columns)]).rename_columns(
            ["op", *(f"c{place}" for place in range(len(columns)))]
        )
        yield SourceRows(chosen)


def properties(types: Sequence[SqlType], key: Sequence[int] = (), *, append_only: bool = False) -> Properties:
    """Properties of an operator's output, as far as executors read them."""
    fields = tuple(Field(f"f{k}", type_) for k, type_ in enumerate(types))
    return Properties(fields, tuple(key), SINGLE, append_only)


def leaf(types: Sequence[SqlType], key: Sequence[int] = (0,), *, append_only: bool = False) -> Exchange:
    """An input of the fragment. What is below the exchange does not matter."""
    below = StreamValues((), properties(types, key), TableSchema(0, "", (), (), (), (), ValueFormat.PLAIN))
    return Exchange(below, properties(types, key, append_only=append_only))


def chunk(rows: Sequence[tuple[int, Row]], types: Sequence[SqlType]) -> pa.Table:
    """A chunk of (op, row) pairs."""
    ops = pa.array([op for op, _ in rows], pa.int8())
    columns = [pa.array([row[k] for _, row in rows], type_.arrow) for k, type_ in enumerate(types)]
    return pa.table([ops, *columns], names=["op", *column_names(len(types))])


def rows_of(table: pa.Table) -> list[Row]:
    """A table's rows as Python values."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def delta(before: Relation, after: Relation, types: Sequence[SqlType], order: random.Random) -> pa.Table:
    """The consolidated change from one state of a relation to the next, in any order."""
    changes = [(-1, before[key]) for key in before if comparable(after.get(key)) != comparable(before[key])]
    changes += [(1, after[key]) for key in after if comparable(before.get(key)) != comparable(after[key])]
    order.shuffle(changes)
    return chunk(changes, types)


def comparable(row: Row | None) -> object:
    """The row with NaNs that are equal; -0.0 equals 0.0 anyway."""
    if row is None:
        return None
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in row)


class Output:
    """The relation that a change stream has built so far; `key` are its stream key's positions."""

    def __init__(self, key: Sequence[int]) -> None:
        self.rows: Counter[object] = Counter()
        self._key = key

    def take(self, changes: pa.Table) -> None:
        seen = [(row[0], tuple(comparable(row[1:])[k] for k in self._key)) for row in rows_of(changes)]  # type: ignore[index]
        assert len(set(seen)) == len(seen), "two changes of one kind for a key"
        for op, *row in sorted(rows_of(changes), key=lambda row: int(str(row[0]))):
            self.rows[comparable(tuple(row))] += int(str(op))
            assert self.rows[comparable(tuple(row))] in (0, 1), f"{op} {row}"
        self.rows = +self.rows


class FragmentBench:
    """One fragment on one shard, with a store of its own."""

    def __init__(self, root: StreamPlan, tables: Sequence[TableSchema] = (), *, job_id: int = 1) -> None:
        self.fragment = Fragment(1, job_id, root, (), (), 0)
        self._tables = tables
        self._tree = fragment_tree(self.fragment)
        self._directory = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").exists() else None)
        self.store = ShardStore(Path(self._directory), shard=0, shards=1, map_size=64 << 20)
        self.epoch = 0
        self.stage = 0
        self.last: FragmentEpoch | None = None
        self._reads_snapshot = True
        self._runs = 0

    def __enter__(self) -> FragmentBench:
        return self

    def __exit__(self, *error: object) -> None:
        self.store.close()
        shutil.rmtree(self._directory)

    def run(
        self,
        *inputs: pa.Table,
        upstream: Mapping[int, pa.Table] | None = None,
        logged: Mapping[int, pa.Table] | None = None,
        sources: Mapping[int, pa.Table] | None = None,
        epoch: int | None = None,
        watermarks: Mapping[int, int] | None = None,
    ) -> pa.Table:
        """Runs one epoch, the next or `epoch`, and commits it."""
        before = self.epoch
        self._runs += 1
        self.epoch = before + 1 if epoch is None else epoch
        given = Input(
            self.epoch, before == 0, self._given(logged), sources or {}, before, watermarks or {}, self._reads_snapshot
        )
        with self.store.begin(self.epoch, self.stage) as transaction:
            handed = list(self._given(dict(enumerate(inputs))).values())
            upstream_changes = self._given(upstream)
            self.last = FragmentEpoch(transaction, given, 0, 1, self.fragment.job_id, handed, upstream_changes)
            changes = table_of(self._tree.run(self.last))
            transaction.commit()
        self._reads_snapshot = self.last.backfill is not None and not self.last.backfill[1]
        return changes

    def _given(self, chunks: Mapping[int, pa.Table] | None) -> dict[int, Chunk]:
        """Chunks as Python's rows if they have few, every other time: both ways must lead to the same state."""
        as_rows = self._runs % 2 == 1
        return {key: (as_rows and FewRows.of(each)) or each for key, each in (chunks or {}).items()}

    def fail(self, *inputs: pa.Table, epoch: int) -> None:
        """Runs an epoch whose commit fails: the next `run` is after the same epoch as this one."""
        given = Input(epoch, self.epoch == 0, {}, {}, self.epoch, {}, self._reads_snapshot)
        with self.store.begin(epoch, self.stage) as transaction:
            self._tree.run(FragmentEpoch(transaction, given, 0, 1, self.fragment.job_id, inputs, {}))

    def change_process(self) -> None:
        """Lets another process run the next epochs, which knows only what is stored."""
        self._tree = fragment_tree(self.fragment)

    def state(self) -> list[set[object]]:
        """The rows of every state table."""
        with self.store.begin(self.epoch + 1, 0) as transaction:
            return [{comparable(row) for row in transaction.state_table(t).scan_rows()} for t in self._tables]
