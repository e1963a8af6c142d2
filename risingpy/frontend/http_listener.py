"""An HTTP listener with limits: a thread a connection, so many of them, and so much time for each request.

A request must arrive whole in time, however slowly its bytes come; an idle connection is closed after that time.
Webhooks and monitoring each have one, with a handler class of their own.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.25  # how often the listener looks for slow clients
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
        self._request_seconds = request_seconds
        self._most_connections = most_connections
        self._guard = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}  # infinite while a whole request is being worked on
        try:
            super().__init__(address, handler)
        except OSError as error:
            host, port = address
            raise OSError(error.errno, f"could not listen on {host}:{port} for {purpose}: {error.strerror}") from None
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
        self._thread.start()

    def stop(self) -> None:
        """Accepts no more requests. One that is being written is answered, or its sender sees the connection end."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    # Called by handlers

    def waits_for_request(self, connection: socket.socket) -> None:
        """From now on, the client's time for a request counts."""
        with self._guard:
            self._deadlines[connection] = time.monotonic() + self._request_seconds

    def has_request(self, connection: socket.socket) -> None:
        """The request is whole: the client's time counts no longer."""
        with self._guard:
            self._deadlines[connection] = float("inf")

    # Called by the standard library's server

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            is_full = len(self._deadlines) >= self._most_connections
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
        _log.debug("an HTTP client has gone: %s", client_address, exc_info=True)


class HttpHandler(BaseHTTPRequestHandler):
    """One connection: its requests, one after the other."""

    server: HttpListener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    error_message_format = "%(message)s\n"
    error_content_type = "text/plain"
    allowed = "GET"  # the methods, for 405

    def handle_one_request(self) -> None:
        self.server.waits_for_request(self.request)
        super().handle_one_request()

    def refuse_method(self, message: str) -> None:
        """Answers 405, and closes the connection: the request's body, if there is one, is not read."""
        self.close_connection = True
        self.answer(HTTPStatus.METHOD_NOT_ALLOWED, message)

    def answer(self, status: HTTPStatus, text: str, content_type: str = "text/plain; charset=utf-8") -> None:
        """Sends an answer; a HEAD gets no body."""
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(0 if self.command == "HEAD" else len(content)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", self.allowed)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        _log.debug(format, *args)
