"""Epochs in the server's own process, without Spark: until Spark has started, and for tests, in milliseconds."""

from __future__ import annotations

from pathlib import Path

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.task import EpochWorker
from risingpy.meta.epochs.runner import EpochFailed, EpochReport, combined
from risingpy.meta.epochs.shape import EpochShape
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning


class InProcessRunner:
    """Runs every stage, the first shard in the barrier loop's thread, the others in their own threads."""

    def __init__(self, data_dir: Path, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._worker = EpochWorker(data_dir, tuning)
        self.shape = EpochShape()  # has no effect here

    def start(self) -> None:
        """Does nothing: there is nothing to start."""

    @property
    def is_warm(self) -> bool:
        return True

    def run(self, descriptor: EpochDescriptor, depth: int) -> EpochReport:
        try:
            purged = self._worker.purge_everywhere(descriptor)
            report = combined(self._worker.run_all(descriptor), purged)
        except MemoryError as error:
            raise EpochFailed("the process is out of memory") from error
        return report

    def stop(self) -> None:
        """Does nothing: epochs run only in the barrier loop's thread."""

    def close(self) -> None:
        self._worker.close()
