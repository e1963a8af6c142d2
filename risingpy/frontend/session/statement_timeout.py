"""statement_timeout: cancels a statement whose reading, binding, running and fetching together take too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType

import pyarrow as pa

from risingpy.errors import QueryCanceled


class Deadline:
    """One statement's deadline: a context manager around each phase of its work; `over` guards the rows read later.

    The time between the phases is not counted, nor the time in which the client reads the rows.
    """

    def __init__(self, milliseconds: int, cancel: Callable[[], None]) -> None:
        """`milliseconds` 0 means no limit. `cancel` is called from another thread when the time is over."""
        self._left = milliseconds / 1000
        self.is_limited = milliseconds > 0  # if not, `over` only costs time
        self._cancel = cancel
        self._timer: threading.Timer | None = None
        self._started = 0.0
        self._expired = False
        self._depth = 0  # phases nest: EXECUTE binds another statement, and so does DECLARE
        self._guard = threading.Lock()  # so that a timer that fires as its phase ends does not cancel the next one

    def __enter__(self) -> Deadline:
        self._depth += 1
        if self.is_limited and self._depth == 1:
            self._started = time.monotonic()
            self._timer = threading.Timer(max(self._left, 0), self._expire)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        with self._guard:
            timer, self._timer = self._timer, None
        if timer is None:
            return
        timer.cancel()
        self._left -= time.monotonic() - self._started
        if self._expired and isinstance(error, QueryCanceled):
            raise QueryCanceled("canceling statement due to statement timeout") from None

    def over(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; the clock runs while one is computed."""
        try:
            while True:
                with self:
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()

    def _expire(self) -> None:
        with self._guard:
            if self._timer is threading.current_thread():
                self._expired = True
                self._cancel()
