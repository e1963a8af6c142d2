"""The state of a connection, and since when it has it: the rules for timeouts and cancelling. No I/O.

The caller gives the times, in seconds of any monotonic clock. Safe to use from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto

from risingpy.frontend.wire.limits import Limits


class Due(Enum):
    """What the watchman must do about a connection."""

    NOTHING = auto()
    CUT = auto()  # its startup takes too long
    LOOK = auto()  # a statement runs: it is cancelled if its client has gone
    REST = auto()  # all is answered: the session knows whether it may stay


class Activity:
    """The activity of one connection: it starts up, and is then busy with its client's requests or at rest."""

    def __init__(self, now: float) -> None:
        self._lock = threading.Lock()
        self._since = now
        self._started = False
        self._busy = False

    def start(self, now: float) -> None:
        """The session is open."""
        with self._lock:
            self._started, self._since = True, now

    def work(self) -> None:
        """A message has begun to arrive."""
        with self._lock:
            self._busy = True

    def rest(self, now: float, forget_cancel: Callable[[], None] | None = None) -> None:
        """All requests are answered. Calls `forget_cancel` before any thread can cancel the next one."""
        with self._lock:
            self._busy, self._since = False, now
            if forget_cancel is not None:
                forget_cancel()

    def cancel(self, cancel: Callable[[], None]) -> None:
        """Calls `cancel` if the connection is busy; if it is not, there is nothing to cancel."""
        with self._lock:
            if self._busy:
                cancel()

    def due(self, now: float, limits: Limits) -> Due:
        """What the watchman must do about the connection now."""
        with self._lock:
            if not self._started:
                return Due.CUT if now - self._since > limits.startup_timeout else Due.NOTHING
            if self._busy:
                return Due.LOOK
            return Due.REST

    def rest_seconds(self, now: float) -> float:
        """How long the connection has been at rest; 0 if it is busy."""
        with self._lock:
            return 0.0 if self._busy else now - self._since
