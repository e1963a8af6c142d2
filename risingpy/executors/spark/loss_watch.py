"""Ends an epoch's job when an executor is gone that its tasks were placed on.

Spark would repeat the tasks, but the job's places stay what they are: a new executor of the same machine, with an empty
disk perhaps, would get the later stages' tasks, and load their shards while the epoch waits. The epoch is placed anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from types import TracebackType

from risingpy.executors.cluster.placement import SparkExecutor

LOOK_SECONDS = 0.5


class LossWatch:
    """Looks while the block runs. `lost` says afterwards whether it has ended the job."""

    def __init__(
        self,
        placed: Collection[SparkExecutor],
        executors: Callable[[], Collection[SparkExecutor]],
        cancel: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self.lost = False
        self._placed, self._executors, self._cancel = frozenset(placed), executors, cancel
        self._look_seconds = look_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="loss-watch", daemon=True)

    def __enter__(self) -> LossWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()  # or it would end the next job

    def _watch(self) -> None:
        while not self._over.wait(self._look_seconds):
            try:
                if self._placed <= frozenset(self._executors()):
                    continue
                self.lost = True
                self._cancel()
            except Exception:  # Java is gone, and the job with it: whoever waits for the job learns that
                return
