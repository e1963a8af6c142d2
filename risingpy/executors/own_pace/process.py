"""The server's side of a process that runs a job at its own pace."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import risingpy
from risingpy.executors.own_pace.messages import Answer, Step
from risingpy.process_priority import LOOK_SECONDS, FairShare


class OwnPaceProcess:
    """Runs steps, one at a time. `on_answer` is called in a thread of its own with each answer, and with None when the
    process has ended though nobody ended it.

    That thread starts the process, too, and waits until the system has taken its memory back: either may take a while.
    While a step runs, the thread looks whether the process starves: a job that is late must come to its end.
    """

    def __init__(
        self, data_dir: Path, shards: int, on_answer: Callable[[Answer | None], None], share: FairShare
    ) -> None:
        self._connection, theirs = Pipe()
        self._ended = False
        self._share = share
        self._on_answer = on_answer
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()  # of the process while it starts
        serve = threading.Thread(target=self._serve, args=(theirs, data_dir, shards), name="own pace", daemon=True)
        serve.start()

    def start(self, step: Step) -> None:
        """Has the process run a step. It answers `Pinned` first, once it has started."""
        try:
            self._connection.send(step)
        except OSError:
            self._on_answer(None)

    def end(self) -> None:
        """Kills the process, whatever it does. Does not wait until it is gone."""
        with self._guard:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def _serve(self, theirs: Connection, data_dir: Path, shards: int) -> None:
        with closing(self._connection):
            try:
                with closing(theirs), self._guard:
                    if self._ended:
                        return
                    self._process = _started(theirs, data_dir, shards)
                    self._share.begin(self._process.pid)
                while True:
                    while not self._connection.poll(LOOK_SECONDS):
                        self._share.look_at(self._process.pid)
                    self._on_answer(self._connection.recv())
            except (EOFError, OSError):
                if not self._ended:
                    self._on_answer(None)
            if self._process is not None:
                self._process.wait()


def _started(connection: Connection, data_dir: Path, shards: int) -> subprocess.Popen[bytes]:
    root = str(Path(risingpy.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [
            sys.executable, "-m", "risingpy.executors.own_pace.worker",
            str(connection.fileno()), str(data_dir), str(shards),
        ],
        stdin=subprocess.DEVNULL,
        pass_fds=[connection.fileno()],
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
