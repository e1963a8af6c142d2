"""Lowers the priority of a thread whose statement takes long, and raises it again when that is answered.

The epochs, which everybody waits for, and short statements then have the processors before a few heavy queries. Without
competition a lower priority costs nothing. Not while a thread may hold the interpreter's lock: others would wait for it
until the thread gets a processor. Linux only: elsewhere threads have no priority of their own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress

LONG_SECONDS = 0.1  # of CPU time
NICENESS = 10  # which a statement that takes longer adds: it gets a ninth of what others get
_LEAST = 19
_HAS_PRIORITIES = sys.platform == "linux"


class StatementPriority:
    """Of the thread that serves a connection. `begin` and `end` are for that thread, `lower_if_long` for any."""

    def __init__(self) -> None:
        self._guard = threading.Lock()  # the thread may end as soon as its statement has
        self._works = False
        self._lowered_from: int | None = None  # the niceness that the thread had
        self._thread_id = self._native_id = 0
        self._cpu_before = 0.0

    def begin(self) -> None:
        """A request has come. Does nothing if one before it is not answered yet."""
        if self._works or not _HAS_PRIORITIES:
            return
        with self._guard:
            self._works = True
            self._thread_id, self._native_id = threading.get_ident(), threading.get_native_id()
            self._cpu_before = time.thread_time()

    def end(self) -> bool:
        """All is answered. False: the thread cannot have its priority back, and should serve nothing else."""
        if not self._works:
            return True
        with self._guard:
            self._works = False
            before, self._lowered_from = self._lowered_from, None
        return before is None or _is_set(self._native_id, before)

    def lower_if_long(self) -> None:
        """To be called a few times a second, while the thread works without the interpreter's lock."""
        with self._guard:
            if not self._works or self._lowered_from is not None:
                return
            clock = time.pthread_getcpuclockid(self._thread_id)
            if time.clock_gettime(clock) - self._cpu_before < LONG_SECONDS:
                return
            with suppress(OSError):
                before = os.getpriority(os.PRIO_PROCESS, self._native_id)
                if _is_set(self._native_id, min(before + NICENESS, _LEAST)):
                    self._lowered_from = before


def niceness() -> int:
    """Of this thread."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) if _HAS_PRIORITIES else 0


def _is_set(native_id: int, value: int) -> bool:
    """Sets a thread's niceness. False: the system does not allow it: it lets few users raise a priority."""
    try:
        os.setpriority(os.PRIO_PROCESS, native_id, value)
    except OSError:
        return False
    return True
