"""The HTTP port of monitoring: /metrics, /healthz, /readyz, and the console."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlsplit

from prometheus_client import CONTENT_TYPE_LATEST

from risingpy.frontend.authentication.http_door import HttpDoor
from risingpy.frontend.console import PREFIX, Console, answer_file, answer_request, page_files
from risingpy.frontend.http_listener import HttpHandler, HttpListener
from risingpy.frontend.monitoring.metrics import exposition
from risingpy.frontend.monitoring.readiness import Readiness
from risingpy.frontend.wire.tls import ServerTls
from risingpy.meta.database import Database
from risingpy.plan.catalog import READ_ALL_STATS_ROLE_ID

_log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64  # a browser takes six for a page
REQUEST_SECONDS = 10.0
_PATHS = "there are /console/, /metrics, /healthz and /readyz\n"


class _Served:
    """What the handlers serve. The server's main thread changes it, requests read it."""

    def __init__(self) -> None:
        self.readiness = Readiness()
        self.console: Console | None = None
        self.files = page_files()


class MonitoringServer:
    """Listens in the constructor, which raises OSError; port 0 lets the system choose.

    It answers before there is a database: a server that recovers is alive, but not ready.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._served = _Served()
        self._listener = HttpListener(
            (host, port),
            _MonitoringHandler,
            self._served,
            purpose="monitoring",
            request_seconds=REQUEST_SECONDS,
            most_connections=MOST_CONNECTIONS,
        )
        self._listener.start()

    @property
    def port(self) -> int:
        """The port in use."""
        return self._listener.port

    def serves(
        self,
        database: Database,
        door: HttpDoor | None = None,
        tls: Callable[[], ServerTls | None] = lambda: None,
        defaults: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """The database is recovered, and clients can connect. `door` decides who may read metrics (None: everybody).

        `defaults` are settings of the console's sessions.
        """
        self._listener.door, self._listener.tls = door, tls
        self._served.console = Console(database, door, self._host, defaults)
        self._served.readiness.serves(database)

    def announce_stop(self) -> None:
        """The server stops: it is not ready any more. Call it before the database is closed."""
        self._served.readiness.stops()
        console, self._served.console = self._served.console, None
        if console is not None:
            console.stop()

    def stop(self) -> None:
        """Closes the port."""
        self.announce_stop()
        self._listener.stop()


class _MonitoringHandler(HttpHandler):
    allowed = "GET, HEAD"

    def do_GET(self) -> None:
        self.server.has_request(self.request)
        served: _Served = self.server.served
        readiness = served.readiness
        match urlsplit(self.path).path:
            case "/" | "/console":
                self.answer(HTTPStatus.FOUND, f"the console is at {PREFIX}\n", headers={"Location": PREFIX})
            case path if path.startswith(PREFIX):
                answer_file(self, served.files, path)
            case "/metrics":
                self._metrics(readiness)
            case "/healthz":
                self.answer(HTTPStatus.OK, "alive\n")
            case "/readyz":
                obstacle = readiness.obstacle()
                status = HTTPStatus.OK if obstacle is None else HTTPStatus.SERVICE_UNAVAILABLE
                self.answer(status, f"{obstacle or 'ready'}\n")
            case _:
                self.answer(HTTPStatus.NOT_FOUND, _PATHS)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith(PREFIX):
            served: _Served = self.server.served
            answer_request(self, served.console, path)
        else:
            self._other_method()

    def _other_method(self) -> None:
        self.refuse_method(f"monitoring takes GET: {_PATHS}")

    do_PUT = do_PATCH = do_DELETE = _other_method

    def _metrics(self, readiness: Readiness) -> None:
        database = readiness.database
        if database is not None:
            catalog = database.reads.catalog
            user = self.admitted(catalog.database)
            role = None if user is None else catalog.role_named(user)
            if role is None:
                return
            if not catalog.has_role(role.role_id, READ_ALL_STATS_ROLE_ID):
                self.answer(HTTPStatus.FORBIDDEN, "metrics are for members of pg_monitor\n")
                return
        try:
            text = exposition(readiness)
        except Exception:
            if readiness.database is not None:
                _log.exception("metrics could not be made")
            self.answer(HTTPStatus.SERVICE_UNAVAILABLE, "no metrics at the moment\n")
        else:
            self.answer(HTTPStatus.OK, text, CONTENT_TYPE_LATEST)
