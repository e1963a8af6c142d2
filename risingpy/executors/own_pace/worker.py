"""The process that runs jobs at their own pace: `python -m risingpy.executors.own_pace.worker FD DATA_DIR SHARDS`.

It takes one step after the other from the pipe FD, and ends when the server closes the pipe. It has a lower priority
than the server, and a limit on its memory: a job that needs more fails alone.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from risingpy.executors.own_pace.messages import Answer, Pinned, Step, StepFailed
from risingpy.executors.own_pace.step import OwnPaceJob
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.memory import EPOCH_SHARE, share_of_memory
from risingpy.memory_guard import MemoryGuard
from risingpy.nesting import allow_deep_nesting
from risingpy.storage.engine.read_views import ReadView, StateStore


class OwnPaceWorker:
    """What the process keeps from one step to the next: the shards, and one job."""

    def __init__(self, data_dir: Path, shards: int, connection: Connection) -> None:
        self._store = StateStore(data_dir, shards, cast=cast_stored)
        self._connection = connection
        self._guard = MemoryGuard(share_of_memory(EPOCH_SHARE))
        self._guard.start()
        self._job: OwnPaceJob | None = None

    def serve(self) -> None:
        """Runs steps until the server is gone."""
        with suppress(EOFError, OSError):
            self._connection.send(Pinned(0))  # it has started
            while True:
                self._connection.send(self._run(self._connection.recv()))

    def _run(self, step: Step) -> Answer:
        view = self._store.open_read_view(step.epoch)
        self._connection.send(Pinned(step.number))
        try:
            return self._run_pinned(step, view)
        except Exception as error:
            self._forget()
            return StepFailed(step.number, 0, error)
        finally:
            view.release()

    def _run_pinned(self, step: Step, view: ReadView) -> Answer:
        self._guard.allow(step.memory)
        if self._job is not None and not self._job.is_of(step.graph):
            self._forget()
        if self._job is None:
            self._job = OwnPaceJob(step, view)
        answer = self._job.run(step, view)
        if isinstance(answer, StepFailed):
            self._forget()
        return answer

    def _forget(self) -> None:
        if self._job is not None:
            self._job.close()
            self._job = None


def main() -> None:
    """Serves the pipe that the arguments name."""
    descriptor, data_dir, shards = sys.argv[1:]
    allow_deep_nesting()
    OwnPaceWorker(Path(data_dir), int(shards), Connection(int(descriptor))).serve()


if __name__ == "__main__":
    main()
