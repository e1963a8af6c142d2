"""Waits for all clients that are at rest, in one thread: a connection has a thread only while it has work.

    loop = EventLoop(workers)
    loop.start()
    loop.park(connection)   # connection.wake() is called in the loop's thread when its client has sent something

A connection is parked only if nothing of it depends on a thread: no request is half answered, and no transaction is
open, whose locks belong to the thread that took them.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Protocol

_log = logging.getLogger(__name__)

_NO_THREAD_SECONDS = 0.05
_EVENTS = select.EPOLLIN | select.EPOLLRDHUP


class Parked(Protocol):
    """A connection, as the loop sees it."""

    def fileno(self) -> int:
        """The descriptor of its socket."""

    def wake(self) -> bool:
        """Bytes have come, or the end. Never blocks and never raises. False: a thread must serve it from now on."""

    def serve(self) -> None:
        """Serves it in a thread of its own until it parks again, or ends."""


class EventLoop:
    """`park` is for any thread."""

    def __init__(self, run: Callable[[Callable[[], None]], None]) -> None:
        """`run` has a thread do some work."""
        self._run = run
        self._parked: dict[int, Parked] = {}
        self._thread = threading.Thread(target=self._loop, name="wire-loop", daemon=True)

    def start(self) -> None:
        """Begins to wait."""
        self._epoll = select.epoll()
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._epoll.register(self._end, select.EPOLLIN)
        self._thread.start()

    def stop(self) -> None:
        """Waits for nobody any more. Connections that are still parked are left as they are."""
        if self._thread.is_alive():
            os.eventfd_write(self._end, 1)
            self._thread.join(timeout=2.0)

    def park(self, connection: Parked) -> None:
        """The connection belongs to the loop until its client says something."""
        descriptor = connection.fileno()
        self._parked[descriptor] = connection
        self._epoll.register(descriptor, _EVENTS)

    def _loop(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._end:
                    self._epoll.close()
                    os.close(self._end)
                    return
                connection = self._parked[descriptor]
                if not connection.wake():
                    self._epoll.unregister(descriptor)
                    del self._parked[descriptor]
                    self._hand_over(connection)

    def _hand_over(self, connection: Parked) -> None:
        try:
            self._run(connection.serve)
        except RuntimeError:  # the system gives no more threads: all wait a moment for one
            _log.exception("no thread for a connection")
            self.park(connection)
            time.sleep(_NO_THREAD_SECONDS)
