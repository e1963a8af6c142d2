"""Epochs in the server's own process, without Spark: until Spark has started, and for tests, in milliseconds."""

from __future__ import annotations

from pathlib import Path

from risingpy.executors.epoch_descriptor import EpochDescriptor
from risingpy.executors.epoch_task import EpochWorker
from risingpy.meta.epoch_runner import EpochReport, combined
from risingpy.meta.epoch_shape import EpochShape


class InProcessRunner:
    """Runs every stage in the barrier loop's thread, and threads for the other shards."""

    def __init__(self, data_dir: Path) -> None:
        self._worker = EpochWorker(data_dir)
        self.shape = EpochShape()  # of no consequence here

    def start(self) -> None:
        """Nothing to warm."""

    @property
    def is_warm(self) -> bool:
        return True

    def run(self, descriptor: EpochDescriptor, depth: int) -> EpochReport:
        purged = self._worker.purge_everywhere(descriptor)
        return combined(self._worker.run_all(descriptor), purged)

    def stop(self) -> None:
        """Nothing runs behind the barrier loop's back."""

    def close(self) -> None:
        self._worker.close()
