"""A stage of an epoch as Spark runs it: rows of (shard, port, payload) in, rows of the same form out.

Besides its output for other fragments, a task sends its report to the driver, on `REPORT_PORT`; later stages pass it
on. If a job's own computation fails, the task sends the failure the same way, on `FAILURE_PORT`: Spark would repeat a
task that raises an error. The task that runs small epochs sends its reports to the driver's socket instead.
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
from risingpy.executors.epoch.source_reading import SourceFailed
from risingpy.executors.epoch.stage_runner import FragmentFailed, StageReport
from risingpy.executors.epoch.task import EpochWorker, Purged
from risingpy.executors.epoch.turn import Turn
from risingpy.executors.spark.epoch_channel import EpochClient
from risingpy.executors.spark.server_run import ServerRun
from risingpy.memory_guard import MemoryGuard

REPORT_PORT = -1
FAILURE_PORT = -2

Row = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class TaskReport:
    """One task's report: those of the stage runner, for each stage and shard that the task ran, in any order.

    `purged`: the tables of `purge` and `compact` that are done on its shards; None if the task does not purge.
    """

    reports: tuple[StageReport, ...]
    purged: Purged | None
    cpu_seconds: float


class TaskProcess:
    """What a process of Spark keeps from one task to the next. The process runs one task at a time."""

    def __init__(self) -> None:
        self._guard = MemoryGuard()
        self._worker: tuple[ServerRun, EpochWorker] | None = None
        self._client: tuple[str, EpochClient] | None = None
        self._settled: tuple[ServerRun, int] | None = None

    def worker(self, server: ServerRun) -> EpochWorker:
        """The worker for a server; closes that of another server.

        Called before each epoch, it limits the epoch's memory to what is free now. A job that needs more then fails
        alone. Without the limit the kernel would kill the process, and Spark would repeat the epoch.
        """
        self._guard.look()
        if self._worker is None or self._worker[0] != server:
            if self._worker is not None:
                self._worker[1].close()
            self._worker = server, EpochWorker(Path(server.data_dir), alone=True)
        return self._worker[1]

    def client(self, channel: str) -> EpochClient:
        """The connection to the server's socket."""
        if self._client is None or self._client[0] != channel:
            self._client = channel, EpochClient(channel)
        return self._client[1]

    def settle(self, server: ServerRun, graph_version: int) -> None:
        """After the first epoch of a graph, excludes the graph's plans and operators from garbage collection.

        Spark's worker collects garbage after every task, and would search these objects each time.
        """
        if self._settled != (server, graph_version):
            self._settled = server, graph_version
            gc.collect()
            gc.freeze()


@cache
def _process() -> TaskProcess:
    """This process's state. Spark calls functions and reuses the process, so there is no object that could own it."""
    return TaskProcess()


def run_epochs(server: ServerRun, channel: str, seen: int) -> Iterator[pa.RecordBatch]:
    """Runs the small epochs after `seen`, one after the other, until the driver tells the task to end."""
    process = _process()
    client = process.client(channel)
    while True:
        epoch, order = client.next_epoch(seen)
        if epoch == seen:
            break
        descriptor: EpochDescriptor = pickle.loads(order)
        client.report(epoch, pickle.dumps(_run_all_stages(process.worker(server), descriptor)))
        process.settle(server, descriptor.graph_version)
        seen = epoch
    yield from ()


def _run_all_stages(
    worker: EpochWorker, descriptor: EpochDescriptor
) -> TaskReport | FragmentFailed | SourceFailed | MemoryError:
    """Runs all stages of an epoch on all shards in this task."""
    began = time.process_time()
    try:
        purged = worker.purge_everywhere(descriptor)
        reports = tuple(worker.run_all(descriptor))
    except (FragmentFailed, SourceFailed, MemoryError) as failure:
        return failure
    return TaskReport(reports, purged, time.process_time() - began)


def run_first_stage(server: ServerRun, epoch: int, shard: int) -> Iterator[pa.RecordBatch]:
    """Runs stage 0 on one shard, which reads the epoch's input itself."""
    descriptor = descriptor_of(Path(server.data_dir), epoch)
    purged = _process().worker(server).purge(descriptor, shard)
    yield from _run(server, descriptor, Turn(0), shard, [], purged)


def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage that does nothing, to warm workers up."""
    yield from batches


def stage_function(
    server: ServerRun, epoch: int, turn: Turn
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that `mapInArrow` runs for a later turn; the partition's number is the shard."""

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
        yield from _run(server, descriptor, turn, context.partitionId(), payloads, None)

    return run


def _run(
    server: ServerRun,
    descriptor: EpochDescriptor,
    turn: Turn,
    shard: int,
    payloads: Iterable[tuple[int, bytes]],
    purged: Purged | None,
) -> Iterator[pa.RecordBatch]:
    process, began = _process(), time.process_time()
    try:
        output = process.worker(server).run_stage(descriptor, turn, shard, payloads)
    except (FragmentFailed, SourceFailed, MemoryError) as failure:
        yield _batch([(shard, FAILURE_PORT, pickle.dumps(failure))])
        return
    report = pickle.dumps(TaskReport((output.report,), purged, time.process_time() - began))
    for row in output.payloads:
        yield _batch([row])
    yield _batch([(0, REPORT_PORT, report)])
    process.settle(server, descriptor.graph_version)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    shards, ports, payloads = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch(
        [pa.array(shards, pa.int32()), pa.array(ports, pa.int64()), pa.array(payloads, pa.binary())],
        names=["shard", "port", "payload"],
    )
