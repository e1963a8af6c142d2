"""Sinks to an HTTP service: `connector = 'http'`."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping, Sequence
from itertools import count
from urllib.parse import quote, urlsplit

import pyarrow as pa

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.changes import whole
from risingpy.connectors.targets.encoders.choice import append_only_encoder
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import InvalidParameterValue, SqlError, TargetUnavailable

_OPTIONS = ("url", "method", "batch.rows")
_HEADERS = "headers."
_PATIENCE_SECONDS = 30.0
_CHECK_SECONDS = 4.0
_MAY_SUCCEED_LATER = (408, 409, 423, 425, 429)


class HttpTarget:
    """A `SinkTarget` that posts each row to an URL. At least once.

    A request has the header `Idempotency-Key: <sink>:<epoch>:<number>`, the same whenever it is sent, so a service
    that keeps these keys has each row once. Rows are sent one after the other. With `batch.rows` over 1 a request has
    so many rows, a line each. HTTP has no memory of epochs: after a crash the epoch that was under way is sent again.
    """

    keeps_epochs = False

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the http sink", options)
        self._options.refuse_unknown(_OPTIONS, (_HEADERS,))
        url = urlsplit(self._options.required("url"))
        if url.scheme not in ("http", "https") or not url.hostname:
            raise InvalidParameterValue("the option url is no URL of http or https")
        self._url = url
        self._path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self._method = self._options.one_of("method", ("post", "put"), "post").upper()
        self._rows = self._options.number("batch.rows", 1, least=1, most=100_000)
        self._encoder = append_only_encoder(message_format, schema, self._options.owner)
        self._name = quote(schema.name, safe="")
        kind = "application/json" if self._rows == 1 else "application/x-ndjson"
        given = {k.removeprefix(_HEADERS): v for k, v in self._options.values.items() if k.startswith(_HEADERS)}
        self._headers = {"Content-Type": kind, **given}
        self._connection: http.client.HTTPConnection | None = None

    def check(self) -> None:
        """Connects. It sends nothing, since a service may take any request for a row."""
        connection = self._connect(_CHECK_SECONDS)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            raise self._unavailable(error) from None
        finally:
            connection.close()

    def open(self) -> int | None:
        self.close()
        self._connection = self._connect(_PATIENCE_SECONDS)
        return None

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if not any(table.num_rows for table in changes):
            return
        values = self._encoder.encode(whole(changes)).values
        for start, number in zip(range(0, len(values), self._rows), count(), strict=False):
            body = b"\n".join(values.slice(start, self._rows).to_pylist())
            self._send(body, f"{self._name}:{epoch}:{number}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, body: bytes, key: str) -> None:
        if self._connection is None:
            self.open()
        assert self._connection is not None
        try:
            self._connection.request(self._method, self._path, body, {**self._headers, "Idempotency-Key": key})
            response = self._connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._unavailable(error) from None
        if not 200 <= response.status < 300:
            self.close()
            message = f"HTTP: {self._url.hostname} answered {response.status} {response.reason}"
            if response.status >= 500 or response.status in _MAY_SUCCEED_LATER:
                raise TargetUnavailable(message)
            raise SqlError(message, sqlstate="38000")

    def _connect(self, patience: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=patience, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=patience)

    def _unavailable(self, error: Exception) -> TargetUnavailable:
        return TargetUnavailable(f"HTTP: {self._url.hostname} does not answer: {self._options.masked(str(error))}")
