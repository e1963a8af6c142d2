"""The last limit on memory: an allocation fails before the kernel would kill the whole server.

Statements have their own limits, which count the data that is known to grow. Memory that none of them counts (say, a
vector of long texts in the middle of an expression) could grow until the kernel kills the process. RLIMIT_DATA makes
the allocation fail instead. It is nearly always that of the statement which takes the most, and becomes its 53200.

The limit counts addresses, and allocators keep far more of these than they use. So the guard moves the limit all the
time, to what the process has now plus what it may still take. DuckDB's allocator would keep freed addresses for ever.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from risingpy.memory import server_memory

PROCESS_SHARE = 3 / 4  # of the server's memory: Spark's processes take the rest
_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()
_LOOKS_EVERY_SECONDS = 0.1
_LEAST_LEFT = 16 << 20  # so that a process that has reached its limit can still report it
_TRIMS_EVERY_SECONDS = 2.0
_LARGE = 1 / 2  # of the limit: above it, allocators must give freed memory back


class MemoryGuard:
    """Keeps this process within its share of the server's memory. Linux only: elsewhere it does nothing.

    The server calls `look` all the time, a process of Spark before each piece of work.
    """

    def __init__(self, more: int | None = None) -> None:
        """`more`: bytes that the process may take beyond what it has now, if not its share of the server's memory."""
        self._limit = int(server_memory() * PROCESS_SHARE)
        if more is not None and can_measure():
            self._limit = min(self._limit, own_memory() + more)
        _, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._trimmed = 0.0

    def start(self) -> None:
        """Starts a thread that calls `look` for ever. Child processes have their own limits."""
        self.look()
        os.register_at_fork(after_in_child=lift_limit)
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def look(self) -> None:
        """Moves the limit."""
        if not can_measure():
            return
        own, data = own_memory(), int(_STATM.read_text().split()[5])
        allowed = data * _PAGE + max(self._limit - own, _LEAST_LEFT)
        if self._hard != resource.RLIM_INFINITY:
            allowed = min(allowed, self._hard)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, self._hard))
        if own > self._limit * _LARGE and time.monotonic() > self._trimmed + _TRIMS_EVERY_SECONDS:
            give_back()
            self._trimmed = time.monotonic()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY_SECONDS)
            with suppress(MemoryError):  # not even `look` has memory: the next call may
                self.look()


def can_measure() -> bool:
    """Whether the system says what a process has in memory: Linux does."""
    return _STATM.exists()


def own_memory() -> int:
    """The bytes that this process has in memory of its own. Linux only."""
    _, resident, shared, *_ = _STATM.read_text().split()
    return (int(resident) - int(shared)) * _PAGE


def return_freed_memory() -> None:
    """Makes DuckDB's allocator give freed addresses back. To be called before DuckDB is imported."""
    os.environ.setdefault("DUCKDB_JE_MALLOC_CONF", "retain:false")


def lift_limit() -> None:
    """Removes the limit: this process may allocate as much as the process that started the server."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def give_back() -> None:
    """Gives back freed memory that Arrow and the C library keep; once large blocks were freed, they also keep those."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)
