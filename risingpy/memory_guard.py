"""The last of the limits on memory: what would get the whole server killed fails where it asks for more.

Statements have limits of their own, which count what is known to grow. What none of them counts, a vector of long texts
in the middle of an expression, say, would take all memory, and the kernel would end the process. RLIMIT_DATA has the
allocation refused instead: it is that of the statement which takes the most, nearly always, and becomes its 53200.

The limit counts addresses, of which allocators keep far more than they use. So it is not set once, but moved: what
the process has, and what is left for it then. DuckDB's allocator would keep all that it ever had, and use it again.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

from risingpy.memory import server_memory

PROCESS_SHARE = 3 / 4  # of the server's memory: Spark's processes take the rest
_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()
_LOOKS_EVERY_SECONDS = 0.1
_LEAST_LEFT = 16 << 20  # so that a process that has all it may have can still say so
_TRIMS_EVERY_SECONDS = 2.0
_LARGE = 1 / 2  # of the limit: from there on, what allocators keep is given back


class MemoryGuard:
    """Keeps this process within its share of the server's memory. Linux only: elsewhere it does nothing.

    The server looks all the time, a process of Spark's before each piece of work.
    """

    def __init__(self) -> None:
        self._limit = int(server_memory() * PROCESS_SHARE)
        _, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._trimmed = 0.0

    def start(self) -> None:
        """Begins to look, for good. Child processes have limits of their own."""
        self.look()
        os.register_at_fork(after_in_child=lift_limit)
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def look(self) -> None:
        """Moves the limit."""
        if not _STATM.exists():
            return
        _, resident, shared, _, _, data, _ = map(int, _STATM.read_text().split())
        own = (resident - shared) * _PAGE
        allowed = data * _PAGE + max(self._limit - own, _LEAST_LEFT)
        if self._hard != resource.RLIM_INFINITY:
            allowed = min(allowed, self._hard)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, self._hard))
        if own > self._limit * _LARGE and time.monotonic() > self._trimmed + _TRIMS_EVERY_SECONDS:
            _give_back()
            self._trimmed = time.monotonic()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY_SECONDS)
            with suppress(MemoryError):  # there is none left even for looking: then the next time
                self.look()


def return_freed_memory() -> None:
    """Has DuckDB's allocator give freed addresses back. Before DuckDB is imported."""
    os.environ.setdefault("DUCKDB_JE_MALLOC_CONF", "retain:false")


def lift_limit() -> None:
    """Lets this process allocate as much as whoever started the server may."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _give_back() -> None:
    """What was freed and the C library keeps; it keeps large blocks too, once such have been freed."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)
