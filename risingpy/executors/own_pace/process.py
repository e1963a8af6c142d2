"""The server's side of a process that runs a job at its own pace."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import risingpy
from risingpy.executors.own_pace.messages import Answer, Step


class OwnPaceProcess:
    """Runs steps, one at a time. `on_answer` is called in a thread of its own with each answer, and with None when the
    process has ended though nobody ended it."""

    def __init__(self, data_dir: Path, shards: int, on_answer: Callable[[Answer | None], None]) -> None:
        root = str(Path(risingpy.__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._connection, theirs = Pipe()
        self._ended = False
        self._on_answer = on_answer
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "risingpy.executors.own_pace.worker",
                    str(theirs.fileno()), str(data_dir), str(shards),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        finally:
            theirs.close()
        threading.Thread(target=self._listen, args=(self._connection,), name="own pace", daemon=True).start()

    def start(self, step: Step) -> None:
        """Has the process run a step. It answers `Pinned` first, once it has started."""
        try:
            self._connection.send(step)
        except OSError:
            self._on_answer(None)

    def end(self) -> None:
        """Kills the process, whatever it does."""
        self._ended = True
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def _listen(self, connection: Connection) -> None:
        try:
            while True:
                self._on_answer(connection.recv())
        except (EOFError, OSError):
            if not self._ended:
                self._on_answer(None)
