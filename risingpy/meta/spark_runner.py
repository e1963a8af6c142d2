"""Epochs on Spark, for the barrier loop."""

from __future__ import annotations

from functools import reduce

from risingpy.executors.epoch_descriptor import EpochDescriptor
from risingpy.executors.spark.driver import QueryFailed, SparkDriver
from risingpy.meta.epoch_runner import EpochFailed, EpochReport, combined
from risingpy.meta.epoch_shape import EpochShape


class SparkRunner:
    """Adapts the Spark driver to `EpochRunner`."""

    def __init__(self, driver: SparkDriver, shape: EpochShape) -> None:
        self._driver = driver
        self.shape = shape

    def start(self) -> None:
        self._driver.start()

    def run(self, descriptor: EpochDescriptor, depth: int) -> EpochReport:
        try:
            tasks = self._driver.run(descriptor, depth)
        except QueryFailed as error:
            raise EpochFailed(str(error)) from error
        # A table is purged when no shard has rows of it left; only the tasks of stage 0 purge.
        purged = [task.purged for task in tasks if task.stage == 0]
        cpu_seconds = sum(task.cpu_seconds for task in tasks)
        return combined((task.report for task in tasks), reduce(frozenset.intersection, purged, purged[0]), cpu_seconds)

    def stop(self) -> None:
        self._driver.stop()

    def close(self) -> None:
        """The stores are open in Spark's own processes, which have ended."""
