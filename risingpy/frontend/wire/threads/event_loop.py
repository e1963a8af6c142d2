"""Waits for all clients that are at rest, in one thread: a connection has a thread only while it has work.

    loop = EventLoop(workers)
    loop.start()
    loop.park(connection)   # connection.wake() is called in the loop's thread when its client has sent something
    loop.resume(connection)()   # connection.resumed() is called there, soon
    loop.nudge(connection)()    # connection.notified() is called there, soon, if it is parked then

A connection is parked only if no request of it is half answered. A transaction may be open: its locks belong to its
session.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol, assert_never

_log = logging.getLogger(__name__)

_NO_THREAD_SECONDS = 0.05
_EVENTS = select.EPOLLIN | select.EPOLLRDHUP


class Next(Enum):
    """What the loop does with a connection that it has woken."""

    REST = auto()  # wait for its client
    WAIT = auto()  # do not look at its client before the connection is resumed
    SERVE = auto()  # have a thread serve it


class Parked(Protocol):
    """A connection, as the loop sees it."""

    def fileno(self) -> int:
        """The descriptor of its socket."""

    def wake(self) -> Next:
        """Bytes have come, or the end. Never blocks and never raises."""

    def resumed(self) -> Next:
        """Somebody has had it resumed. Likewise."""

    def notified(self) -> Next:
        """There may be something to tell its client, although that has said nothing. Likewise."""

    def serve(self) -> None:
        """Serves it in a thread of its own until it parks again, or ends."""


class EventLoop:
    """`park`, `resume` and `nudge` are for any thread, `soon` for the loop's own."""

    def __init__(self, run: Callable[[Callable[[], None]], None]) -> None:
        """`run` has a thread do some work."""
        self._run = run
        self._parked: dict[int, Parked] = {}
        self._deaf: set[int] = set()  # the parked ones that wait for `resume` only
        self._resumed: deque[Parked] = deque()
        self._nudged: deque[Parked] = deque()
        self._at_end: set[Callable[[], None]] = set()  # of this turn
        self._thread = threading.Thread(target=self._loop, name="wire-loop", daemon=True)

    def start(self) -> None:
        """Begins to wait."""
        self._epoll = select.epoll()
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._end, select.EPOLLIN)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._thread.start()

    def stop(self) -> None:
        """Waits for nobody any more. Connections that are still parked are left as they are."""
        if self._thread.is_alive():
            os.eventfd_write(self._end, 1)
            self._thread.join(timeout=2.0)

    def park(self, connection: Parked) -> None:
        """The connection belongs to the loop until its client says something."""
        descriptor = connection.fileno()
        self._epoll.register(descriptor, _EVENTS)  # what comes now is seen again, once the connection is known
        self._parked[descriptor] = connection

    def resume(self, connection: Parked) -> Callable[[], None]:
        """The loop goes on with the parked connection when what this returns has been called, once for many."""
        self._resumed.append(connection)
        return self._ring

    def nudge(self, connection: Parked) -> Callable[[], None]:
        """As `resume`, for a connection that may be anybody's: the loop only looks after it if it is parked then."""
        self._nudged.append(connection)
        return self._ring

    def soon(self, call: Callable[[], None]) -> None:
        """Calls it, once, when the loop has woken all whose clients have said something in the meantime."""
        self._at_end.add(call)

    def _ring(self) -> None:
        os.eventfd_write(self._bell, 1)

    def _loop(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._end:
                    self._epoll.close()
                    os.close(self._end)
                    os.close(self._bell)
                    return
                if descriptor == self._bell:
                    os.eventfd_read(self._bell)
                    self._go_on()
                elif descriptor in self._parked:  # it may have been handed over just now, for another reason
                    connection = self._parked[descriptor]
                    self._leave(connection, connection.wake())
            if self._at_end:
                calls, self._at_end = self._at_end, set()
                for call in calls:
                    call()

    def _go_on(self) -> None:
        for _ in range(len(self._resumed)):
            connection = self._resumed.popleft()
            self._leave(connection, connection.resumed())
        for _ in range(len(self._nudged)):
            connection = self._nudged.popleft()
            if self._parked.get(connection.fileno()) is connection:
                self._leave(connection, connection.notified())

    def _leave(self, connection: Parked, then: Next) -> None:
        """Does what is next with a connection."""
        descriptor = connection.fileno()
        is_deaf = descriptor in self._deaf
        match then:
            case Next.REST:
                if is_deaf:
                    self._deaf.remove(descriptor)
                    self._epoll.register(descriptor, _EVENTS)
            case Next.WAIT:
                if not is_deaf:
                    self._deaf.add(descriptor)
                    self._epoll.unregister(descriptor)
            case Next.SERVE:
                if is_deaf:
                    self._deaf.remove(descriptor)
                else:
                    self._epoll.unregister(descriptor)
                del self._parked[descriptor]
                self._hand_over(connection)
            case _:
                assert_never(then)

    def _hand_over(self, connection: Parked) -> None:
        try:
            self._run(connection.serve)
        except RuntimeError:  # the system gives no more threads: all wait a moment for one
            _log.exception("no thread for a connection")
            self.park(connection)
            time.sleep(_NO_THREAD_SECONDS)
