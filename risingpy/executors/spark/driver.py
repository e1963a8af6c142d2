"""Runs epochs on Spark: one after the other, for the whole database.

`run` opens the epoch on a query's socket. The narrow query's task waits there for small epochs, runs them and reports.
The wide query's source waits for the others: Spark then starts a micro-batch, in which `foreachBatch` builds the chain
of stages, with shuffles between them, and collects the tasks' reports. `run` returns the reports to the barrier loop,
which commits the epoch.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from risingpy.config import default_parallelism
from risingpy.executors.cluster.platform import PlatformDiffers
from risingpy.executors.cluster.task import MixedAttempts
from risingpy.executors.epoch.descriptor import EpochDescriptor, forget_descriptors, run_directory, write_descriptor
from risingpy.executors.spark.epoch_channel import EpochChannel
from risingpy.executors.spark.epoch_query import EpochQuery
from risingpy.executors.spark.java_output import without_java_stack
from risingpy.executors.spark.lost_session import cores_of, end_lost, has_executors, why_ended, why_lost
from risingpy.executors.spark.server_run import ServerRun
from risingpy.executors.spark.session import SparkSessions, new_socket_directory
from risingpy.plan.recursion.loops import Stages

if TYPE_CHECKING:  # PySpark takes a fifth of a second to import: after the server has begun to answer
    from pyspark.sql import DataFrame, SparkSession

    from risingpy.executors.spark.cluster_epoch import ClusterEpochs
    from risingpy.executors.spark.stage_task import TaskReport

LOG = logging.getLogger(__name__)

WARM_LOOK_SECONDS = 0.2
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds before Spark is started again
LONGEST_PAUSE_FOR_CLUSTER = 20.0  # a cluster that comes back is to be found
ALONE_SECONDS = 30.0  # how long a cluster may have no executor for us: a new one takes ten seconds or so
NARROW_STARTS = 3  # how often the narrow query is started before Spark counts as failed
LOOK_SECONDS = 0.5  # how often a waiting epoch checks that the query is still alive


class QueryFailed(Exception):
    """Spark could not run the epoch."""


@dataclass(frozen=True, slots=True)
class _RunningEpoch:
    descriptor: EpochDescriptor
    stages: Stages
    done: Future[list[TaskReport]] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Where all machines find the state, and the mark of its database."""

    uri: str
    cluster: str


class SparkDriver:
    """The streaming queries of one server, on a Spark session. `run` may be called by one thread at a time."""

    def __init__(
        self, data_dir: Path, sessions: SparkSessions, committed: int, state: SharedPlace | None = None
    ) -> None:
        """With `state`, tasks run on machines that share it and nothing else: every epoch is a micro-batch."""
        self._data_dir = data_dir
        self._sessions = sessions
        self._committed = committed
        self._sockets = new_socket_directory()
        self._server_run = ServerRun(str(data_dir), str(self._sockets))
        self._narrow = EpochQuery("narrow", self._make_channel("narrow"), None)
        self._wide = EpochQuery("wide", self._make_channel("wide"), self._run_batch)
        self._warm: Future[SparkSession] = Future()
        self._state = state
        self._cluster: ClusterEpochs | None = None
        self._failure: str | None = None  # why Spark did not start; it is tried again
        self._epoch: _RunningEpoch | None = None
        self._is_described = True  # whether there may be a descriptor's file: of the server before, too
        self._stopping = False
        self._stopped = threading.Event()

    def start(self) -> None:
        """Starts Spark in the background."""
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    @property
    def is_warm(self) -> bool:
        """True if Spark has started: an epoch of one task can start at once, and one that is shuffled has workers."""
        return self._warm.done()

    @property
    def may_start(self) -> bool:
        """True if Spark has started, or its last start has not failed: it is worth waiting for."""
        return self._failure is None

    @property
    def cores(self) -> int | None:
        """Those of this machine, or of the cluster's executors; None without Spark, or without an executor."""
        if self._cluster is None:
            return default_parallelism() if self._warm.done() and self._state is None else None
        try:
            return cores_of(self._warm.result(timeout=0))
        except Exception:  # Spark is lost, or starts anew
            return None

    def look_for_java(self) -> None:
        """Starts Spark again if its Java has ended. Its Python task outlives it: small epochs would go on, unsaid."""
        if self._warm.done() and not self._stopping:
            session = self._warm.result()
            ended = why_ended(session)
            if ended is not None:
                self._start_anew(session, ended)

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> list[TaskReport]:
        """Runs one epoch. Raises FragmentFailed for a failing job, QueryFailed if Spark fails or stops."""
        self._committed = descriptor.committed
        session = self._warm_session()
        try:
            return self._run_with(session, descriptor, stages)
        except Exception as error:
            # What a lost session raises is anything, from py4j's errors to those of a query that ended.
            lost = None if self._stopping else why_lost(session)
            if lost is None:
                raise
            self._start_anew(session, lost)
            raise QueryFailed(f"{lost}; Spark is started again") from error

    def _run_with(self, session: SparkSession, descriptor: EpochDescriptor, stages: Stages) -> list[TaskReport]:
        narrow = descriptor.single_task and self._cluster is None
        query = self._narrow if narrow else self._wide
        if not narrow:
            write_descriptor(self._data_dir, descriptor)
        elif self._is_described:
            forget_descriptors(self._data_dir)  # a task that has outlived an earlier epoch goes on while it finds that
        self._is_described = not narrow
        query.ensure_started(session, self._data_dir, self._scratch, descriptor.committed)
        if not narrow:
            self._narrow.dismiss_task()
        self._epoch = running = _RunningEpoch(descriptor, stages)
        query.open_epoch(descriptor.epoch, pickle.dumps(descriptor) if narrow else b"")
        last_executors = time.monotonic()
        while True:
            try:
                return running.done.result(timeout=LOOK_SECONDS)
            except FutureTimeout:
                if self._stopping:
                    raise QueryFailed("the server is stopping") from None
                if self._cluster is None or has_executors(session):
                    last_executors = time.monotonic()
                elif time.monotonic() - last_executors > ALONE_SECONDS:
                    reason = f"the cluster has given no executor for {ALONE_SECONDS:.0f} s"
                    self._start_anew(session, reason)
                    raise QueryFailed(f"{reason}; Spark is started again") from None
                if not query.is_running:
                    raise QueryFailed(f"the streaming query ended: {query.failure}") from None

    def stop(self) -> None:
        """Stops the queries and Spark, and gives a running epoch up."""
        self._stopping = True
        self._stopped.set()
        self._sessions.end_is_near()
        # Another thread may just be starting Spark: it must not start a query after this.
        self._narrow.refuse_starts()
        self._wide.refuse_starts()
        self._narrow.close_channel()
        self._wide.close_channel()
        if not self._warm.done():
            return
        self._narrow.stop()
        self._wide.stop()
        with contextlib.suppress(Exception):
            self._sessions.close(self._warm.result())

    def _start_anew(self, session: SparkSession, reason: str) -> None:
        """Gives a session up, and starts the next one in the background. Nothing depends on what Spark has had."""
        LOG.warning("Spark is lost: %s. It is started again", reason)
        self._warm = Future()
        self._sessions.end_is_near()
        self._narrow.forget()
        self._wide.forget()
        end_lost(session)
        self.start()

    @property
    def _scratch(self) -> Path:
        return run_directory(self._data_dir) / "checkpoints"

    def _make_channel(self, name: str) -> EpochChannel:
        return EpochChannel(self._sockets / f"{name}.sock", self._committed, self._take_report)

    def _warm_session(self) -> SparkSession:
        while True:
            try:
                return self._warm.result(timeout=LOOK_SECONDS)
            except FutureTimeout:
                if self._stopping:
                    raise QueryFailed("the server is stopping") from None
                if self._failure is not None:
                    raise QueryFailed(self._failure) from None

    def _start(self) -> None:
        """Starts Spark, as often as it takes: the operator may have installed what it lacked."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        pause = FIRST_PAUSE
        while not self._stopping:
            try:
                session = self._started_session()
            except Exception as error:
                if self._stopping:
                    return
                self._failure = f"Spark did not start: {_told(error)}"
                LOG.error("%s; it is started again in %.0f s", self._failure, pause)
                LOG.debug("why Spark did not start", exc_info=error)
                self._stopped.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE if self._state is None else LONGEST_PAUSE_FOR_CLUSTER)
            else:
                self._failure = None
                self._warm.set_result(session)
                LOG.info("Spark has started")
                return

    def _started_session(self) -> SparkSession:
        """Starts Spark, its workers, and the narrow query. Raises their errors."""
        from risingpy.executors.spark.epoch_source import EpochSource
        from risingpy.executors.spark.shuffled_epoch import start_workers

        session = self._sessions.open()
        # Meanwhile the workers' daemon imports, which takes a second or two.
        workers = _in_thread(partial(start_workers, session), "spark-workers")
        session.dataSource.register(EpochSource)
        if self._state is None:
            self._start_narrow(session)
        else:
            self._start_cluster(session, self._state)
        workers.result()
        return session

    def _start_narrow(self, session: SparkSession) -> None:
        """Returns when the narrow query's task waits for epochs. Tries again: on a very busy machine Spark gives up."""
        starts = 0
        while not (self._stopping or self._narrow.task_has_come):
            if not self._narrow.is_running:
                if starts == NARROW_STARTS:
                    raise QueryFailed(f"the streaming query ended: {self._narrow.failure}")
                starts += 1
                self._narrow.ensure_started(session, self._data_dir, self._scratch, self._committed)
            time.sleep(WARM_LOOK_SECONDS)

    def _start_cluster(self, session: SparkSession, state: SharedPlace) -> None:
        from risingpy.executors.spark.cluster_epoch import ClusterEpochs

        self._cluster = ClusterEpochs(self._data_dir, state.uri, state.cluster)
        self._wide.ensure_started(session, self._data_dir, self._scratch, self._committed)

    def _take_report(self, epoch: int, report: bytes) -> None:
        """Takes the report of a narrow epoch's task. A task that was given up may report an epoch that has ended."""
        running = self._epoch
        if running is None or running.descriptor.epoch != epoch or running.done.done():
            return
        told: TaskReport | Exception = pickle.loads(report)
        if isinstance(told, Exception):
            running.done.set_exception(told)
        else:
            running.done.set_result([told])

    def _run_batch(self, frame: DataFrame, batch: int) -> None:
        from risingpy.executors.spark.shuffled_epoch import run_stages

        running = self._epoch
        narrow = running is not None and running.descriptor.single_task and self._cluster is None
        if running is None or narrow or running.done.done():
            return
        try:
            if self._cluster is not None:
                context = frame.sparkSession.sparkContext
                running.done.set_result(self._cluster.run(context, running.descriptor, running.stages))
            else:
                running.done.set_result(run_stages(frame, self._server_run, running.descriptor, running.stages))
        except Exception as error:
            running.done.set_exception(error if _is_ours(error) else QueryFailed(without_java_stack(str(error))))


def _in_thread(call: Callable[[], None], name: str) -> Future[None]:
    """Begins the call in a thread of its own, which does not keep the process."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            call()
            done.set_result(None)
        except Exception as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def _told(error: Exception) -> str:
    """What an error says, in one line: those of Java have their stack in their text."""
    return " ".join(line.strip() for line in str(error).strip().splitlines()[:2]) or type(error).__name__


def _is_ours(error: Exception) -> bool:
    """Whether the loop knows what to do about it. An epoch that met machines which differ is tried again."""
    return type(error).__module__.startswith("risingpy.") and not isinstance(error, MixedAttempts | PlatformDiffers)
