"""A stage of an epoch as Spark runs it: rows of (shard, port, payload) in, rows of the same form out.

Besides what goes to other fragments, a task sends what it has to report to the driver, on `REPORT_PORT`; later
stages pass it on. A failure of a job's own computation travels the same way, on `FAILURE_PORT`: raising it would
have Spark try the same thing again. The task that runs small epochs sends its reports straight to the driver's socket.
"""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

from risingpy.executors.epoch.descriptor import EpochDescriptor, descriptor_of
from risingpy.executors.epoch.stage_runner import FragmentFailed, StageReport
from risingpy.executors.epoch.task import EpochWorker
from risingpy.executors.spark.epoch_channel import EpochClient
from risingpy.executors.spark.server_run import ServerRun
from risingpy.memory_guard import MemoryGuard

REPORT_PORT = -1
FAILURE_PORT = -2

Row = tuple[int, int, bytes]

# Of this process; Spark reuses processes from epoch to epoch.
_workers: dict[ServerRun, EpochWorker] = {}
_clients: dict[str, EpochClient] = {}


@dataclass(frozen=True, slots=True)
class TaskReport:
    """One task's report: the stage runner's of each stage and shard that it ran, in no order that means anything.

    `purged`: the dropped tables that have no rows left on any of its shards; None of a task that does not purge.
    """

    reports: tuple[StageReport, ...]
    purged: frozenset[int] | None
    cpu_seconds: float


_settled_graphs: set[tuple[ServerRun, int]] = set()


@cache
def _guard() -> MemoryGuard:
    """This process's: it knows when it last gave memory back."""
    return MemoryGuard()


def worker_of(server: ServerRun) -> EpochWorker:
    """This process's worker for a server, closing those of others: a process runs one task at a time.

    Asked before each epoch's work, which may take the memory that is left then: past that its job fails alone, where
    the kernel would end the process, and Spark try the same again.
    """
    _guard().look()
    if server not in _workers:
        for other in list(_workers):
            _workers.pop(other).close()
        _workers[server] = EpochWorker(Path(server.data_dir))
    return _workers[server]


def run_epochs(server: ServerRun, channel: str, seen: int) -> Iterator[pa.RecordBatch]:
    """The small epochs beyond `seen`, one after the other, until the driver has the task end."""
    if channel not in _clients:
        _clients[channel] = EpochClient(channel)
    client = _clients[channel]
    while (epoch := client.next_epoch(seen)) > seen:
        descriptor = descriptor_of(Path(server.data_dir), epoch)
        client.report(epoch, pickle.dumps(_run_all_stages(worker_of(server), descriptor)))
        _settle(server, descriptor.graph_version)
        seen = epoch
    yield from ()


def _run_all_stages(worker: EpochWorker, descriptor: EpochDescriptor) -> TaskReport | FragmentFailed:
    """All stages of an epoch on all shards, in this task."""
    began = time.process_time()
    try:
        purged = worker.purge_everywhere(descriptor)
        reports = tuple(worker.run_all(descriptor))
    except FragmentFailed as failure:
        return failure
    return TaskReport(reports, purged, time.process_time() - began)


def run_first_stage(server: ServerRun, epoch: int, shard: int) -> Iterator[pa.RecordBatch]:
    """Stage 0 on one shard: reads the epoch's input itself."""
    descriptor = descriptor_of(Path(server.data_dir), epoch)
    purged = worker_of(server).purge(descriptor, shard)
    yield from _run(server, descriptor, 0, shard, [], purged)


def _settle(server: ServerRun, graph_version: int) -> None:
    """After the first epoch of a graph: what the process now has of it (plans, operators) it keeps.

    Spark's worker collects garbage after every task; it need not look through that each time.
    """
    if (server, graph_version) not in _settled_graphs:
        _settled_graphs.add((server, graph_version))
        gc.collect()
        gc.freeze()


def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage that does nothing: for warming up."""
    yield from batches


def stage_function(
    server: ServerRun, epoch: int, stage: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What `mapInArrow` runs for a later stage; the partition's number is the shard."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        rows = [
            (port, payload)
            for batch in batches
            for port, payload in zip(batch.column("port").to_pylist(), batch.column("payload"), strict=True)
        ]
        passed_on = [(0, port, payload.as_py()) for port, payload in rows if port < 0]
        if passed_on:
            yield _batch(passed_on)
        if any(port == FAILURE_PORT for _, port, _ in passed_on):
            return
        payloads = [(port, payload.as_buffer()) for port, payload in rows if port >= 0]
        descriptor = descriptor_of(Path(server.data_dir), epoch)
        yield from _run(server, descriptor, stage, context.partitionId(), payloads, None)

    return run


def _run(
    server: ServerRun,
    descriptor: EpochDescriptor,
    stage: int,
    shard: int,
    payloads: Iterable[tuple[int, bytes]],
    purged: frozenset[int] | None,
) -> Iterator[pa.RecordBatch]:
    began = time.process_time()
    try:
        output = worker_of(server).run_stage(descriptor, stage, shard, payloads)
    except FragmentFailed as failure:
        yield _batch([(shard, FAILURE_PORT, pickle.dumps(failure))])
        return
    report = pickle.dumps(TaskReport((output.report,), purged, time.process_time() - began))
    for row in output.payloads:
        yield _batch([row])
    yield _batch([(0, REPORT_PORT, report)])
    _settle(server, descriptor.graph_version)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    shards, ports, payloads = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch(
        [pa.array(shards, pa.int32()), pa.array(ports, pa.int64()), pa.array(payloads, pa.binary())],
        names=["shard", "port", "payload"],
    )
