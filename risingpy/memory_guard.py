"""The last limit on memory: an allocation fails before the kernel would kill the whole server.

Statements have their own limits, which count the data that is known to grow. Memory that none of them counts (say, a
vector of long texts in the middle of an expression) could grow until the kernel kills the process. RLIMIT_DATA makes
the allocation fail instead. It is nearly always that of the statement which takes the most, and becomes its 53200.

The limit counts addresses, and allocators keep far more of these than they use. So the guard moves the limit all the
time, to what the process has now plus what it may still take. DuckDB's allocator would keep freed addresses for ever.

The server shares its memory with the processes that it has started: Spark's Java, workers that run epochs, jobs at
their own pace, users' functions. What they have is taken from what the server itself may take.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from risingpy.memory import server_memory

PROCESS_SHARE = 3 / 4  # of the server's memory: Spark's processes take the rest
LEAST_SHARE = 3 / 8  # which the server may take however much its other processes have: its statements go on
_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()
_LOOKS_EVERY_SECONDS = 0.1
_LEAST_LEFT = 16 << 20  # so that a process that has reached its limit can still report it
_TRIMS_EVERY_SECONDS = 2.0
_LARGE = 1 / 2  # of the limit: above it, allocators must give freed memory back
_COUNTS_EVERY_SECONDS = 0.5  # what other processes have: a walk through /proc takes a millisecond or two
_COUNTS_FROM = 1 / 4  # of the server's memory: below it, the others cannot matter


class MemoryGuard:
    """Keeps this process within its share of the server's memory. Linux only: elsewhere it does nothing.

    The server calls `look` all the time, a process of Spark before each piece of work.
    """

    def __init__(self, more: int | None = None, *, with_descendants: bool = False) -> None:
        """`more`: bytes that the process may take beyond what it has now, if not its share of the server's memory.

        `with_descendants`: the process and all that it starts share that memory.
        """
        self._memory = server_memory()
        self._limit = int(self._memory * PROCESS_SHARE)
        self._with_descendants = with_descendants
        self._others, self._counted = 0, 0.0
        if more is not None and can_measure():
            self._limit = min(self._limit, own_memory() + more)
        self._most = self._limit
        _, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._trimmed = 0.0

    def start(self) -> None:
        """Starts a thread that calls `look` for ever. Child processes have their own limits."""
        self.look()
        os.register_at_fork(after_in_child=lift_limit)
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def allow(self, more: int) -> None:
        """From now on the process may take `more` bytes beyond what it has, but never more than was said first."""
        if can_measure():
            self._limit = min(self._most, own_memory() + more)
            self.look()

    def look(self) -> None:
        """Moves the limit."""
        if not can_measure():
            return
        own, data = own_memory(), int(_STATM.read_text().split()[5])
        limit = self._limit_beside_others(own)
        allowed = data * _PAGE + max(limit - own, _LEAST_LEFT)
        if self._hard != resource.RLIM_INFINITY:
            allowed = min(allowed, self._hard)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, self._hard))
        if own > limit * _LARGE and time.monotonic() > self._trimmed + _TRIMS_EVERY_SECONDS:
            give_back()
            self._trimmed = time.monotonic()

    def _limit_beside_others(self, own: int) -> int:
        """What the process may have now."""
        if not self._with_descendants or own < self._memory * _COUNTS_FROM:
            return self._limit
        if time.monotonic() > self._counted + _COUNTS_EVERY_SECONDS:
            self._others = sum(map(memory_of, _descendants(os.getpid())))
            self._counted = time.monotonic()
        return max(min(self._limit, self._memory - self._others), int(self._memory * LEAST_SHARE))

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
    return _own_of(_STATM)


def memory_of(pid: int) -> int:
    """The bytes that a process has in memory of its own; 0 if it has ended. Linux only."""
    try:
        return _own_of(Path(f"/proc/{pid}/statm"))
    except OSError:
        return 0


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


def memory_left() -> int:
    """The bytes of the server's memory that neither this process nor those that it has started have. Linux only."""
    return server_memory() - own_memory() - sum(map(memory_of, _descendants(os.getpid())))


def _own_of(statm: Path) -> int:
    _, resident, shared, *_ = statm.read_text().split()
    return (int(resident) - int(shared)) * _PAGE


def _descendants(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have started."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has just ended
            for child in map(int, thread.read_text().split()):
                yield child
                yield from _descendants(child)
