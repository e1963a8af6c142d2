"""An epoch as one micro-batch of the wide query: a chain of stages with Spark's shuffle between them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as spark_functions

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.spark.epoch_source import ROW_SCHEMA
from risingpy.executors.spark.server_run import ServerRun
from risingpy.executors.spark.stage_task import FAILURE_PORT, TaskReport, pass_on, stage_function


def run_stages(frame: DataFrame, server: ServerRun, descriptor: EpochDescriptor, depth: int) -> list[TaskReport]:
    """Runs stages 1 to `depth` - 1 on `frame`, the output of the source's stage 0; returns every task's report.

    Raises FragmentFailed for a failing job, RuntimeError if Spark left out tasks.
    """
    for stage in range(1, depth):
        run: Callable[..., Any] = stage_function(server, descriptor.epoch, stage)
        frame = frame.repartitionById(descriptor.shards, spark_functions.col("shard")).mapInArrow(run, ROW_SCHEMA)
    reports = _reports(frame.collect())
    # One per stage and shard. A query that was restarted can run a batch without our partitions in it.
    if len(reports) != depth * descriptor.shards:
        raise RuntimeError(f"{len(reports)} of {depth * descriptor.shards} tasks of the epoch ran")
    return reports


def start_workers(session: SparkSession) -> None:
    """Has Spark start its Python workers' daemon, whose imports take a second or two.

    It does so in the way of a shuffled epoch, and raises whatever would fail that.
    """
    session.range(1).mapInArrow(pass_on, "id long").collect()


def _reports(rows: Sequence[Row]) -> list[TaskReport]:
    for row in rows:
        if row.port == FAILURE_PORT:
            raise pickle.loads(row.payload)
    return [pickle.loads(row.payload) for row in rows]
