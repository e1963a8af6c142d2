"""Threads that serve connections: as many as connections have work at a time. One that has none for long ends.

So does one that was left with a lower priority (see `priority`): its next work would suffer for the last one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from risingpy.frontend.wire.threads.priority import niceness

_Work = Callable[[], None]


class Workers:
    """From any thread. Work never waits for other work: it may block as long as its client does."""

    def __init__(self, name: str, idle_seconds: float) -> None:
        """A thread that had no work for `idle_seconds` ends, and its memory is free."""
        self._name = name
        self._idle_seconds = idle_seconds
        self._guard = threading.Lock()
        self._idle = 0  # threads that wait for work, and for which none was put into the queue yet
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()

    def run(self, work: _Work) -> None:
        """Has a thread do it. `work` raises nothing. Raises RuntimeError if the system gives no more threads."""
        with self._guard:
            has_idle = self._idle > 0
            self._idle -= has_idle
        if not has_idle:
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        self._queue.put(work)  # not as an argument, which a thread would keep until it ends

    def _serve(self) -> None:
        usual = niceness()
        work = self._taken()
        while work is not None:
            work()
            del work  # its connection may be gone long before the next one comes
            if niceness() > usual:
                return
            with self._guard:
                self._idle += 1
            work = self._taken()

    def _taken(self) -> _Work | None:
        """Some work of the queue: the threads that wait here are the idle ones, and one for each work that is put."""
        try:
            return self._queue.get(timeout=self._idle_seconds)
        except queue.Empty:
            pass
        with self._guard:
            if self._idle > 0:
                self._idle -= 1
                return None
        return self._queue.get()  # somebody has counted on this thread just now
