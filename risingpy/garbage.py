"""When Python looks for garbage in cycles. A full collection holds the interpreter's lock, so everybody waits for it.

Its time follows from the number of objects that are alive: 0.1 s for what the server imports, 0.4 s more while a
statement of 50,000 rows of VALUES is planned. CPython begins one whenever the objects have grown by a quarter, which
such a statement does twice a second. What the server takes much of (rows, keys, Arrow's arrays) is in no cycle and
needs no collection; the trees of parsed statements are, and do.

So young objects are collected as ever, and the old ones by a thread of the server's: for a small part of the time
while there is memory, more often when the process has grown. What was imported is never visited again.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from risingpy.memory import server_memory
from risingpy.memory_guard import can_measure, own_memory

_LOOKS_EVERY_SECONDS = 0.25
_YOUNG_COLLECTIONS = 10  # since the last full one: fewer have left nothing worth looking for. CPython's number
_PAUSES = 50  # as long as a full collection: they take 2 % of the time
_PAUSES_WHILE_GROWING = 4  # 20 %: memory that is freed late may be another statement's 53200
_GROWTH = 1 / 32  # of the server's memory, since the last full collection
_NEVER = (1 << 31) - 1


@contextmanager
def no_collections() -> Iterator[None]:
    """For imports: they make some 400,000 objects that stay, and collections meanwhile are a tenth of their time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class GarbageCollector:
    """Collects this process's old objects from now on, in a thread that ends with the process."""

    def __init__(self) -> None:
        self._memory = server_memory()
        self._ended = time.monotonic()
        self._seconds = 0.0  # of CPU time that the last full collection took
        self._size = 0  # of the process after it

    def start(self) -> None:
        """To be called once, when what a server imports at its start is imported."""
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, _NEVER)
        threading.Thread(target=self._run, name="garbage", daemon=True).start()

    def is_due(self) -> bool:
        """Whether the next full collection may begin."""
        if gc.get_count()[2] < _YOUNG_COLLECTIONS:
            return False
        paused = time.monotonic() - self._ended
        if paused >= self._seconds * _PAUSES:
            return True
        return paused >= self._seconds * _PAUSES_WHILE_GROWING and self._has_grown()

    def collect(self) -> None:
        """A full collection.

        Its CPU time counts: beside other processes it may last ten times as long, and then so would the pause, in which
        garbage comes that makes the next one longer still.
        """
        began = time.thread_time()
        gc.collect()
        self._seconds = time.thread_time() - began
        self._ended = time.monotonic()
        self._size = own_memory() if can_measure() else 0

    def _has_grown(self) -> bool:
        return can_measure() and own_memory() - self._size > self._memory * _GROWTH

    def _run(self) -> None:
        time.sleep(_LOOKS_EVERY_SECONDS)  # the first clients are answered before
        with suppress(MemoryError):
            self.collect()
        gc.freeze()
        while True:
            time.sleep(_LOOKS_EVERY_SECONDS)
            with suppress(MemoryError):  # not even the measuring has memory: nobody else would collect from then on
                if self.is_due():
                    self.collect()
