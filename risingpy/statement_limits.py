"""The limits of the statement that a thread runs. Our functions inside DuckDB read them, in that same thread.

DuckDB checks its own limits only between vectors of 2,048 rows, and counts neither the texts in a vector nor the memory
of our functions. So our functions check whether the statement is cancelled, and whether a large result fits into
memory. Tasks of an epoch have no statement: their memory is the epoch's share, and nobody cancels them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from risingpy.errors import InternalError, OutOfMemory, QueryCanceled
from risingpy.memory import EPOCH_SHARE, share_of_memory, show_bytes

# The memory for an operator's output row until it is in its table: keys, encoded rows, undo records.
BYTES_OF_OUTPUT_ROW = 256
ROW_FRACTION = 4  # a stored row may have so small a part of the memory: it is copied as it is encoded and written


def _has_no_sessions(function: str, process_id: int, milliseconds: int) -> bool:
    return False


def _has_no_settings(name: str, value: str, local: bool) -> str:
    return value


def _is_never_cancelled(call: Callable[[], None]) -> AbstractContextManager[None]:
    return nullcontext()


def _notifies_nobody(channel: str, payload: str) -> None:
    raise InternalError("only statements of sessions notify others")


class Sequences(Protocol):
    """What a session does with sequences, which it knows by their oids."""

    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        """Takes so many numbers; `checked`: if the session's role may."""

    def current(self, oid: int) -> int:
        """The last number that the session has taken of a sequence."""

    def last(self) -> int:
        """The last number that it has taken."""

    def put(self, oid: int, value: int, called: bool) -> int:
        """Has a sequence go on after `value`, or with it if that is not `called`."""

    def position(self, oid: int) -> tuple[int, bool]:
        """Where a sequence stands: (its last number, whether that was given)."""

    def of_column(self, table: str, column: str) -> str | None:
        """The name of the sequence that belongs to a column."""


class _HasNoSequences:
    """Where no session works."""

    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        raise _no_session()

    def current(self, oid: int) -> int:
        raise _no_session()

    def last(self) -> int:
        raise _no_session()

    def put(self, oid: int, value: int, called: bool) -> int:
        raise _no_session()

    def position(self, oid: int) -> tuple[int, bool]:
        raise _no_session()

    def of_column(self, table: str, column: str) -> str | None:
        raise _no_session()


class AdvisoryLocks(Protocol):
    """What a session does with locks of numbers: one bigint, or two integers."""

    def lock(self, numbers: tuple[int, ...], *, shared: bool, transaction: bool, wait: bool) -> bool:
        """Takes a lock, for the session or its transaction; false if it would have to wait, and must not."""

    def unlock(self, numbers: tuple[int, ...], *, shared: bool) -> bool:
        """Gives up one of the session; false if there is none."""

    def unlock_all(self) -> None:
        """Gives up all of the session."""


class _HasNoLocks:
    """Where no session works."""

    def lock(self, numbers: tuple[int, ...], *, shared: bool, transaction: bool, wait: bool) -> bool:
        raise _locks_nothing()

    def unlock(self, numbers: tuple[int, ...], *, shared: bool) -> bool:
        raise _locks_nothing()

    def unlock_all(self) -> None:
        raise _locks_nothing()


def _locks_nothing() -> InternalError:
    return InternalError("only statements of sessions take advisory locks")


def _waits_for_nobody(_process_id: int) -> list[int]:
    return []


def _no_session() -> InternalError:
    return InternalError("only statements of sessions take numbers of sequences")


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """`memory` is in bytes; `setting` is the parameter that a user can raise to have more.

    `written`: how many bytes of rows an epoch may write to one table (None: any number). `signal(function, process id,
    milliseconds)` does what pg_cancel_backend and pg_terminate_backend do to a session. `blocking(process id)` are the
    sessions for whose locks a session waits. `set_config(name, value, local)` changes a setting of the session, and
    gives its new value. `sequences` answers nextval and its like, `advisory` pg_advisory_lock and its like.
    `notify(channel, payload)` is pg_notify. Within the block of `calling(call)`, `call` is called when the statement is
    cancelled. `now` is what now() gives: None, when the statement begins.
    """

    memory: int
    cancelled: threading.Event = field(default_factory=threading.Event)
    setting: str = "statement_memory"
    alone: bool = False  # this process serves nothing else
    written: int | None = None
    signal: Callable[[str, int, int], bool] = _has_no_sessions
    blocking: Callable[[int], list[int]] = _waits_for_nobody
    set_config: Callable[[str, str, bool], str] = _has_no_settings
    sequences: Sequences = field(default_factory=_HasNoSequences)
    advisory: AdvisoryLocks = field(default_factory=_HasNoLocks)
    notify: Callable[[str, str], None] = _notifies_nobody
    calling: Callable[[Callable[[], None]], AbstractContextManager[None]] = _is_never_cancelled
    now: datetime | None = None

    @property
    def hint(self) -> str:
        """What a user can do to have more memory."""
        return f"Have less in memory at a time, or raise {self.setting}."

    def look(self) -> None:
        """Raises QueryCanceled if the statement was cancelled."""
        if self.cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    def check(self, wanted: int, what: str) -> None:
        """Raises OutOfMemory if `wanted` bytes of `what` are too many."""
        if wanted > self.memory:
            raise out_of_memory(f"{what} would take {show_bytes(_rounded(wanted))}", self)


def out_of_memory(detail: str, limits: StatementLimits) -> OutOfMemory:
    """The error of something that needs more than these limits allow."""
    return OutOfMemory(f"out of memory: {detail}; the limit is {show_bytes(_rounded(limits.memory))}", hint=limits.hint)


class _Current(threading.local):
    limits: StatementLimits | None = None


_current = _Current()


def current_limits() -> StatementLimits:
    """The limits under which this thread works."""
    return _current.limits or _limits_of_epochs(share_of_memory(EPOCH_SHARE))


@cache
def _limits_of_epochs(memory: int) -> StatementLimits:
    """Those of work that belongs to no statement. Nobody cancels it, so all of it has the same."""
    return StatementLimits(memory, setting="the server's --memory")


class working_for:
    """A context manager in which this thread works under these limits."""

    __slots__ = ("_before", "_limits")

    def __init__(self, limits: StatementLimits) -> None:
        self._limits = limits
        self._before: StatementLimits | None = None

    def __enter__(self) -> None:
        self._before, _current.limits = _current.limits, self._limits

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.limits = self._before


def look() -> None:
    """Raises QueryCanceled if the statement that this thread runs was cancelled: for loops that take long."""
    limits = _current.limits
    if limits is not None:
        limits.look()


def check_row_size(values: pa.BinaryArray, table: str) -> None:
    """Raises OutOfMemory if one of these encoded rows is too large to be stored in the table."""
    limits = current_limits()
    largest = limits.memory // ROW_FRACTION
    if values.nbytes > largest:
        size = pc.max(pc.binary_length(values)).as_py() or 0
        if size > largest:
            what = f'a row of table "{table}" would take {show_bytes(_rounded(size))}'
            raise OutOfMemory(f"out of memory: {what}; the limit is {show_bytes(_rounded(largest))}", hint=limits.hint)


def check_written(written: int, table: str) -> None:
    """Raises OutOfMemory if all that an epoch has written to the table so far, in bytes, is too much."""
    limits = current_limits()
    if limits.written is not None and written > limits.written:
        what = f'an epoch\'s changes of table "{table}" would take {show_bytes(_rounded(written))}'
        limit = show_bytes(_rounded(limits.written))
        raise OutOfMemory(f"out of memory: {what}; the limit is {limit}", hint=limits.hint)


def works_alone() -> bool:
    """Whether this process only serves one call, and is killed if that takes too long."""
    limits = _current.limits
    return limits is not None and limits.alone


def _rounded(amount: int) -> int:
    """The amount in whole megabytes, for messages."""
    return max(amount >> 20, 1) << 20
