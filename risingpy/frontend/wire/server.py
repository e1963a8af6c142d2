"""The listener: accepts connections, gives each a thread, watches over them, and ends them in an orderly way.

    server = WireServer("127.0.0.1", 4566, open_session)
    server.start()      # listening; server.port says where
    server.stop()       # every client is told 57P01

Threads: one that accepts, one per connection, and a watchman that looks four times a second for startups that take too
long, sessions that idle too long, and clients that vanished while their statement runs.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable

from buenavista.core import Connection as BackendConnection
from buenavista.postgres import BuenaVistaServer

from risingpy.errors import AdminShutdown, CannotConnectNow, SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.wire.activity import Due
from risingpy.frontend.wire.connection import Connection
from risingpy.frontend.wire.limits import Limits
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.startup import CancelRequest

_log = logging.getLogger(__name__)

_WATCH_SECONDS = 0.25
_UNADMITTED_SPARE = 64  # sockets above max_connections: for CancelRequests, and to tell clients that the server is full


class CannotListen(OSError):
    """The server cannot listen on the address: it is in use, not ours, or not permitted. The operator must act."""


class WireServer:
    """Speaks the PostgreSQL protocol on a TCP port. `open_session` makes a client's session, or raises a SqlError."""

    def __init__(
        self,
        host: str,
        port: int,
        open_session: Callable[[StartupParameters], Session],
        *,
        limits: Limits | None = None,
    ) -> None:
        self._address = (host, port)
        self._open_session = open_session
        self._limits = limits or Limits()
        self._listener: _Listener | None = None
        self._threads: list[threading.Thread] = []
        self._stopped = threading.Event()

    @property
    def port(self) -> int:
        """The port in use; the one chosen by the system if 0 was asked for. Only after `start`."""
        assert self._listener is not None
        port: int = self._listener.server_address[1]
        return port

    def start(self) -> None:
        """Listens; raises CannotListen. Returns at once."""
        host, port = self._address
        try:
            family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
            self._listener = _Listener((host, port), family, self._open_session, self._limits)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotListen(error.errno, f"could not listen on {host or '*'}:{port}: {reason}") from None
        self._threads = [
            threading.Thread(target=self._listener.serve_forever, args=(0.1,), name="wire-accept", daemon=True),
            threading.Thread(target=self._watch, args=(self._listener,), name="wire-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Closes the port, ends every connection with 57P01, and waits for them (`Limits.shutdown_grace`)."""
        listener = self._listener
        if listener is None or self._stopped.is_set():
            return
        self._stopped.set()
        listener.closing = True
        listener.shutdown()
        listener.server_close()
        for connection in listener.connections():
            connection.terminate(AdminShutdown("terminating connection due to administrator command"))
        if not listener.wait_until_empty(self._limits.shutdown_grace):
            for connection in listener.connections():
                connection.shut(socket.SHUT_RDWR)
            listener.wait_until_empty(1.0)
        for thread in self._threads:
            thread.join(timeout=2.0)

    def _watch(self, listener: _Listener) -> None:
        while not self._stopped.wait(_WATCH_SECONDS):
            try:
                listener.look_after(time.monotonic())
            except Exception:
                _log.exception("the watchman stumbled")


class _Backend(BackendConnection):  # type: ignore[misc]  # buenavista has no types
    """What buenavista calls a connection to the engine: unused, as sessions are opened by `_Listener.open_session`."""


class _Listener(BuenaVistaServer):  # type: ignore[misc]
    """buenavista's server with our handler, a registry of connections, and an orderly end."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int],
        family: socket.AddressFamily,
        open_session: Callable[[StartupParameters], Session],
        limits: Limits,
    ) -> None:
        self.address_family = family
        self.limits = limits
        self.closing = False
        self._make_session = open_session
        self._lock = threading.Condition()
        self._connections: dict[Connection, int] = {}  # → process id, 0 before startup is done
        super().__init__(address, _Backend())
        self.RequestHandlerClass = Connection

    def verify_request(self, request: object, client_address: object) -> bool:
        """Accepts every client; buenavista would accept only local ones. The listening address is the limit."""
        with self._lock:
            return len(self._connections) < self.limits.max_connections + _UNADMITTED_SPARE

    def handle_error(self, request: object, client_address: object) -> None:
        _log.exception("a connection's thread failed")

    # Called by connections

    def register(self, connection: Connection) -> None:
        with self._lock:
            self._connections[connection] = 0

    def unregister(self, connection: Connection) -> None:
        with self._lock:
            self._connections.pop(connection, None)
            self._lock.notify_all()

    def admit(self, connection: Connection) -> None:
        """Raises the client's error if its connection cannot be served: too many clients, or the server stops."""
        if self.closing:
            raise CannotConnectNow("the database system is shutting down")
        with self._lock:
            others = sum(1 for process_id in self._connections.values() if process_id)
        if others >= self.limits.max_connections:
            raise SqlError("sorry, too many clients already", sqlstate="53300")

    def new_process_id(self, connection: Connection) -> int:
        """An id of BackendKeyData: positive, and no other connection's."""
        with self._lock:
            taken = set(self._connections.values())
            while (process_id := secrets.randbelow(2**31 - 1) + 1) in taken:
                pass
            self._connections[connection] = process_id
            return process_id

    def open_session(self, parameters: StartupParameters) -> Session:
        return self._make_session(parameters)

    def cancel(self, request: CancelRequest) -> None:
        """Cancels the statement of another connection. Ignores a wrong key, as the protocol demands."""
        with self._lock:
            found = [connection for connection, known in self._connections.items() if known == request.process_id]
        for connection in found:
            if connection.has_key(request.secret_key):
                connection.cancel()

    # Called by WireServer

    def connections(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)

    def wait_until_empty(self, seconds: float) -> bool:
        with self._lock:
            return self._lock.wait_for(lambda: not self._connections, seconds)

    def look_after(self, now: float) -> None:
        """One round of the watchman."""
        for connection in self.connections():
            match connection.activity.due(now, self.limits):
                case Due.CUT:
                    connection.shut(socket.SHUT_RDWR)
                case Due.LOOK if connection.has_hung_up():
                    connection.cancel()
                case Due.REST if connection.session is not None:
                    end = connection.session.idle_end(connection.activity.rest_seconds(now))
                    if end is not None:
                        connection.terminate(end)
