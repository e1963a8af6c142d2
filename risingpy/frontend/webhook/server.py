"""The HTTP listener of webhooks: a thread a connection, and limits of size, time and number.

A request must arrive whole within REQUEST_SECONDS, however slowly its bytes come; an idle connection is closed after
that time. Requests of several connections share an fsync, as all writers of the log do.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.webhook.receive import Request, RequestRefused, receive
from risingpy.meta.database import Database

_log = logging.getLogger(__name__)

LARGEST_BODY = 16 << 20  # bytes
MOST_CONNECTIONS = 128
REQUEST_SECONDS = 30.0
_LOOK_SECONDS = 0.25  # how often the listener looks for slow clients
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class WebhookServer:
    """Serves the webhooks of a database on a TCP port; port 0 lets the system choose."""

    def __init__(self, host: str, port: int, database: Database, *, request_seconds: float = REQUEST_SECONDS) -> None:
        self._address = (host, port)
        self._database = database
        self._request_seconds = request_seconds
        self._listener: _HttpListener | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port in use. Only after `start`."""
        assert self._listener is not None
        port: int = self._listener.server_address[1]
        return port

    def start(self) -> None:
        """Listens; raises OSError. Returns at once."""
        host, port = self._address
        try:
            self._listener = _HttpListener((host, port), self._database, self._request_seconds)
        except OSError as error:
            raise OSError(error.errno, f"could not listen on {host}:{port} for webhooks: {error.strerror}") from None
        self._thread = threading.Thread(
            target=self._listener.serve_forever, args=(_LOOK_SECONDS,), name="webhook-accept", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Accepts no more requests. One that is being written is answered, or its sender sees the connection end."""
        if self._listener is not None and self._thread is not None:
            self._listener.shutdown()
            self._listener.server_close()
            self._thread.join()


class _HttpListener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], database: Database, request_seconds: float) -> None:
        self.database = database
        self._request_seconds = request_seconds
        self._guard = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}  # infinite while a whole request is being worked on
        super().__init__(address, _Handler)

    def waits_for_request(self, connection: socket.socket) -> None:
        """From now on, the client's time for a request counts."""
        with self._guard:
            self._deadlines[connection] = time.monotonic() + self._request_seconds

    def has_request(self, connection: socket.socket) -> None:
        """The request is whole: the client's time counts no longer."""
        with self._guard:
            self._deadlines[connection] = float("inf")

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            is_full = len(self._deadlines) >= MOST_CONNECTIONS
        if is_full:
            request.sendall(_FULL)
            self.shutdown_request(request)
            return
        self.waits_for_request(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._deadlines.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Ends what slow clients send: their threads read the end of it, and answer 408."""
        now = time.monotonic()
        with self._guard:
            for connection, deadline in self._deadlines.items():
                if deadline < now:
                    try:
                        connection.shutdown(socket.SHUT_RD)
                    except OSError:
                        continue  # the client has gone by itself

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("a webhook's client has gone: %s", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One connection: its requests, one after the other, with a session of its own."""

    server: _HttpListener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    error_message_format = "%(message)s\n"
    error_content_type = "text/plain"

    def setup(self) -> None:
        super().setup()
        database = self.server.database
        address = ":".join(map(str, self.client_address[:2]))
        startup = StartupParameters("root", database.reads.catalog.database, client_address=address)
        self.session = open_session(database, startup)

    def finish(self) -> None:
        self.session.close()
        super().finish()

    def handle_one_request(self) -> None:
        self.server.waits_for_request(self.request)
        super().handle_one_request()

    def do_POST(self) -> None:
        try:
            body = self._body()
            self.server.has_request(self.request)
            receive(self.session, Request(self.path, self._lower_headers(), body))
        except RequestRefused as refused:
            self._answer(refused.status, str(refused))
        except Exception:
            _log.exception("a webhook's request failed")
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")
        else:
            self._answer(HTTPStatus.OK, "")

    def _other_method(self) -> None:
        self.close_connection = True  # its body, if there is one, is not read
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, "a webhook takes POST")

    do_GET = do_PUT = do_PATCH = do_DELETE = do_HEAD = _other_method

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length")
        if len(length) > 12 or int(length) > LARGEST_BODY:
            self.close_connection = True
            message = f"the body may have {LARGEST_BODY} bytes"
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            raise RequestRefused(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive whole, or not in time")
        return body

    def _lower_headers(self) -> dict[str, str]:
        """By name in lower case; the values of a name that comes twice are joined, as HTTP allows."""
        joined: dict[str, str] = {}
        for name, value in self.headers.items():
            known = joined.get(name.lower())
            joined[name.lower()] = value if known is None else f"{known}, {value}"
        return joined

    def _answer(self, status: HTTPStatus, message: str) -> None:
        content = f"{message}\n".encode() if message and self.command != "HEAD" else b""
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "POST")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)
