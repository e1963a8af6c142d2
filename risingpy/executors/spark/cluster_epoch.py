"""An epoch as a Spark job on a cluster: a chain of RDDs, one for each stage, with Spark's shuffle between them.

Spark asks each stage for the places that it prefers, and takes those of the first dependency without a shuffle that has
some. So the partitions of a stage are zipped with an RDD of one element in each, which has a location: the executor
whose disk has the shard. Spark's own preference for executors that have much of the shuffled rows is turned off.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, StorageLevel
from pyspark.core.broadcast import Broadcast
from pyspark.core.rdd import RDD
from pyspark.serializers import AutoBatchedSerializer, CPickleSerializer, NoOpSerializer

from risingpy.connectors.secrets.vault import SecretKeyUnavailable, read_key
from risingpy.executors.cluster.carried_key import carried
from risingpy.executors.cluster.order import EpochOrder, LastCommit
from risingpy.executors.cluster.placement import Placement, SparkExecutor
from risingpy.executors.cluster.platform import this_platform
from risingpy.executors.cluster.shard_loading import ShardLoading
from risingpy.executors.cluster.task import (
    Sent,
    SentRows,
    StageDone,
    StageFailed,
    check_attempts,
    run_stage_on_shard,
)
from risingpy.executors.cluster.worker import write_table
from risingpy.executors.epoch.descriptor import EpochDescriptor, graph_path, key_file_of
from risingpy.executors.epoch.handed_over import HandedOver, read_handed_over
from risingpy.executors.epoch.turn import Repetitions, Turn
from risingpy.executors.spark.located_tasks import load_on_hosts, located
from risingpy.executors.spark.loop_time import LoopTime
from risingpy.executors.spark.loss_watch import LossWatch
from risingpy.executors.spark.stage_task import TaskReport
from risingpy.plan.recursion.loops import Stages
from risingpy.storage.log.reader import LogReader
from risingpy.storage.log.write_ahead_log import log_directory

LOG = logging.getLogger(__name__)

TRIES = 8  # of an epoch whose executors are lost one after the other
INLINE_BYTES = 1 << 17  # of log rows: a broadcast costs a request of every executor


class ClusterEpochs:
    """Runs the epochs of one start of a server. For one thread."""

    def __init__(self, data_dir: Path, state_uri: str, cluster: str) -> None:
        self._data_dir = data_dir
        self._state_uri, self._cluster = state_uri, cluster
        self._run = secrets.token_hex(8)
        self._platform = this_platform()
        self._placement = Placement()
        self._loading = ShardLoading()
        self._log = LogReader(log_directory(data_dir))
        self._graph: tuple[SparkContext, int, Broadcast[bytes]] | None = None
        self._last: LastCommit | None = None
        self._sealed_key: bytes | None = None

    def run(self, context: SparkContext, descriptor: EpochDescriptor, stages: Stages) -> list[TaskReport]:
        """The reports of all tasks. Raises FragmentFailed, SourceFailed, MemoryError as their tasks do."""
        order = EpochOrder(
            self._run,
            self._state_uri,
            self._cluster,
            self._platform,
            descriptor,
            self._last,
            self._taken(descriptor),
            self._key(context) if descriptor.splits else None,
        )
        log, shipped = self._log_rows(context, descriptor)
        try:
            elements, turns = self._collected(context, order, self._graph_of(context, descriptor), log, stages)
        finally:
            if shipped is not None:
                shipped.unpersist()
        failure = next((each.error for each in elements if isinstance(each, StageFailed)), None)
        if failure is not None:
            raise failure
        done = [each for each in elements if isinstance(each, StageDone)]
        done = check_attempts(done, shards=descriptor.shards, turns=turns)
        self._last = _last_commit(descriptor, done)
        return [TaskReport((each.report,), each.purged, each.cpu_seconds) for each in done]

    def _collected(
        self, context: SparkContext, order: EpochOrder, graph: Broadcast[bytes],
        log: Callable[[], Mapping[int, bytes]], stages: Stages,
    ) -> tuple[list[Sent], list[int]]:  # fmt: skip
        """As `_Chain.run`. After a loss, all is placed and run anew."""
        for left in reversed(range(TRIES)):
            places = self._places(context, order.descriptor.shards)
            loads = partial(load_on_hosts, context, replace(order, last=None, handed_over={}))
            self._loading.begin(self._placement.to_load(), loads)
            base = located(context, [None if place is None else place.host for place in places])
            tag = f"epoch-{secrets.token_hex(6)}"
            placed = {place for place in places if place is not None}
            watch = LossWatch(placed, partial(_executors, context), partial(context.cancelJobsWithTag, tag))
            context.addJobTag(tag)
            try:
                with watch:
                    return _Chain(context, base, order, graph, log).run(stages)
            except Exception:
                if not (watch.lost and left):
                    raise
                LOG.info("epoch %d is placed anew: an executor is lost", order.descriptor.epoch)
            finally:
                context.removeJobTag(tag)
        raise AssertionError("the last try returns or raises")

    def _key(self, context: SparkContext) -> bytes | None:
        """The key of secrets for the workers, once there is one: it is made with the first secret."""
        if self._sealed_key is None:
            secret = context.getConf().get("spark.authenticate.secret")
            with contextlib.suppress(SecretKeyUnavailable):
                self._sealed_key = None if secret is None else carried(read_key(key_file_of(self._data_dir)), secret)
        return self._sealed_key

    def _taken(self, descriptor: EpochDescriptor) -> Mapping[tuple[int, int], HandedOver]:
        return {
            (taken.job_id, shard): read_handed_over(Path(taken.directory), shard, taken.pieces)
            for taken in descriptor.handed_over
            for shard in range(descriptor.shards)
        }

    def _log_rows(
        self, context: SparkContext, descriptor: EpochDescriptor
    ) -> tuple[Callable[[], Mapping[int, bytes]], Broadcast[Any] | None]:
        tables: dict[int, list[Any]] = {}
        for record in self._log.read(descriptor.log_after, descriptor.log_up_to):
            tables.setdefault(record.table_id, []).append(record.table())
        rows = {table_id: write_table(_joined(parts)) for table_id, parts in tables.items()}
        if sum(map(len, rows.values())) <= INLINE_BYTES:
            return (lambda: rows), None
        shipped = context.broadcast(rows)
        return (lambda: shipped.value), shipped

    def _graph_of(self, context: SparkContext, descriptor: EpochDescriptor) -> Broadcast[bytes]:
        if self._graph is None or self._graph[:2] != (context, descriptor.graph_version):
            data = graph_path(self._data_dir, descriptor.graph_version).read_bytes()
            before, self._graph = self._graph, (context, descriptor.graph_version, context.broadcast(data))
            if before is not None and before[0] is context:
                before[2].unpersist()
        return self._graph[2]

    def _places(self, context: SparkContext, shards: int) -> list[SparkExecutor | None]:
        for shard, host in self._loading.done():
            self._placement.loaded(shard, host)
        return self._placement.place(_executors(context), shards)


def _executors(context: SparkContext) -> list[SparkExecutor]:
    """Those that are there. Spark tells hosts and ports, and counts the driver among them."""
    java: Any = context._jsc.sc()  # noqa: SLF001
    found, keys = [], java.getExecutorMemoryStatus().keySet().iterator()
    while keys.hasNext():
        host, _, port = keys.next().rpartition(":")
        found.append(SparkExecutor(host, port))
    driver = context.getConf().get("spark.driver.host")
    own = next((each for each in sorted(found) if each.host == driver), None)
    return sorted(each for each in found if each != own)


@dataclass(slots=True)
class _Chain:
    """The turns of one attempt at an epoch. `rdd`: what the last of those that are planned sends."""

    context: SparkContext
    base: Any
    order: EpochOrder
    graph: Broadcast[bytes]
    log: Callable[[], Mapping[int, bytes]]
    rdd: RDD[Any] = field(init=False)

    def run(self, stages: Stages) -> tuple[list[Sent], list[int]]:
        """What the tasks have reported, or what has failed; and the numbers of the turns.

        Where a loop may repeat, a job ends, and the next one begins with the rows that its tasks have sent: as a local
        checkpoint, which Spark does not compute again.
        """
        repetitions, time, numbers = Repetitions(), LoopTime(self.order.descriptor, else_one_task=False), list[int]()
        for turns in repetitions.chains(stages):
            time.check(turns, stages)
            for turn in turns:
                self._add(turn)
            if turns[-1] == Turn(stages.depth - 1):
                break
            numbers += [turn.number for turn in turns]
            self.rdd.persist(StorageLevel.MEMORY_AND_DISK).localCheckpoint()
            told = [element for _, element in self.rdd.filter(_is_told).collect()]
            if any(isinstance(each, StageFailed) for each in told):
                return told, numbers
            for each in told:
                if isinstance(each, StageDone) and each.turn in numbers[-len(turns) :]:
                    repetitions.note(each.report.pending)
        return [element for _, element in self.rdd.collect()], [*numbers, *(turn.number for turn in turns)]

    def _add(self, turn: Turn) -> None:
        if turn == Turn(0):
            located: RDD[Any] = RDD(self.base, self.context, NoOpSerializer())
            self.rdd = located.mapPartitionsWithIndex(_first(self.order, self.graph, self.log))
            return
        jvm: Any = self.context._jvm  # noqa: SLF001
        shuffled = self.rdd.partitionBy(self.order.descriptor.shards, _own_number)
        # `glom` makes one element of a partition, so that it can be zipped; the location's element is dropped again.
        placed = jvm.SerDeUtil.javaToPython(self.base.zip(shuffled._jrdd.glom()).values())  # noqa: SLF001
        unbatched: Any = AutoBatchedSerializer
        received: RDD[Any] = RDD(placed, self.context, unbatched(CPickleSerializer()))
        unpickle = self.context._unbatched_serializer  # noqa: SLF001 - with which `partitionBy` writes its batches
        self.rdd = received.mapPartitionsWithIndex(_later(self.order, self.graph, self.log, turn, unpickle))


def _first(order: EpochOrder, graph: Broadcast[bytes], log: Callable[[], Mapping[int, bytes]]) -> Callable[..., Any]:
    def run(shard: int, _: Iterable[bytes]) -> Iterator[tuple[int, Sent]]:
        return run_stage_on_shard(order, graph.value, log(), Turn(0), shard, ())

    return run


def _later(
    order: EpochOrder, graph: Broadcast[bytes], log: Callable[[], Mapping[int, bytes]], turn: Turn, unpickle: Any
) -> Callable[..., Any]:
    def run(shard: int, partitions: Iterable[list[bytes]]) -> Iterator[tuple[int, Sent]]:
        batches = (unpickle.loads(bytes(data)) for partition in partitions for data in partition)
        received = [element for batch in batches for _, element in batch]
        return run_stage_on_shard(order, graph.value, log(), turn, shard, received)

    return run


def _is_told(sent: tuple[int, Sent]) -> bool:
    """Whether it is for the driver, too."""
    return not isinstance(sent[1], SentRows)


def _own_number(shard: int) -> int:
    """An element is addressed to a shard, which is the number of its partition."""
    return shard


def _joined(parts: list[Any]) -> Any:
    return pa.concat_tables(parts)


def _last_commit(descriptor: EpochDescriptor, done: list[StageDone]) -> LastCommit:
    attempts: dict[int, dict[int, str]] = {}
    for each in done:
        names = {stage: delta.name for stage, delta in each.deltas.items()}
        attempts.setdefault(each.shard, {}).update(names)
    return LastCommit(descriptor.epoch, descriptor.committed, attempts)
