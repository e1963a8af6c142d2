"""The files of the page, and the headers that keep it to itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# The page loads what this server has, talks to this server, and stands in no other page. No script of a text runs.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file; `tag` changes with its text (ETag)."""

    text: str
    content_type: str
    tag: str

    @property
    def headers(self) -> dict[str, str]:
        """A browser asks each time whether its copy is the newest: an upgrade of the server shows at once."""
        return {**HEADERS, "Cache-Control": "no-cache", "ETag": self.tag}


def page_files() -> dict[str, PageFile]:
    """Every file of the page, by its name."""
    found = {}
    for entry in resources.files("risingpy.frontend.console").joinpath("page").iterdir():
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None:
            text = entry.read_text("utf-8")
            tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
            found[entry.name] = PageFile(text, content_type, tag)
    return found
