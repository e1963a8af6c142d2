"""An HTTP listener with limits: a thread a request, so many of them, and so much time for each request.

With a certificate, clients may begin with TLS on the same port. The door decides who may ask.

A request must arrive whole in time, however slowly its bytes come. A connection has a thread, and a place, when the
head of its first request is there (`http_waiting_room`); an idle one is closed after that time, or sooner if its place
is needed.
Webhooks and monitoring each have one, with a handler class of their own.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from risingpy.errors import SqlError
from risingpy.frontend.authentication.door import INVALID_PASSWORD
from risingpy.frontend.authentication.http_door import CredentialsNeeded, HttpClient, HttpDoor, TooManyTries
from risingpy.frontend.http_waiting_room import HttpWaitingRoom
from risingpy.frontend.wire.tls import ServerTls, common_name
from risingpy.plan.catalog import BOOTSTRAP_NAME

_log = logging.getLogger(__name__)

_HANDSHAKE = b"\x16"  # how a TLS connection begins (RFC 8446)
_LOOK_SECONDS = 0.25  # how often the listener looks for slow clients
_WAITING_PER_PLACE = 4
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class HttpListener(ThreadingHTTPServer):
    """Listens on a TCP port; port 0 lets the system choose. `served` is for the handlers: what they serve."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[HttpHandler],
        served: Any,
        *,
        purpose: str,
        request_seconds: float,
        most_connections: int,
    ) -> None:
        """Raises OSError, whose text names the address and the purpose."""
        self.served = served
        self.door: HttpDoor | None = None  # None: everybody may ask
        self.tls: Callable[[], ServerTls | None] = lambda: None
        self._encrypted: dict[socket.socket, ssl.SSLSocket] = {}
        self._request_seconds = request_seconds
        self._most_connections = most_connections
        self._guard = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}  # infinite while a whole request is being worked on
        try:
            super().__init__(address, handler)
        except OSError as error:
            host, port = address
            raise OSError(error.errno, f"could not listen on {host}:{port} for {purpose}: {error.strerror}") from None
        self._waiting = HttpWaitingRoom(
            f"{purpose}-waiting", self._serve, seconds=request_seconds, most=_WAITING_PER_PLACE * most_connections
        )
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_LOOK_SECONDS,), name=f"{purpose}-accept", daemon=True
        )

    @property
    def port(self) -> int:
        """The port in use."""
        port: int = self.server_address[1]
        return port

    def start(self) -> None:
        """Begins to accept connections. Returns at once."""
        self._waiting.start()
        self._thread.start()

    def stop(self) -> None:
        """Accepts no more requests. One that is being written is answered, or its sender sees the connection end."""
        self.shutdown()
        self.server_close()
        self._thread.join()
        self._waiting.close()

    # Called by handlers

    def waits_for_request(self, connection: socket.socket) -> None:
        """From now on, the client's time for a request counts."""
        with self._guard:
            self._deadlines[connection] = time.monotonic() + self._request_seconds

    def has_request(self, connection: socket.socket) -> None:
        """The request is whole: the client's time counts no longer."""
        with self._guard:
            self._deadlines[connection] = float("inf")

    def encrypted(self, connection: socket.socket) -> ssl.SSLSocket | None:
        """The connection over TLS, if its client begins with that, and there is a certificate; may raise OSError."""
        tls = self.tls()
        if tls is None or connection.recv(1, socket.MSG_PEEK) != _HANDSHAKE:
            return None
        shaken = tls.handshake(connection)
        with self._guard:
            self._encrypted[connection] = shaken
            self._deadlines[shaken] = self._deadlines.pop(connection, time.monotonic() + self._request_seconds)
        shaken.do_handshake()
        return shaken

    # Called by the standard library's server

    def process_request(self, request: Any, client_address: Any) -> None:
        self._waiting.add(request, client_address)

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        """Gives a connection that has begun its request a thread."""
        if not self._makes_room():
            with contextlib.suppress(OSError):
                request.send(_FULL, socket.MSG_DONTWAIT)
            self.shutdown_request(request)
            return
        self.waits_for_request(request)
        super().process_request(request, client_address)

    def _makes_room(self) -> bool:
        """Whether one more may be served. If all places are taken, whoever has waited longest for its request goes.

        So clients who begin a request and do not end it keep nobody out. False: every place has a whole request.
        """
        with self._guard:
            if len(self._deadlines) < self._most_connections:
                return True
            slowest = min(self._deadlines, key=self._deadlines.__getitem__)
            if self._deadlines[slowest] == float("inf"):
                return False
            del self._deadlines[slowest]
            with contextlib.suppress(OSError):  # the client has gone by itself
                _end_reading(slowest)
            return True

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            request = self._encrypted.pop(request, request)
            self._deadlines.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Ends what slow clients send: their threads read the end of it, and answer 408."""
        now = time.monotonic()
        with self._guard:
            for connection, deadline in self._deadlines.items():
                if deadline < now:
                    with contextlib.suppress(OSError):  # the client has gone by itself
                        _end_reading(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("an HTTP client has gone: %s", client_address, exc_info=True)


def _end_reading(connection: socket.socket) -> None:
    """Whoever reads it reads the end of it. The class's own method: a TLS socket's would go on in clear."""
    socket.socket.shutdown(connection, socket.SHUT_RD)


class HttpHandler(BaseHTTPRequestHandler):
    """One connection: its requests, one after the other."""

    server: HttpListener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    error_message_format = "%(message)s\n"
    error_content_type = "text/plain"
    allowed = "GET"  # the methods, for 405

    def setup(self) -> None:
        shaken = self.server.encrypted(self.request)
        if shaken is not None:
            self.request = shaken
        super().setup()

    def admitted(self, database: str) -> str | None:
        """The user as whom the request acts; None if the door does not let it in, and it has been answered."""
        door, client = self.server.door, self.http_client()
        if door is None:
            return BOOTSTRAP_NAME
        try:
            return door.let_in(client, database)
        except CredentialsNeeded:
            self.refuse(HTTPStatus.UNAUTHORIZED, "a user and a password are needed (Basic authentication)\n")
        except TooManyTries:
            self.refuse(HTTPStatus.TOO_MANY_REQUESTS, "too many failed logins: try again later\n")
        except SqlError as error:
            wrong = error.sqlstate == INVALID_PASSWORD
            self.refuse(HTTPStatus.UNAUTHORIZED if wrong else HTTPStatus.FORBIDDEN, f"{error.message}\n")
        return None

    def http_client(self) -> HttpClient:
        """Who has sent the request."""
        shaken = self.request if isinstance(self.request, ssl.SSLSocket) else None
        name = None if shaken is None else common_name(shaken)
        header = self.headers.get("Authorization")
        return HttpClient(str(self.client_address[0]), shaken is not None, name, header)

    def refuse(self, status: HTTPStatus, message: str) -> None:
        """Answers, and closes the connection: nothing more of the request is read."""
        self.close_connection = True
        self.answer(status, message)

    def handle_one_request(self) -> None:
        self.server.waits_for_request(self.request)
        super().handle_one_request()

    def refuse_method(self, message: str) -> None:
        """Answers 405, and closes the connection: the request's body, if there is one, is not read."""
        self.refuse(HTTPStatus.METHOD_NOT_ALLOWED, message)

    def answer(
        self,
        status: HTTPStatus,
        text: str,
        content_type: str = "text/plain; charset=utf-8",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Sends an answer; a HEAD gets no body."""
        content = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(0 if self.command == "HEAD" else len(content)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if status is HTTPStatus.UNAUTHORIZED and "WWW-Authenticate" not in headers:
            self.send_header("WWW-Authenticate", 'Basic realm="RisingPy", charset="UTF-8"')
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", self.allowed)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        """The Server header: which Python it is concerns nobody."""
        return "RisingPy"

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)
