"""Watches what each job takes of an epoch, and ends the work of one that takes more than it may.

An epoch is what all jobs share: while one of them computes, every other view waits. So a fragment's work on a shard
has an allowance of CPU time. A job that exceeds it fails in this epoch with `JobTookTooLong`; the epoch is run again
without that job.

The allowance is of the thread's own CPU time, so a busy machine takes nothing from it. Elapsed time counts a fraction:
a job that sleeps or waits for another process holds the epoch as well.

Memory has an allowance too, and an operator may collect less than in an epoch of the job's own. Vectors of long texts
in the middle of an expression are counted nowhere. So in a process that does nothing else, the watch looks at how much
the process has grown since the work began. Which thread grew is not known: all works that run then are ended.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from types import TracebackType

from risingpy.errors import OutOfMemory, SqlError
from risingpy.memory import JOB_GROWTH_SHARE, JOB_OPERATOR_SHARE, JOB_SHARE, server_memory
from risingpy.memory_guard import can_measure, give_back, own_memory
from risingpy.statement_limits import StatementLimits, current_limits, working_for
from risingpy.storage import kernels

LOOK_SECONDS = 0.05
STORED_BYTES_PER_SECOND = 64 << 20  # of CPU time: encoded, sorted, put into the tree with its undo
BYTES_PER_ROW = 1024  # that a job may have or write for each row of the epoch, besides its shares
ELAPSED_FACTOR = 4.0  # a job may take so many times its allowance of elapsed time
_STEP = 1 << 18  # bytes
GRACE_SECONDS = 0.25  # for DuckDB and our functions to hear of it; then the thread's Python is interrupted
_KEPT = 64 << 20  # freed memory that allocators may keep after a job that was ended


class JobTookTooLong(SqlError):
    """A job's work on one shard took longer than an epoch allows; the job goes on in epochs of its own, or stops."""

    sqlstate = "57014"


class _Interrupted(BaseException):
    """Raised inside a thread whose work does not end otherwise. No `except Exception` on the way stops it."""


@dataclass(slots=True)
class _LimitedWork:
    """What a thread does for one fragment. `interrupt` ends what DuckDB runs for this thread."""

    seconds: float
    interrupt: Callable[[], None]
    limits: StatementLimits
    thread_id: int = field(default_factory=threading.get_ident)
    cpu_before: float = field(default_factory=time.thread_time)
    began: float = field(default_factory=time.monotonic)
    most_grown: int = 0  # bytes that the process may grow meanwhile
    ended_at: float | None = None  # when the watch ended it
    ended_for: str | None = None  # if not for its time
    was_interrupted: bool = False

    def exceeds(self) -> bool:
        """Whether it has taken more than it may."""
        clock = time.pthread_getcpuclockid(self.thread_id)
        cpu = time.clock_gettime(clock) - self.cpu_before
        return cpu > self.seconds or time.monotonic() - self.began > self.seconds * ELAPSED_FACTOR


class JobWatch:
    """One for a process that runs epochs. Its thread starts with the first limited work, and sleeps between epochs."""

    def __init__(self, *, alone: bool = False) -> None:
        """`alone`: the process does nothing else, and so its memory is that of the works."""
        self._measures = alone and can_measure()
        self._before = 0  # bytes that the process had before the works began
        self._guard = threading.Lock()
        self._works: dict[int, _LimitedWork] = {}
        self._some = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        # By thread: what the last work was given, and for what.
        self._last_limits: dict[int, tuple[tuple[StatementLimits, int, int], StatementLimits]] = {}

    def limited(self, seconds: float, rows: int, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """A context manager in which this thread's work may take `seconds` of CPU. Raises JobTookTooLong.

        The epoch has `rows`: what the work collects, or writes to a table, must be in proportion to them. Otherwise
        OutOfMemory is raised.
        """
        _load_kernels()  # compiled once, in seconds that are no job's own
        memory = server_memory()
        limits = self._limits(current_limits(), memory, seconds, rows)
        most_grown = int(memory * JOB_GROWTH_SHARE) + BYTES_PER_ROW * rows
        return _WatchedWork(self, _LimitedWork(seconds, interrupt, limits, most_grown=most_grown))

    def _limits(self, limits: StatementLimits, server: int, seconds: float, rows: int) -> StatementLimits:
        """The limits of a job in an epoch of so many rows, which others wait for, in a server with so much memory.

        Most of the time that a large result costs comes after the operators, when the transaction is committed: so what
        a job may write follows from the time that it may take. It goes in steps: thus most of a thread's works
        have the same limits, and take over those of the one before unless that was ended.
        """
        memory = min(limits.memory, int(server * JOB_OPERATOR_SHARE) + BYTES_PER_ROW * rows)
        in_time = int(STORED_BYTES_PER_SECOND * max(seconds, 0.0)) & -_STEP
        written = min(int(server * JOB_SHARE), in_time) + BYTES_PER_ROW * rows
        wanted = (limits, memory, written)
        thread = threading.get_ident()
        known = self._last_limits.get(thread)
        if known is None or known[0] != wanted or known[1].cancelled.is_set():
            own = replace(limits, cancelled=threading.Event(), memory=memory, written=written)
            known = self._last_limits[thread] = (wanted, own)
        return known[1]

    def close(self) -> None:
        """Ends the thread, and waits for that: a thread of Python's must not outlive the interpreter."""
        self._closed = True
        self._some.set()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def begin(self, work: _LimitedWork) -> None:
        """This thread's work begins."""
        with self._guard:
            if self._measures and not self._works:
                self._before = own_memory()
            self._works[work.thread_id] = work
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="job watch", daemon=True)
                self._thread.start()
        if not self._some.is_set():
            self._some.set()

    def end(self, work: _LimitedWork) -> bool:
        """Forgets this thread's work; returns whether the watch has ended it."""
        with self._guard:
            del self._works[work.thread_id]
            if work.was_interrupted:  # the exception may not have been raised yet: it must not hit what comes next
                _raise_in(work.thread_id, None)
        if work.ended_at is None:
            return False
        if self._measures and own_memory() - self._before > _KEPT:
            give_back()
        return True

    def _run(self) -> None:
        idle = 0
        while not self._closed:
            if idle * LOOK_SECONDS > 1.0:  # between the fragments of an epoch it stays awake
                self._some.clear()
                if not self._works:
                    self._some.wait()
            time.sleep(LOOK_SECONDS)
            with self._guard:
                idle = 0 if self._works else idle + 1
                grown = own_memory() - self._before if self._measures and self._works else 0
                for work in self._works.values():
                    if work.ended_at is None and grown > work.most_grown:
                        work.ended_for = f"its part of an epoch would take more than {work.most_grown >> 20}MB"
                    if work.ended_at is not None or work.ended_for or work.exceeds():
                        self._strike(work)

    def _strike(self, work: _LimitedWork) -> None:
        """Ends the work. Again and again: DuckDB forgets an interrupt that comes between two of its queries."""
        now = time.monotonic()
        if work.ended_at is None:
            work.ended_at = now
            work.limits.cancelled.set()
        work.interrupt()
        if now - work.ended_at > GRACE_SECONDS and not work.was_interrupted:
            work.was_interrupted = True
            _raise_in(work.thread_id, _Interrupted)


class _WatchedWork:
    """A context manager of a watch. A generator would take a small epoch longer than its fragments' filters do."""

    def __init__(self, watch: JobWatch, work: _LimitedWork) -> None:
        self._watch = watch
        self._work = work
        self._limits = working_for(work.limits)

    def __enter__(self) -> None:
        self._watch.begin(self._work)
        self._limits.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.__exit__(kind, error, trace)
        ended = self._watch.end(self._work)
        if ended and error is not None:  # without an error it was through before it heard
            raise _reason(self._work) from (error if isinstance(error, Exception) else None)


@cache
def _load_kernels() -> None:
    """Once in a process: also to find that all are loaded takes milliseconds, and a process may have many databases."""
    kernels.load()


def _reason(work: _LimitedWork) -> SqlError:
    """Why the watch has ended a work."""
    if work.ended_for is not None:
        return OutOfMemory(f"out of memory: {work.ended_for}", hint=work.limits.hint)
    return JobTookTooLong(
        f"its part of an epoch took longer than {work.seconds * 1000:.0f} ms of CPU time",
        hint="ALTER SYSTEM SET job_epoch_ms allows more; every other view waits so much longer.",
    )


def _raise_in(thread_id: int, kind: type[BaseException] | None) -> None:
    """Has `kind` raised in a thread at its next step of Python; None takes back what has not been raised yet."""
    what = ctypes.py_object() if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), what)
