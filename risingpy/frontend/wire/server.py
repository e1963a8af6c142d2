"""The listeners: accept connections, have them served, watch over them, and end them in an orderly way.

    server = WireServer("127.0.0.1", 4566, open_session, door=door)
    server.start()      # listening; server.port says where
    server.stop()       # every client is told 57P01

Threads: one per listening socket that accepts, one that waits for all clients at rest (threads/event_loop.py), one per
client that has requests (threads/workers.py), and a watchman that looks four times a second for startups that take too
long, sessions that idle too long, and clients that vanished while their statement runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from buenavista.core import Connection as BackendConnection
from buenavista.postgres import BuenaVistaServer

from risingpy.errors import AdminShutdown
from risingpy.frontend.authentication.applicant import Applicant, Dialogue
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.wire.connection import Connection
from risingpy.frontend.wire.limits import Limits, LoggedConnections
from risingpy.frontend.wire.open_connections import OpenConnections
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.threads.event_loop import EventLoop
from risingpy.frontend.wire.threads.workers import Workers
from risingpy.frontend.wire.tls import ServerTls

_log = logging.getLogger(__name__)

WORKER_THREADS = "wire-worker"  # their name
_WATCH_SECONDS = 0.25
_SOCKET_MODE = 0o700  # only the server's own user, and root, may connect


class CannotListen(OSError):
    """The server cannot listen on the address: it is in use, not ours, or not permitted. The operator must act."""


class Gate(Protocol):
    """Decides who may have a session."""

    def let_in(self, applicant: Applicant, dialogue: Dialogue) -> None:
        """Returns if the client may have one; else raises the SqlError that it is told."""


class WireServer:
    """Speaks the PostgreSQL protocol on a TCP port. `open_session` makes a client's session, or raises a SqlError.

    Without a `door` everybody is let in. `socket_directory` is where the Unix socket is (None: there is none). `tls`
    may be replaced at any time: connections that come later have it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        open_session: Callable[[StartupParameters], Session],
        *,
        limits: Limits | None = None,
        door: Gate | None = None,
        tls: ServerTls | None = None,
        socket_directory: Path | None = None,
        logged: LoggedConnections | None = None,
    ) -> None:
        self.tls = tls
        self._address = (host, port)
        self._open_session = open_session
        self._limits = limits or Limits()
        self._door = door
        self._socket_directory = socket_directory
        self._open = OpenConnections(self._limits)
        self._logged = logged or LoggedConnections()
        self._workers = Workers(WORKER_THREADS, self._limits.idle_worker)
        self._loop = EventLoop(self._workers.run)
        self._listeners: list[_Listener] = []
        self._threads: list[threading.Thread] = []
        self._stopped = threading.Event()

    @property
    def port(self) -> int:
        """The port in use; the one chosen by the system if 0 was asked for. Only after `start`."""
        port: int = self._listeners[0].server_address[1]
        return port

    @property
    def socket_path(self) -> Path | None:
        """Of the Unix socket. Only after `start`."""
        return None if self._socket_directory is None else self._socket_directory / f".s.PGSQL.{self.port}"

    def start(self) -> None:
        """Listens; raises CannotListen. Returns at once."""
        host, port = self._address
        try:
            family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
            self._listeners.append(self._listener((host, port), family))
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotListen(error.errno, f"could not listen on {host or '*'}:{port}: {reason}") from None
        path = self.socket_path
        if path is not None:
            try:
                _remove_stale(path)
                self._listeners.append(self._listener(str(path), socket.AF_UNIX))
            except OSError as error:
                self._listeners.pop().server_close()
                message = f"could not create Unix-domain socket {path}: {error.strerror or error}"
                raise CannotListen(error.errno, message) from None
        self._threads = [
            *(
                threading.Thread(target=each.serve_forever, args=(0.1,), name="wire-accept", daemon=True)
                for each in self._listeners
            ),
            threading.Thread(target=self._watch, name="wire-watch", daemon=True),
        ]
        self._loop.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Closes the port, ends every connection with 57P01, and waits for them (`Limits.shutdown_grace`)."""
        if not self._listeners or self._stopped.is_set():
            return
        self._stopped.set()
        self._open.closing = True
        path = self.socket_path
        for listener in self._listeners:
            listener.shutdown()
            listener.server_close()
        if path is not None:
            path.unlink(missing_ok=True)
        for connection in self._open.all():
            connection.terminate(AdminShutdown("terminating connection due to administrator command"))
        if not self._open.wait_until_empty(self._limits.shutdown_grace):
            for connection in self._open.all():
                connection.shut(socket.SHUT_RDWR)
            self._open.wait_until_empty(1.0)
        self._loop.stop()
        for thread in self._threads:
            thread.join(timeout=2.0)

    def _listener(self, address: tuple[str, int] | str, family: socket.AddressFamily) -> _Listener:
        shared = _OfServer(
            self._open,
            self._open_session,
            self._door,
            lambda: self.tls,
            self._logged,
            self._loop,
            self._workers,
        )
        return _Listener(address, family, shared)

    def _watch(self) -> None:
        while not self._stopped.wait(_WATCH_SECONDS):
            try:
                self._open.look_after(time.monotonic())
            except Exception:
                _log.exception("the watchman stumbled")


def _remove_stale(path: Path) -> None:
    """Removes the socket of a server that was killed. Raises OSError if a server answers there."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
    raise OSError(98, "another server uses it")


class _Backend(BackendConnection):  # type: ignore[misc]  # buenavista has no types
    """What buenavista calls a connection to the engine: unused, as sessions are opened by `open_session`."""


@dataclass(frozen=True, slots=True)
class _OfServer:
    """What the listeners of a server share."""

    open: OpenConnections
    open_session: Callable[[StartupParameters], Session]
    door: Gate | None
    tls: Callable[[], ServerTls | None]
    logged: LoggedConnections
    loop: EventLoop
    workers: Workers


class _Listener(BuenaVistaServer):  # type: ignore[misc]
    """buenavista's server with our handler, on a TCP port or a Unix socket."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int] | str,
        family: socket.AddressFamily,
        shared: _OfServer,
    ) -> None:
        self.address_family = family
        self.open = shared.open
        self.limits = shared.open.limits
        self.open_session = shared.open_session
        self.door = shared.door
        self.tls = shared.tls
        self.logged = shared.logged
        self.loop = shared.loop
        self._workers = shared.workers
        super().__init__(address, _Backend())
        self.RequestHandlerClass = Connection

    def server_bind(self) -> None:
        if self.address_family == socket.AF_UNIX:
            os.fchmod(self.socket.fileno(), _SOCKET_MODE)  # the mode with which Linux makes the file
        super().server_bind()

    def verify_request(self, request: object, client_address: object) -> bool:
        """Accepts every client; buenavista would accept only local ones. The door decides who stays."""
        self.open.make_room()
        return True

    def process_request(self, request: socket.socket, client_address: tuple[str, int] | str) -> None:
        """Has the connection served, not in this thread."""
        self._workers.run(Connection(request, client_address, self).serve)

    def handle_error(self, request: object, client_address: object) -> None:
        _log.exception("a connection's thread failed")
