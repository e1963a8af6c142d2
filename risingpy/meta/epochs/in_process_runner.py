"""Epochs in the server's own process, without Spark: until Spark has started, and for tests, in milliseconds."""

from __future__ import annotations

from pathlib import Path

from risingpy.config import default_parallelism
from risingpy.executors.epoch.descriptor import EpochDescriptor, forget_descriptors
from risingpy.executors.epoch.task import EpochWorker
from risingpy.meta.epochs.runner import EpochFailed, EpochReport, combined
from risingpy.meta.epochs.shape import EpochShape
from risingpy.plan.recursion.loops import Stages
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning


class InProcessRunner:
    """Runs every stage, the first shard in the barrier loop's thread, the others in their own threads."""

    def __init__(self, data_dir: Path, tuning: StoreTuning = DEFAULT_TUNING, *, beside_spark: bool = False) -> None:
        """`beside_spark`: Spark runs other epochs of the same server."""
        self._data_dir, self._tuning, self._beside_spark = data_dir, tuning, beside_spark
        self._worker: EpochWorker | None = EpochWorker(data_dir, tuning)
        self._has_run = False
        self.shape = EpochShape()  # has no effect here

    def start(self) -> None:
        """Does nothing: there is nothing to start."""

    @property
    def is_warm(self) -> bool:
        return True

    @property
    def cores(self) -> int | None:
        return default_parallelism()

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        if self._beside_spark or not self._has_run:
            # A task of Spark's that has outlived its epoch goes on while it finds that described.
            forget_descriptors(self._data_dir)
            self._has_run = True
        worker = self._worker = self._worker or EpochWorker(self._data_dir, self._tuning)
        try:
            purged = worker.purge_everywhere(descriptor)
            report = combined(worker.run_all(descriptor), purged)
        except MemoryError as error:
            raise EpochFailed("the process is out of memory") from error
        return report

    def stop(self) -> None:
        """Does nothing: epochs run only in the barrier loop's thread."""

    def close(self) -> None:
        """Closes the stores. A later `run` opens them again, and has nothing left of what it knew of them."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
