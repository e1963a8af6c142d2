"""Runs epochs on Spark: one streaming query for the whole database, one micro-batch per epoch.

`run` opens the epoch to the source, whose long poll returns; Spark starts the micro-batch; `foreachBatch` builds the
chain of stages, collects the tasks' reports and hands them back to `run`, in the barrier loop's thread, which commits.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as spark_functions
from pyspark.sql.streaming.query import StreamingQuery

from risingpy.executors.epoch_descriptor import EpochDescriptor, run_directory
from risingpy.executors.spark.epoch_channel import EpochChannel
from risingpy.executors.spark.epoch_source import FORMAT, EpochSource
from risingpy.executors.spark.session import SparkSettings, socket_directory, start_session
from risingpy.executors.spark.stage_task import FAILURE_PORT, ROW_SCHEMA, TaskReport, pass_on, stage_function

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 0.5  # how often a waiting epoch looks whether the query is still alive


class QueryFailed(Exception):
    """Spark could not run the epoch."""


class SparkDriver:
    """One Spark session and its streaming query. `run` may be called by one thread at a time."""

    def __init__(self, data_dir: Path, settings: SparkSettings, committed: int) -> None:
        self._data_dir = data_dir
        self._settings = settings
        self._committed = committed
        self._channel = EpochChannel(socket_directory() / "epochs.sock", committed)
        self._session: SparkSession | None = None
        self._query: StreamingQuery | None = None
        self._warm: Future[SparkSession] = Future()
        self._epoch: tuple[EpochDescriptor, int, Future[list[TaskReport]]] | None = None
        self._stopping = False
        self._queries = 0

    def start(self) -> None:
        """Starts Spark in the background."""
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    def run(self, descriptor: EpochDescriptor, depth: int) -> list[TaskReport]:
        """Runs one epoch. Raises FragmentFailed for a failing job, QueryFailed if Spark fails or stops."""
        session = self._warm_session()
        if self._query is None or not self._query.isActive:
            self._channel.open_epoch(descriptor.committed)  # the new query must not begin with the failed epoch
            self._query = self._start_query(session, descriptor.committed)
        done: Future[list[TaskReport]] = Future()
        self._epoch = (descriptor, depth, done)
        self._channel.open_epoch(descriptor.epoch)
        while True:
            try:
                return done.result(timeout=LOOK_SECONDS)
            except FutureTimeout:
                if self._stopping:
                    raise QueryFailed("the server is stopping") from None
                if not self._query.isActive:
                    raise QueryFailed(f"the streaming query ended: {self._query.exception()}") from None

    def stop(self) -> None:
        """Stops the query and Spark; a running epoch is given up."""
        self._stopping = True
        self._channel.close()
        if not self._warm.done() or self._warm.exception() is not None:
            return
        with contextlib.suppress(Exception):
            if self._query is not None:
                self._query.stop()
        with contextlib.suppress(Exception):
            self._warm.result().stop()

    def _warm_session(self) -> SparkSession:
        while True:
            try:
                return self._warm.result(timeout=LOOK_SECONDS)
            except FutureTimeout:
                if self._stopping:
                    raise QueryFailed("the server is stopping") from None

    def _start(self) -> None:
        try:
            session = start_session(self._settings, run_directory(self._data_dir))
            session.dataSource.register(EpochSource)
            self._query = self._start_query(session, self._committed)
            # Forks the Python workers and loads the classes of a stage before the first epoch needs them.
            session.range(1).selectExpr("0 AS shard", "0 AS port", "CAST('' AS binary) AS payload").repartitionById(
                self._settings.parallelism, spark_functions.col("shard")
            ).mapInArrow(pass_on, ROW_SCHEMA).collect()
            self._warm.set_result(session)
            LOG.info("Spark is warm")
        except Exception as error:
            LOG.error("Spark did not start: %s", error)
            self._warm.set_exception(QueryFailed(f"Spark did not start: {error}"))

    def _start_query(self, session: SparkSession, committed: int) -> StreamingQuery:
        # A fresh query starts at our committed epoch; Spark's own checkpoint is scratch.
        self._queries += 1
        scratch = run_directory(self._data_dir) / "checkpoints"
        if self._queries == 1:
            shutil.rmtree(scratch, ignore_errors=True)
        stream = (
            session.readStream.format(FORMAT)
            .option("data_dir", str(self._data_dir))
            .option("channel", str(self._channel.path))
            .option("committed", str(committed))
            .load()
        )
        return (
            stream.writeStream.queryName(f"epochs-{self._queries}")
            .foreachBatch(self._run_batch)
            .option("checkpointLocation", str(scratch / str(self._queries)))
            .start()
        )

    def _run_batch(self, frame: DataFrame, batch: int) -> None:
        if self._epoch is None:
            return
        descriptor, depth, done = self._epoch
        if done.done():
            return
        try:
            done.set_result(self._collect(frame, descriptor, depth))
        except Exception as error:
            done.set_exception(error if _is_ours(error) else QueryFailed(str(error)))

    def _collect(self, frame: DataFrame, descriptor: EpochDescriptor, depth: int) -> list[TaskReport]:
        if not descriptor.single_task:
            for stage in range(1, depth):
                run: Callable[..., Any] = stage_function(str(self._data_dir), descriptor.epoch, stage)
                frame = frame.repartitionById(descriptor.shards, spark_functions.col("shard")).mapInArrow(
                    run, ROW_SCHEMA
                )
        reports = _reports(frame.collect())
        # One per stage and shard. A query that was restarted can run a batch without our partitions in it.
        if len(reports) != depth * descriptor.shards:
            raise QueryFailed(f"{len(reports)} of {depth * descriptor.shards} tasks of the epoch ran")
        return reports


def _reports(rows: Sequence[Row]) -> list[TaskReport]:
    for row in rows:
        if row.port == FAILURE_PORT:
            raise pickle.loads(row.payload)
    return [pickle.loads(row.payload) for row in rows]


def _is_ours(error: Exception) -> bool:
    return type(error).__module__.startswith("risingpy.")
