"""The console's part of an HTTP port: files for GET, and what the page asks for by POST."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from risingpy.frontend.console.console import Console, PageRun
from risingpy.frontend.console.files import HEADERS, PageFile
from risingpy.frontend.console.requests import PageRefused, body_length, check_is_own, parsed_body
from risingpy.frontend.http_listener import HttpHandler

_log = logging.getLogger(__name__)
PREFIX = "/console/"
_INDEX = "index.html"
_JSON = "application/json"
_WRITE_SECONDS = 30.0  # a page that takes nothing for so long is not waited for


def answer_file(handler: HttpHandler, files: Mapping[str, PageFile], path: str) -> None:
    """Answers a GET of a path below the prefix."""
    file = files.get(path.removeprefix(PREFIX) or _INDEX)
    if file is None:
        handler.answer(HTTPStatus.NOT_FOUND, "the console has no such file\n", headers=HEADERS)
    elif handler.headers.get("If-None-Match") == file.tag:
        handler.answer(HTTPStatus.NOT_MODIFIED, "", file.content_type, file.headers)
    else:
        handler.answer(HTTPStatus.OK, file.text, file.content_type, file.headers)


def answer_request(handler: HttpHandler, console: Console | None, path: str) -> None:
    """Answers a POST of a path below the prefix. `console`: None while the server starts or stops."""
    try:
        _answer(handler, console, path.removeprefix(PREFIX))
    except PageRefused as refused:
        if not handler.close_connection:
            _answer_json(handler, refused.status, {"error": str(refused)})
    except OSError:
        handler.close_connection = True
        raise
    except Exception:
        _log.exception("a request of the console failed")
        handler.close_connection = True
        _answer_json(handler, HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "internal error"})


def _answer(handler: HttpHandler, console: Console | None, action: str) -> None:
    body = _body(handler)
    handler.server.has_request(handler.request)
    check_is_own(handler.headers, over_tls=isinstance(handler.request, ssl.SSLSocket))
    if console is None:
        raise PageRefused(HTTPStatus.SERVICE_UNAVAILABLE, "the server is starting or stopping")
    token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
    match action:
        case "login":
            host = handler.headers.get("Host", "")
            _answer_json(handler, HTTPStatus.OK, console.log_in(handler.http_client(), host, body))
        case "logout":
            console.log_out(token)
            _answer_json(handler, HTTPStatus.OK, {})
        case "cancel":
            _answer_json(handler, HTTPStatus.OK, {"cancelled": console.cancel(token, body)})
        case "run":
            _stream(handler, console.begin(handler.http_client(), token, body))
        case _:
            raise PageRefused(HTTPStatus.NOT_FOUND, "the console takes login, logout, run and cancel")


def _body(handler: HttpHandler) -> dict[str, Any]:
    """The request's body. A request whose body is not read ends its connection."""
    try:
        length = body_length(handler.headers)
    except PageRefused as refused:
        handler.close_connection = True
        _answer_json(handler, refused.status, {"error": str(refused)})
        raise
    body = handler.rfile.read(length)
    if len(body) < length:
        handler.close_connection = True
        _answer_json(handler, HTTPStatus.REQUEST_TIMEOUT, {"error": "the body did not arrive whole, or not in time"})
        raise PageRefused(HTTPStatus.REQUEST_TIMEOUT, "")
    return parsed_body(body)


def _answer_json(handler: HttpHandler, status: HTTPStatus, value: object) -> None:
    """An answer in JSON. It asks for no Basic authentication: the browser's own window would come before the page's."""
    headers = {**HEADERS, "Cache-Control": "no-store", "WWW-Authenticate": "Bearer"}
    if status is not HTTPStatus.UNAUTHORIZED:
        del headers["WWW-Authenticate"]
    handler.answer(status, json.dumps(value), _JSON, headers)


def _stream(handler: HttpHandler, run: PageRun) -> None:
    """Answers in chunks (RFC 9112, 7.1), each as soon as it is there."""

    def begin() -> None:
        handler.request.settimeout(_WRITE_SECONDS)
        handler.send_response(HTTPStatus.OK)
        for name, value in {**HEADERS, "Cache-Control": "no-store"}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

    def send(line: bytes) -> None:
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))

    address = ":".join(map(str, handler.client_address[:2]))
    run.answer(handler.request, address, begin, send)
    handler.wfile.write(b"0\r\n\r\n")
    handler.request.settimeout(None)
