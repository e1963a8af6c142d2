"""The HTTP port of webhooks: reads requests within limits of size, and answers.

Requests of several connections share an fsync, as all writers of the log do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from risingpy.frontend.authentication.http_door import HttpDoor
from risingpy.frontend.http_listener import HttpHandler, HttpListener
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.frontend.webhook.receive import Request, RequestRefused, WebhookPlace, place_of, receive
from risingpy.frontend.wire.tls import ServerTls
from risingpy.meta.database import Database
from risingpy.plan.catalog import BOOTSTRAP_NAME

_log = logging.getLogger(__name__)

LARGEST_BODY = 16 << 20  # bytes
MOST_DROPPED = 1 << 16  # bytes that are read of a refused request
MOST_CONNECTIONS = 128
REQUEST_SECONDS = 30.0


class WebhookServer:
    """Serves the webhooks of a database on a TCP port; port 0 lets the system choose."""

    def __init__(
        self,
        host: str,
        port: int,
        database: Database,
        *,
        request_seconds: float = REQUEST_SECONDS,
        door: HttpDoor | None = None,
        tls: Callable[[], ServerTls | None] = lambda: None,
    ) -> None:
        """`door` decides who may send (None: everybody). `tls` is what clients may encrypt with."""
        self._door, self._tls = door, tls
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
        self._listener.door, self._listener.tls = self._door, self._tls
        self._listener.start()

    def stop(self) -> None:
        """Accepts no more requests."""
        if self._listener is not None:
            self._listener.stop()


class _WebhookHandler(HttpHandler):
    """One connection: its requests, one after the other, with a session of its own."""

    allowed = "POST"

    def setup(self) -> None:
        self._sessions: dict[tuple[str, str], ClientSession] = {}
        super().setup()

    def finish(self) -> None:
        for session in self._sessions.values():
            session.close()
        super().finish()

    def _session(self, user: str, database: str) -> ClientSession:
        """The connection's session in the database, kept for its next requests."""
        known = self._sessions.get((user, database))
        if known is None:
            address = ":".join(map(str, self.client_address[:2]))
            startup = StartupParameters(user, database, {"application_name": "webhook"}, client_address=address)
            known = self._sessions[user, database] = open_session(self.server.served, startup)
        return known

    def do_POST(self) -> None:
        try:
            self._length()
            place = place_of(self.server.served, self.path)
            user = self._sender(place)
            if user is None:
                return
            body = self._body()
            self.server.has_request(self.request)
            session = self._session(user, place.database)
            receive(session, place, Request(self._lower_headers(), body))
        except RequestRefused as refused:
            self.answer(refused.status, f"{refused}\n")
        except Exception:
            _log.exception("a webhook's request failed")
            self.answer(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error\n")
        else:
            self.answer(HTTPStatus.OK, "")

    def _sender(self, place: WebhookPlace) -> str | None:
        """The user as whom rows are written; None if the request was refused.

        VALIDATE is a webhook's own way to know senders, who have no users here: the rules then only look at addresses.
        """
        door = self.server.door
        if door is None or (place.validates and door.admits_address(self.http_client(), place.database)):
            return BOOTSTRAP_NAME
        return self.admitted(place.database)

    def refuse(self, status: HTTPStatus, message: str) -> None:
        if self.command == "POST":  # a client that still sends would not read the answer
            self.rfile.read(min(self._length(), MOST_DROPPED))
        super().refuse(status, message)

    def _other_method(self) -> None:
        self.refuse_method("a webhook takes POST\n")

    do_GET = do_PUT = do_PATCH = do_DELETE = do_HEAD = _other_method

    def _body(self) -> bytes:
        length = self._length()
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            raise RequestRefused(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive whole, or not in time")
        return body

    def _length(self) -> int:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length")
        if len(length) > 12 or int(length) > LARGEST_BODY:
            self.close_connection = True
            message = f"the body may have {LARGEST_BODY} bytes"
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        return int(length)

    def _lower_headers(self) -> dict[str, str]:
        """By name in lower case; the values of a name that comes twice are joined, as HTTP allows."""
        joined: dict[str, str] = {}
        for name, value in self.headers.items():
            known = joined.get(name.lower())
            joined[name.lower()] = value if known is None else f"{known}, {value}"
        return joined
