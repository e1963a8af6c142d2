"""Waiting for sockets, and reading and writing what is there at once.

`select()` waits only for descriptors below 1,024; `poll()`, here, for all.

Python's own `recv` and `send` give the interpreter's lock up around each call, also around those that cannot wait. Who
has given it up while other threads compute waits for it again, a switch interval for each of them: 0.5 ms and more for
a call of 5 µs. `receive_at_once` and `send_at_once` keep the lock. They are for the thread that answers short
statements of all connections: beside heavy queries its answers come three times sooner at the 99th percentile.
"""

from __future__ import annotations

import ctypes
import select
import socket
import threading

MOST_BYTES = 1 << 16  # of a call: copying so much takes some microseconds


def is_readable(connected: socket.socket | int, seconds: float) -> bool:
    """Waits until something can be read or the other end has closed; False if nothing came in `seconds`."""
    poller = select.poll()
    poller.register(connected, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def has_hung_up(connected: socket.socket) -> bool:
    """True if the client has closed its end (Linux). False for a socket that is closed on this side."""
    poller = select.poll()
    try:
        poller.register(connected, select.POLLRDHUP)
        return bool(poller.poll(0))
    except (OSError, ValueError):
        return False


def receive_at_once(connected: socket.socket) -> bytes:
    """At most `MOST_BYTES` that have come; b"" at the end. BlockingIOError if there are none; OSError as of `recv`."""
    if _CALLS is not None:
        received = _CALLS.recv(connected.fileno(), _BUFFER.address, MOST_BYTES, _CALLS.receive_flags)
        if received >= 0:
            return bytes(_BUFFER.bytes[:received])
    return connected.recv(MOST_BYTES, socket.MSG_DONTWAIT)  # which knows why there is nothing, and says it


def send_at_once(connected: socket.socket, data: bytes) -> int:
    """Sends what the system takes now of the bytes; returns how many those were. OSError as of `send`."""
    if _CALLS is not None and len(data) <= MOST_BYTES:
        sent: int = _CALLS.send(connected.fileno(), data, len(data), _CALLS.send_flags)
        if sent >= 0:
            return sent
    try:
        return connected.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


class _SystemCalls:
    """The C library's `recv` and `send`, called with the interpreter's lock."""

    def __init__(self, library: ctypes.PyDLL) -> None:
        descriptor, size, flags = ctypes.c_int, ctypes.c_size_t, ctypes.c_int
        self.recv, self.send = library.recv, library.send
        self.recv.argtypes = (descriptor, ctypes.c_void_p, size, flags)
        self.send.argtypes = (descriptor, ctypes.c_char_p, size, flags)
        self.recv.restype = self.send.restype = ctypes.c_ssize_t
        self.receive_flags = int(socket.MSG_DONTWAIT)  # plain numbers: members of an enumeration take a microsecond
        self.send_flags = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


class _Buffer(threading.local):
    """Of a thread: the lock may pass to another one between a call and the look at its bytes."""

    def __init__(self) -> None:
        buffer = ctypes.create_string_buffer(MOST_BYTES)
        self.bytes, self.address = memoryview(buffer).cast("B"), ctypes.addressof(buffer)


def _found_calls() -> _SystemCalls | None:
    """None where the process hides its C library's functions, or the system has no such flags."""
    try:
        return _SystemCalls(ctypes.PyDLL(None)) if hasattr(socket, "MSG_NOSIGNAL") else None
    except (AttributeError, OSError, TypeError):
        return None


_CALLS = _found_calls()
_BUFFER = _Buffer()
