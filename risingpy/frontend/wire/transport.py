"""The bytes of a connection, plain or within TLS. The rest of the wire does not know which.

A TLS socket has read more of the network than it has given: whether bytes wait cannot be seen at the socket alone.
"""

from __future__ import annotations

import contextlib
import pwd
import socket
import ssl
import struct
from collections.abc import Sequence
from typing import IO

from risingpy.sockets import is_readable, receive_at_once, send_at_once

WRITE_BUFFER_BYTES = 1 << 16
RECORD_BYTES = 1 << 14  # the most that a record of TLS has: a read gives no more, and takes memory for all it asks
_KEEPALIVES = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")  # as systems have them
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class Transport:
    """A connected socket. Only the thread that serves the connection reads and writes; any thread may call `shut`."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @property
    def socket(self) -> socket.socket:
        return self._socket

    def receive(self, size: int) -> bytes:
        """At most `size` bytes, as soon as there are any; b"" at the end."""
        return self._socket.recv(size)

    def receive_now(self, size: int) -> bytes:
        """Likewise, but raises BlockingIOError if there are none yet."""
        return self._socket.recv(size, socket.MSG_DONTWAIT)

    def park(self) -> None:
        """From now on `receive_parked` and `send_parked` are used, which never block."""

    def unpark(self) -> None:
        """From now on the others are used."""

    def receive_parked(self) -> bytes:
        """As `receive_now`, some kilobytes at most."""
        return receive_at_once(self._socket)

    def send_parked(self, data: bytes) -> int:
        """Sends what the system takes at once; returns how many bytes that were."""
        return send_at_once(self._socket, data)

    @property
    def holds_bytes(self) -> bool:
        """Whether bytes can be received that the system does not know of."""
        return False

    def has_more(self, milliseconds: int) -> bool:
        """Waits for bytes, or the end, so long; False if nothing has come."""
        return is_readable(self._socket, milliseconds / 1000)

    def writer(self) -> IO[bytes]:
        """A buffered file for what is sent."""
        writer: IO[bytes] = self._socket.makefile("wb", WRITE_BUFFER_BYTES)  # type: ignore[assignment]
        return writer

    def shut(self, how: int) -> None:
        """Wakes the thread that reads (SHUT_RD), or reads and writes (SHUT_RDWR)."""
        with contextlib.suppress(OSError):  # closed already
            # Not SSLSocket.shutdown, which would make a plain socket of it under the thread that uses it.
            socket.socket.shutdown(self._socket, how)

    def close(self) -> None:
        """After the last bytes."""


class TlsTransport(Transport):
    """A socket whose TLS handshake has been done."""

    def __init__(self, connected: ssl.SSLSocket) -> None:
        super().__init__(connected)
        self._tls = connected

    def receive(self, size: int) -> bytes:
        try:
            return self._tls.recv(min(size, RECORD_BYTES))
        except ssl.SSLError as error:
            raise ConnectionError(str(error)) from None

    def receive_now(self, size: int) -> bytes:
        if not self.has_more(0):
            raise BlockingIOError
        self._tls.setblocking(False)
        try:
            return self._tls.recv(min(size, RECORD_BYTES))
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None  # a part of a record
        except ssl.SSLError as error:
            raise ConnectionError(str(error)) from None
        finally:
            self._tls.setblocking(True)

    def park(self) -> None:
        self._tls.setblocking(False)

    def unpark(self) -> None:
        self._tls.setblocking(True)

    def receive_parked(self) -> bytes:
        try:
            return self._tls.recv(RECORD_BYTES)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None  # a part of a record

    def send_parked(self, data: bytes) -> int:
        try:
            return self._tls.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    @property
    def holds_bytes(self) -> bool:
        return bool(self._tls.pending())

    def has_more(self, milliseconds: int) -> bool:
        return self.holds_bytes or super().has_more(milliseconds)

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the client may have gone
            self._tls.setblocking(False)
            self._tls.unwrap()  # says goodbye, and does not wait for the client's
        self._tls.close()


def peer_name(connected: socket.socket) -> str | None:
    """The operating system's user at the other end of a Unix socket; None if it has no name."""
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return user_name(_CREDENTIALS.unpack(raw)[1])


def user_name(user_id: int) -> str | None:
    """The name of a user of the operating system."""
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return None


class Keepalives:
    """How soon a connection whose client does not answer is given up. Of one that is not TCP it means nothing.

    The socket has SO_KEEPALIVE. The values are those of the session's tcp_keepalives_… and tcp_user_timeout.
    """

    def __init__(self, client: socket.socket) -> None:
        names = () if client.family == socket.AF_UNIX else _KEEPALIVES
        options = [getattr(socket, name, None) for name in names]  # not all systems have all of them
        self._defaults = [
            (each, 0 if each is None else client.getsockopt(socket.IPPROTO_TCP, each)) for each in options
        ]
        self._asked: Sequence[int] = (0,) * len(_KEEPALIVES)

    def ask(self, client: socket.socket, values: Sequence[int]) -> None:
        """Seconds before the first probe, between two, how many; milliseconds for unacknowledged data. 0: the system's.

        `client` is the same socket, perhaps with TLS. What the system refuses, it does as before.
        """
        if values == self._asked:
            return
        self._asked = values
        for (option, default), value in zip(self._defaults, values, strict=False):
            if option is not None:
                with contextlib.suppress(OSError):  # the client is gone, or the system takes no such value
                    client.setsockopt(socket.IPPROTO_TCP, option, value or default)
