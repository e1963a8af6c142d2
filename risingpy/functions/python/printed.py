"""Logs the output of users' functions with their names, up to a limit.

A thread for each worker reads its output, because a worker must not wait for the log. In each PERIOD_SECONDS it logs up
to LOGGED_BYTES of a worker, and only the number of any further bytes.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import IO

LOG = logging.getLogger(__name__)

LOGGED_BYTES = 4096
PERIOD_SECONDS = 10.0
_PIECE = 1 << 16


class PrintedText:
    """Reads a worker's output until it ends. `function`: the name of what it runs."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.function = ""
        self._pipe = pipe
        self._left = LOGGED_BYTES
        self._dropped = 0
        self._of = ""  # the function that printed last
        self._since = time.monotonic()
        self._thread = threading.Thread(target=self._read, name="printed", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The worker has ended."""
        self._thread.join(1.0)  # a process that it has started may still have the pipe open

    def _read(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), _PIECE):
                self._take(data)
        self._tell_dropped()

    def _take(self, data: bytes) -> None:
        now = time.monotonic()
        if self._of != self.function:
            self._tell_dropped()
            self._of = self.function
        if now - self._since > PERIOD_SECONDS:
            self._tell_dropped()
            self._left, self._since = LOGGED_BYTES, now
        logged = data[: self._left]
        self._left -= len(logged)
        self._dropped += len(data) - len(logged)
        if logged:
            text = logged.decode(errors="replace").rstrip("\n")
            LOG.warning("function %s prints: %s", self._of, text.replace("\n", "\n    "))

    def _tell_dropped(self) -> None:
        if self._dropped:
            LOG.warning("function %s printed %d bytes more", self._of, self._dropped)
            self._dropped = 0
