"""An epoch as one micro-batch of the wide query: a chain of turns with Spark's shuffle between them.

Without loops it is one job. After each repetition of a loop a job ends, which tells what is pending. The rows that the
turns have sent stay with Spark, and the next job begins with them: as a local checkpoint, which Spark does not compute
again, for its tasks have written state.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as spark_functions

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.turn import Repetitions, Turn
from risingpy.executors.spark.epoch_source import ROW_SCHEMA
from risingpy.executors.spark.loop_time import LoopTime
from risingpy.executors.spark.server_run import ServerRun
from risingpy.executors.spark.stage_task import FAILURE_PORT, TaskReport, pass_on, stage_function
from risingpy.plan.recursion.loops import Stages


def run_stages(frame: DataFrame, server: ServerRun, descriptor: EpochDescriptor, stages: Stages) -> list[TaskReport]:
    """Runs all turns but the first on `frame`, the output of the source's stage 0; returns every task's report.

    Raises FragmentFailed for a failing job, ExchangesCostMore if the epoch should be one task, RuntimeError if Spark
    left out tasks.
    """
    reports: list[TaskReport] = []
    repetitions, time = Repetitions(), LoopTime(descriptor, else_one_task=True)
    for turns in repetitions.chains(stages):
        time.check(turns, stages)
        for turn in turns:
            if turn != Turn(0):
                frame = _with_turn(frame, server, descriptor, turn)
        is_last = turns[-1] == Turn(stages.depth - 1)
        if not is_last:
            frame = frame.localCheckpoint(eager=False)
        told = _reports((frame if is_last else frame.where("port < 0")).collect())
        # One per turn and shard. A query that was restarted can run a batch without our partitions in it.
        if len(told) != len(turns) * descriptor.shards:
            raise RuntimeError(f"{len(told)} of {len(turns) * descriptor.shards} tasks of the epoch ran")
        for report in chain.from_iterable(task.reports for task in told):
            repetitions.note(report.pending)
        reports += told
        frame = frame.where("port >= 0")
    return reports


def start_workers(session: SparkSession) -> None:
    """Has Spark start its Python workers' daemon, whose imports take a second or two.

    It does so in the way of a shuffled epoch, and raises whatever would fail that.
    """
    session.range(1).mapInArrow(pass_on, "id long").collect()


def _with_turn(frame: DataFrame, server: ServerRun, descriptor: EpochDescriptor, turn: Turn) -> DataFrame:
    run: Callable[..., Any] = stage_function(server, descriptor.epoch, turn)
    return frame.repartitionById(descriptor.shards, spark_functions.col("shard")).mapInArrow(run, ROW_SCHEMA)


def _reports(rows: Sequence[Row]) -> list[TaskReport]:
    for row in rows:
        if row.port == FAILURE_PORT:
            raise pickle.loads(row.payload)
    return [pickle.loads(row.payload) for row in rows]
