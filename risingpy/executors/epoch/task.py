"""What one task does in an epoch, the same under Spark and in the server's own process.

An `EpochWorker` keeps what is expensive to open from one epoch to the next: the stores of the process's shards, the
log's files and the graph.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from risingpy.connectors.secrets.vault import Vault
from risingpy.executors.epoch.descriptor import (
    LEAST_JOB_SECONDS,
    EpochDescriptor,
    SplitRange,
    TakenOver,
    graph_path,
    key_file_of,
    state_of,
)
from risingpy.executors.epoch.handed_over import HandedOver, read_handed_over
from risingpy.executors.epoch.job_watch import JobWatch
from risingpy.executors.epoch.loaded_graph import LoadedGraph
from risingpy.executors.epoch.shard_threads import OnShards, ShardThreads, one_by_one
from risingpy.executors.epoch.source_reading import SourceReading, SourceRows
from risingpy.executors.epoch.stage_runner import StageOutput, StageReport, run_epoch_in_process, run_stage
from risingpy.executors.epoch.turn import Turn
from risingpy.executors.few_rows.chunk import Chunk, FewRows
from risingpy.functions.evaluation.chunk_query import thread_interrupt
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.plan.catalog import ExternalSource
from risingpy.plan.graph import StreamGraph
from risingpy.plan.graph_codec import GraphReader
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.journal.delta import ShardDeltas
from risingpy.storage.journal.entries import Delta
from risingpy.storage.log.reader import LogReader
from risingpy.storage.log.write_ahead_log import log_directory
from risingpy.storage.objects.uri import open_objects
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

PURGED_ROWS = 2_000  # of a dropped table at a time
# So long an epoch deletes on each shard rows of dropped tables: with rows of others, and without.
BUSY_PURGE_SECONDS, QUIET_PURGE_SECONDS = 0.005, 0.05
COMPACTED_ROWS_PER_EPOCH = 20_000  # checked per shard: about 20 ms
ROWS_FOR_THREADS = 2_000  # of input: with fewer, handing the interpreter's lock over costs more than threads gain
ROWS_TO_DIVIDE = 1_000  # of a split: to read two parts costs a request more, some milliseconds of another system
CREATING_SHARE = 0.25  # of a job's time, while it is created: set aside then, it keeps nobody waiting who reads it
PURGE_STAGE = 0xFFFF  # purging has a transaction of its own, and so a stage number of its own


@dataclass(frozen=True, slots=True)
class Purged:
    """The tables of `purge` and `compact` that are done, and what was changed, as in a stage's report."""

    tables: frozenset[int]
    deltas: tuple[Delta, ...] = ()

    @classmethod
    def on_all(cls, parts: Iterable[Purged]) -> Purged:
        """What is done on all shards."""
        found = list(parts)
        deltas = tuple(chain.from_iterable(part.deltas for part in found))
        return cls(frozenset.intersection(*(part.tables for part in found)), deltas)


class _Timed:
    """A context manager that adds a job's CPU time in it to `taken`, unless the work in it fails."""

    def __init__(self, inner: AbstractContextManager[None], taken: dict[int, float], job_id: int) -> None:
        self._inner = inner
        self._taken = taken
        self._job_id = job_id
        self._began = time.thread_time()

    def __enter__(self) -> None:
        self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
        if error is None:
            taken = self._taken.get(self._job_id, 0.0)
            self._taken[self._job_id] = taken + time.thread_time() - self._began


class LoggedInput:
    """An epoch's input for one shard: the log records and ranges of source splits that the descriptor names."""

    def __init__(self, worker: EpochWorker, descriptor: EpochDescriptor, shard: int) -> None:
        self._worker = worker
        self._descriptor = descriptor
        self._shard = shard
        self._watermarks = dict(descriptor.watermarks)
        self._snapshot_rows = dict(descriptor.snapshot_rows)
        self._taken: dict[int, float] = {}  # seconds of CPU, by job
        self.epoch = descriptor.epoch
        self.committed = descriptor.committed

    def first_epoch_of(self, job_id: int) -> bool:
        return job_id in self._descriptor.fresh_jobs

    def watermark(self, watermark_id: int) -> int | None:
        return self._watermarks.get(watermark_id)

    def is_backfilling(self, job_id: int) -> bool:
        return job_id in self._descriptor.backfilling

    def snapshot_rows(self, job_id: int) -> int:
        return self._snapshot_rows.get(job_id, 0)

    def limited(self, job_id: int) -> AbstractContextManager[None]:
        seconds = self._descriptor.job_seconds
        if not seconds:
            return nullcontext()
        if self.first_epoch_of(job_id) or self.is_backfilling(job_id):
            seconds = max(seconds * CREATING_SHARE, min(seconds, LEAST_JOB_SECONDS))
        left = seconds - self._taken.get(job_id, 0.0)  # by its other fragments
        watched = self._worker.watch.limited(left, self._descriptor.rows, thread_interrupt())
        return _Timed(watched, self._taken, job_id)

    def handed_over(self, job_id: int) -> HandedOver | None:
        taken = next((each for each in self._descriptor.handed_over if each.job_id == job_id), None)
        return None if taken is None else self._worker.handed_over(taken, self._shard)

    def log_changes(self, table_id: int) -> Chunk | None:
        """All the epoch's changes of the table, in log order; None if there are none."""
        return self._worker.logged(self._descriptor).get(table_id)

    def source_rows(self, job_id: int, source_id: int, columns: Sequence[int]) -> Iterator[SourceRows]:
        """This shard's part of a source's rows that are new to the job."""
        for split in self._descriptor.splits:
            if (split.job_id, split.source_id) == (job_id, source_id):
                part = _part_of_shard(split, self._shard, self._descriptor.shards)
                if part.start < part.end:
                    yield self._worker.source_rows(self._descriptor, part, tuple(columns))


class EpochWorker:
    """What a process that runs tasks keeps open. Several threads must not use it at once."""

    def __init__(
        self,
        data_dir: Path,
        tuning: StoreTuning = DEFAULT_TUNING,
        *,
        alone: bool = False,
        reading: SourceReading | None = None,
    ) -> None:
        """`alone`: the process does nothing else. `reading`: by default, with the key of the data directory."""
        self.data_dir = data_dir
        self._tuning = tuning
        self._reader = GraphReader()
        self._graph: tuple[StreamGraph, LoadedGraph] | None = None
        self._stores: dict[int, ShardStore] = {}
        self._logged: tuple[int, dict[int, Chunk]] = (0, {})
        self._reading = reading or SourceReading(Vault(key_file_of(data_dir)))
        self._threads = ShardThreads()
        self.watch = JobWatch(alone=alone)

    @cached_property
    def _deltas(self) -> ShardDeltas | None:
        uri = state_of(self.data_dir)
        return None if uri is None else ShardDeltas(open_objects(uri))

    @cached_property
    def _log(self) -> LogReader:
        return LogReader(log_directory(self.data_dir))

    def graph(self, version: int) -> StreamGraph:
        return self._graph_of(version)[0]

    def _graph_of(self, version: int) -> tuple[StreamGraph, LoadedGraph]:
        if self._graph is None or self._graph[0].version != version:
            graph = self._reader.read(self._graph_bytes(version))
            self._graph = graph, LoadedGraph(graph, None if self._graph is None else self._graph[1])
        return self._graph

    def _graph_bytes(self, version: int) -> bytes:
        return graph_path(self.data_dir, version).read_bytes()

    def handed_over(self, taken: TakenOver, shard: int) -> HandedOver:
        """A shard's part of what a job has done in an epoch of its own."""
        return read_handed_over(Path(taken.directory), shard, taken.pieces)

    def source(self, descriptor: EpochDescriptor, source_id: int) -> ExternalSource:
        graph = self.graph(descriptor.graph_version)
        return next(source for source in graph.sources if source.relation_id == source_id)

    def store(self, shard: int, shards: int) -> ShardStore:
        known = self._stores.get(shard)
        if known is not None and (known.shards != shards or known.is_replaced):
            for store in self._stores.values():
                store.close()
            self._stores.clear()
        if shard not in self._stores:
            directory, deltas = shard_directory(self.data_dir, shard, shards), self._deltas
            tuning = self._tuning if deltas is None else replace(self._tuning, synced=False)
            self._stores[shard] = ShardStore(
                directory, shard=shard, shards=shards, cast=cast_stored, tuning=tuning, deltas=deltas
            )
        return self._stores[shard]

    def logged(self, descriptor: EpochDescriptor) -> dict[int, Chunk]:
        """The epoch's log records, in one chunk per table."""
        epoch, tables = self._logged
        if epoch != descriptor.epoch:
            batches: dict[int, list[pa.Table]] = {}
            for record in self._log.read(descriptor.log_after, descriptor.log_up_to):
                batches.setdefault(record.table_id, []).append(record.table())
            tables = {table_id: _few_or_many(parts) for table_id, parts in batches.items()}
            self._logged = (descriptor.epoch, tables)
        return tables

    def source_rows(self, descriptor: EpochDescriptor, part: SplitRange, columns: tuple[int, ...]) -> SourceRows:
        """The rows of a part of a split. Raises SourceFailed."""
        return self._reading.rows(descriptor.epoch, self.source(descriptor, part.source_id), part, columns)

    def run_stage(
        self, descriptor: EpochDescriptor, turn: Turn, shard: int, payloads: Iterable[tuple[int, bytes]]
    ) -> StageOutput:
        """Runs one turn on one shard and commits its state."""
        _, graph = self._graph_of(descriptor.graph_version)
        store = self.store(shard, descriptor.shards)
        with store.begin(descriptor.epoch, turn.number, committed=descriptor.committed) as transaction:
            output = run_stage(graph, turn, shard, transaction, LoggedInput(self, descriptor, shard), payloads)
            transaction.commit()
            output.report.note_delta(transaction)
        return output

    def run_all(self, descriptor: EpochDescriptor) -> list[StageReport]:
        """Runs every stage on every shard in this process, in parallel if the epoch has enough rows."""
        shards = range(descriptor.shards)
        logged = self.logged(descriptor)  # before several threads ask for it
        rows = sum(table.num_rows for table in logged.values()) + sum(part.rows for part in descriptor.splits)
        in_turn = rows < ROWS_FOR_THREADS and not descriptor.backfilling
        on_shards: OnShards = one_by_one if in_turn else self._threads
        return run_epoch_in_process(
            self._graph_of(descriptor.graph_version)[1],
            [self.store(shard, descriptor.shards) for shard in shards],
            descriptor.epoch,
            [LoggedInput(self, descriptor, shard) for shard in shards],
            committed=descriptor.committed,
            on_shards=on_shards,
        )

    def purge(self, descriptor: EpochDescriptor, shard: int) -> Purged:
        """Deletes rows of dropped tables and old epochs of changelogs, and rewrites rows with dropped columns.

        Returns the tables of `purge` and `compact` that are done on `shard`.
        """
        purged: set[int] = set()
        if not (descriptor.purge or descriptor.compact or descriptor.trim):
            return Purged(frozenset())
        store = self.store(shard, descriptor.shards)
        with store.begin(descriptor.epoch, PURGE_STAGE, committed=descriptor.committed) as transaction:
            until = time.monotonic() + (BUSY_PURGE_SECONDS if descriptor.rows else QUIET_PURGE_SECONDS)
            for table_id in descriptor.purge:
                while not (is_done := transaction.purge(table_id, PURGED_ROWS)) and time.monotonic() < until:
                    pass
                if not is_done:
                    break
                purged.add(table_id)
            tables = {job.table.table_id: job.table for job in self.graph(descriptor.graph_version).jobs}
            for table_id, target in descriptor.compact:
                schema = tables.get(table_id)
                if schema is not None and not transaction.compact(schema, target, COMPACTED_ROWS_PER_EPOCH):
                    break
                purged.add(table_id)  # also a table whose job has stopped: none of its rows are rewritten
            for table_id, epoch in descriptor.trim:
                if table_id in tables:
                    transaction.trim(tables[table_id], epoch)
            transaction.commit()
        return Purged(frozenset(purged), () if transaction.delta is None else (transaction.delta,))

    def purge_everywhere(self, descriptor: EpochDescriptor) -> Purged:
        """`purge` on every shard; returns the tables that are done on all of them."""
        return Purged.on_all(self.purge(descriptor, shard) for shard in range(descriptor.shards))

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        self._threads.close()
        self._reading.close()
        self.watch.close()


def _few_or_many(parts: Sequence[pa.Table]) -> Chunk:
    """All rows of some chunks, as values if they are few: they are read once then, for all shards."""
    whole = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
    return FewRows.of(whole) or whole


def _part_of_shard(split: SplitRange, shard: int, shards: int) -> SplitRange:
    """What one shard reads of a range: as much as the others, or all or nothing of a short one."""
    length = split.end - split.start
    if split.rows < ROWS_TO_DIVIDE:
        return split if split.ordinal % shards == shard else replace(split, end=split.start)
    start, end = split.start + length * shard // shards, split.start + length * (shard + 1) // shards
    return replace(split, start=start, end=end)
