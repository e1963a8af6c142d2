"""Connections whose request has not come yet: one thread watches all of them, until the head of it is there.

A thread for each would let a few hundred clients that send a byte now and then take all places, and their coming and
going would cost more than the requests of others. Here such a client costs a look at its bytes when more have come.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Address: TypeAlias = Any
Ready = Callable[[socket.socket, Address], None]

_HANDSHAKE = 0x16  # how a TLS connection begins (RFC 8446): its head cannot be seen
_ENDS_OF_HEAD = (b"\r\n\r\n", b"\n\n")
_MOST_HEAD = 16 << 10  # bytes; a longer one is read in a thread of its own
_LOOK_SECONDS = 0.25  # how often late clients are sent away
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_HAS_LOW_WATER = sys.platform == "linux"  # a socket tells only of more bytes than a number of them


@dataclass(slots=True)
class _Arriving:
    connection: socket.socket
    address: Address
    deadline: float  # time.monotonic
    seen: int = 0  # bytes


class HttpWaitingRoom:
    """`ready` is called in the room's thread, with each connection whose request's head has come, or a part of it."""

    def __init__(self, name: str, ready: Ready, *, seconds: float, most: int) -> None:
        """At most so many connections wait so long: of more, whoever came first is sent away."""
        self._ready = ready
        self._seconds = seconds
        self._most = most
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._added: deque[_Arriving] = deque()
        self._waiting: dict[socket.socket, _Arriving] = {}  # in the order in which they came
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, connection: socket.socket, address: Address) -> None:
        """A new connection. May be called by any thread."""
        self._added.append(_Arriving(connection, address, time.monotonic() + self._seconds))
        self._wake.send(b"x")

    def close(self) -> None:
        """Closes all connections that wait, and ends the thread. Does nothing the second time."""
        if self._is_closing:
            return
        self._is_closing = True
        self._wake.send(b"x")
        if self._thread.ident is not None:
            self._thread.join()
        self._selector.close()
        self._woken.close()
        self._wake.close()

    def _run(self) -> None:
        while not self._is_closing:
            for key, _ in self._selector.select(_LOOK_SECONDS):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        self._woken.recv(4096)
                else:
                    self._look(key.data)
            while self._added:
                self._take(self._added.popleft())
            self._send_late_away()
        for each in [*self._waiting.values(), *self._added]:
            self._send_away(each)

    def _take(self, new: _Arriving) -> None:
        if len(self._waiting) >= self._most:
            self._send_away(next(iter(self._waiting.values())))
        self._waiting[new.connection] = new
        self._selector.register(new.connection, selectors.EVENT_READ, new)

    def _look(self, waiting: _Arriving) -> None:
        """More has come, or the end."""
        connection = waiting.connection
        try:
            head = connection.recv(_MOST_HEAD, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            head = b""
        if len(head) <= waiting.seen:  # it has ended
            self._send_away(waiting)
        elif (
            head[0] == _HANDSHAKE
            or len(head) >= _MOST_HEAD
            or any(end in head for end in _ENDS_OF_HEAD)
            or not _HAS_LOW_WATER
        ):
            self._forget(waiting)
            self._tell_of(connection, 1)
            try:
                self._ready(connection, waiting.address)
            except RuntimeError:  # there can be no more threads
                self._send_away(waiting)
        else:
            waiting.seen = len(head)
            self._tell_of(connection, len(head) + 1)

    def _tell_of(self, connection: socket.socket, count: int) -> None:
        """The socket is to be readable when it has so many bytes."""
        with contextlib.suppress(OSError):  # its next read says that it has gone
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)

    def _send_late_away(self) -> None:
        now = time.monotonic()
        late = [each for each in self._waiting.values() if each.deadline < now]
        for each in late:
            if each.seen:
                with contextlib.suppress(OSError):  # it reads nothing, or has gone
                    each.connection.send(_TOO_LATE, socket.MSG_DONTWAIT)
            self._send_away(each)

    def _forget(self, waiting: _Arriving) -> None:
        if self._waiting.pop(waiting.connection, None) is not None:
            self._selector.unregister(waiting.connection)

    def _send_away(self, waiting: _Arriving) -> None:
        self._forget(waiting)
        with contextlib.suppress(OSError):
            waiting.connection.shutdown(socket.SHUT_RDWR)
        waiting.connection.close()
