"""Which requests are those of the page that this server has served, and what their bodies say."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus
from typing import Any

OWN_HEADER = "X-RisingPy-Console"
LARGEST_BODY = 4 * 1024 * 1024
_LOCAL_NAMES = ("localhost", "ip6-localhost")


class PageRefused(Exception):
    """The page sees `status` and the message."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_is_own(headers: Message, *, over_tls: bool) -> None:
    """Raises PageRefused for a request that another site's page may have sent.

    No page can set a header of ours for another site without asking first (CORS), and nobody answers that. A browser
    says in Origin from where a POST comes; what is no browser need not.
    """
    if OWN_HEADER not in headers:
        raise PageRefused(HTTPStatus.FORBIDDEN, f"requests of the console have the header {OWN_HEADER}")
    origin, host = headers.get("Origin"), headers.get("Host", "")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        raise PageRefused(HTTPStatus.FORBIDDEN, f"another site's page asks: {origin}")
    if origin is not None and over_tls and not origin.startswith("https://"):
        raise PageRefused(HTTPStatus.FORBIDDEN, f"another site's page asks: {origin}")


def is_named_by_address(host: str, own_host: str) -> bool:
    """Whether a Host header names this server in a way that no other site can take.

    A stranger's site may let its own name point to this machine (DNS rebinding), and its page then is of the same
    origin. An address, and what this machine itself means by a name, cannot be had by others.
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() in (*_LOCAL_NAMES, own_host.lower()):
        return True
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def body_length(headers: Message) -> int:
    """The length of a request's body. Raises PageRefused if it has none that is said, or too large a one."""
    length = headers.get("Content-Length", "")
    if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in headers:
        raise PageRefused(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length")
    if len(length) > 12 or int(length) > LARGEST_BODY:
        raise PageRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body may have {LARGEST_BODY} bytes")
    return int(length)


def parsed_body(body: bytes) -> dict[str, Any]:
    """The object that a body is. Raises PageRefused."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise PageRefused(HTTPStatus.BAD_REQUEST, "the body is no JSON object")
    return parsed


def text_of(body: Mapping[str, Any], name: str) -> str | None:
    """A text of a body; None if it is not there. Raises PageRefused for another kind of value, or a character 0."""
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or "\0" in value):
        raise PageRefused(HTTPStatus.BAD_REQUEST, f'"{name}" must be a text')
    return value
