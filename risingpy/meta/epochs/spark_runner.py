"""Runs epochs on Spark; until Spark has started, and when it is lost, in the server's own process."""

from __future__ import annotations

from itertools import chain

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.task import Purged
from risingpy.executors.spark.driver import QueryFailed, SparkDriver
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.replica import Replica
from risingpy.meta.epochs.runner import EpochFailed, EpochReport, combined
from risingpy.meta.epochs.shape import EpochShape
from risingpy.plan.recursion.loops import Stages


class SparkRunner:
    """Adapts the Spark driver to `EpochRunner`.

    Epochs of one task need not wait for Spark, which takes about ten seconds to start: they run in this process. They
    do so again while a Spark that was lost is not there. Its Python processes may outlive it for a moment: what they
    still write to a store is let through first, or refused as that of an older epoch, as by a new Spark.
    """

    def __init__(
        self, driver: SparkDriver, shape: EpochShape, meanwhile: InProcessRunner, replica: Replica | None = None
    ) -> None:
        """On a cluster there is a `replica`, and every epoch there is a job: `shape` has to say so."""
        self._driver = driver
        self._replica = replica
        self._meanwhile = meanwhile
        self._runs_here = True
        self.shape = shape

    def start(self) -> None:
        self._driver.start()

    @property
    def is_warm(self) -> bool:
        return self._driver.is_warm

    @property
    def cores(self) -> int | None:
        return self._driver.cores

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        self._driver.look_for_java()
        # On a cluster, what was planned as one task before it was there is still run here.
        self._move(here=descriptor.single_task and (self._replica is not None or not self._driver.is_warm))
        if self._runs_here:
            return self._meanwhile.run(descriptor, stages)
        return self._run_on_spark(descriptor, stages)

    def _move(self, *, here: bool) -> None:
        """Whoever does not run epochs has nothing open: what he remembers of the stores would be out of date."""
        if here and not self._runs_here and self._replica is not None:
            self._replica.close()
        if not here and self._runs_here:
            self._meanwhile.close()
        self._runs_here = here

    def _run_on_spark(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        try:
            tasks = self._driver.run(descriptor, stages)
        except QueryFailed as error:
            raise EpochFailed(str(error)) from error
        # A table is purged when no shard has rows of it left. Tasks that do not purge report None, and do not count.
        purged = [task.purged for task in tasks if task.purged is not None]
        cpu_seconds = sum(task.cpu_seconds for task in tasks)
        reports = chain.from_iterable(task.reports for task in tasks)
        report = combined(reports, Purged.on_all(purged), cpu_seconds)
        if self._replica is not None:
            self._replica.fill(descriptor, report.deltas)
        return report

    def stop(self) -> None:
        self._driver.stop()

    def close(self) -> None:
        """Closes the stores that this process has open. Spark's processes have ended, or close theirs themselves."""
        if self._runs_here:
            self._meanwhile.close()
        if self._replica is not None:
            self._replica.close()
