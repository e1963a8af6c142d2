"""Changes of the graph that wait for the end of the running epoch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Protocol

from risingpy.errors import CannotConnectNow, QueryCanceled
from risingpy.meta.epochs.waiters import WAIT_SLICE_SECONDS, Waiters
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import TableChange
from risingpy.meta.writing.row_keys import RowKey

GraphChange = Callable[[MetaState], MetaState]
NoticedChange = Callable[[MetaState], tuple[MetaState, Sequence[str]]]  # with what the client is told


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Rows that are to become durable together with a change, as `DmlLog.append` takes them."""

    changes: Sequence[TableChange] = ()
    keys: Sequence[Sequence[RowKey] | None] = ()


NO_ROWS = LoggedRows()


@dataclass(frozen=True, slots=True)
class SubmittedChange:
    """A change that waits for the barrier loop."""

    change: GraphChange
    rows: LoggedRows
    future: Future[MetaState]


class ComputeAgain(Exception):
    """Raised by a change that was computed on another state: its statement calls `compute` and submits it again."""

    def __init__(self, compute: Callable[[], None]) -> None:
        super().__init__()
        self.compute = compute


class TakesChanges(Protocol):
    """What applies changes: the loop for everybody, or a draft for one transaction."""

    def apply(self, change: GraphChange, cancelled: threading.Event | None = None) -> MetaState: ...

    def submit(self, change: GraphChange) -> Future[MetaState]: ...


class GraphChanges:
    """A queue of changes. Statements' threads add them, the barrier loop's thread takes them in their order.

    The waiters' `changed` guards the queue.
    """

    def __init__(self, waiters: Waiters) -> None:
        self._waiters = waiters
        self._changed = waiters.changed
        self._waiting: deque[SubmittedChange] = deque()

    # For statements

    def apply(
        self, change: GraphChange, cancelled: threading.Event | None = None, rows: LoggedRows = NO_ROWS
    ) -> MetaState:
        """Has `change` applied between two epochs, durably and with its rows, and returns the state after it.

        Raises QueryCanceled if it is cancelled while it waits for the running epoch; it is not applied then.
        """
        while True:
            future = self.submit(change, rows)
            while not future.done():
                if cancelled is not None and cancelled.is_set() and self._withdraw(future):
                    raise QueryCanceled("canceling statement due to user request")
                wait((future,), None if cancelled is None else WAIT_SLICE_SECONDS)
            try:
                return future.result()
            except ComputeAgain as again:
                again.compute()

    def submit(self, change: GraphChange, rows: LoggedRows = NO_ROWS) -> Future[MetaState]:
        """As `apply`, without waiting: it will be applied before every change that is submitted later."""
        with self._changed:
            self._waiters.refuse_if_down()
            future: Future[MetaState] = Future()
            self._waiting.append(SubmittedChange(change, rows, future))
            self._changed.notify_all()
        return future

    def _withdraw(self, future: Future[MetaState]) -> bool:
        """Removes a change from the queue; False if the loop has already taken it."""
        with self._changed:
            for entry in self._waiting:
                if entry.future is future:
                    self._waiting.remove(entry)
                    return True
        return False

    # For the barrier loop

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> SubmittedChange | None:
        """Removes and returns the next change; None if there is none."""
        with self._changed:
            return self._waiting.popleft() if self._waiting else None

    def refuse(self, reason: str) -> None:
        """There will be no more epochs: all waiting changes fail with `reason`."""
        with self._changed:
            while self._waiting:
                self._waiting.popleft().future.set_exception(CannotConnectNow(reason))
