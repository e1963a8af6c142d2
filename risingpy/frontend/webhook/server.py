"""The HTTP port of webhooks: reads requests within limits of size, and answers.

Requests of several connections share an fsync, as all writers of the log do.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

from risingpy.frontend.http_listener import HttpHandler, HttpListener
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.webhook.receive import Request, RequestRefused, receive
from risingpy.meta.database import Database

_log = logging.getLogger(__name__)

LARGEST_BODY = 16 << 20  # bytes
MOST_CONNECTIONS = 128
REQUEST_SECONDS = 30.0


class WebhookServer:
    """Serves the webhooks of a database on a TCP port; port 0 lets the system choose."""

    def __init__(self, host: str, port: int, database: Database, *, request_seconds: float = REQUEST_SECONDS) -> None:
        self._address = (host, port)
        self._database = database
        self._request_seconds = request_seconds
        self._listener: HttpListener | None = None

    @property
    def port(self) -> int:
        """The port in use. Only after `start`."""
        assert self._listener is not None
        return self._listener.port

    def start(self) -> None:
        """Listens; raises OSError. Returns at once."""
        self._listener = HttpListener(
            self._address,
            _WebhookHandler,
            self._database,
            purpose="webhooks",
            request_seconds=self._request_seconds,
            most_connections=MOST_CONNECTIONS,
        )
        self._listener.start()

    def stop(self) -> None:
        """Accepts no more requests."""
        if self._listener is not None:
            self._listener.stop()


class _WebhookHandler(HttpHandler):
    """One connection: its requests, one after the other, with a session of its own."""

    allowed = "POST"

    def setup(self) -> None:
        super().setup()
        database: Database = self.server.served
        address = ":".join(map(str, self.client_address[:2]))
        startup = StartupParameters(
            "root", database.reads.catalog.database, {"application_name": "webhook"}, client_address=address
        )
        self.session = open_session(database, startup)

    def finish(self) -> None:
        self.session.close()
        super().finish()

    def do_POST(self) -> None:
        try:
            body = self._body()
            self.server.has_request(self.request)
            receive(self.session, Request(self.path, self._lower_headers(), body))
        except RequestRefused as refused:
            self.answer(refused.status, f"{refused}\n")
        except Exception:
            _log.exception("a webhook's request failed")
            self.answer(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error\n")
        else:
            self.answer(HTTPStatus.OK, "")

    def _other_method(self) -> None:
        self.refuse_method("a webhook takes POST\n")

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
