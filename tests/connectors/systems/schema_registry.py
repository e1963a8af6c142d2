"""A schema registry over HTTP: the calls of Confluent's that producers and our client use. It listens on 127.0.0.1."""

from __future__ import annotations

import base64
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Registry:
    """What is registered, and where it is served. `asked` are the paths that clients have read.

    One that `is_down` has no answer but 503, and one that `refuses` takes no schema of clients.
    """

    address: str = ""
    password: str | None = None
    is_down: bool = False
    refuses: bool = False
    schemas: list[dict[str, Any]] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def register(
        self, subject: str, schema: Any, kind: str = "AVRO", references: list[dict[str, Any]] | None = None
    ) -> int:
        """The id of a schema, which is a new version of the subject if it is new there."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        found = {"schema": text, "schemaType": kind, "references": references or []}
        if found not in self.schemas:
            self.schemas.append(found)
        schema_id = self.schemas.index(found) + 1
        versions = self.subjects.setdefault(subject, [])
        if schema_id not in versions:
            versions.append(schema_id)
        return schema_id

    def answer(self, path: str) -> Any:
        if match := re.fullmatch(r"/schemas/ids/(\d+)", path):
            at = int(match[1]) - 1
            return self.schemas[at] if at < len(self.schemas) else None
        if match := re.fullmatch(r"/subjects/([^/]+)/versions/(latest|\d+)", path):
            versions = self.subjects.get(match[1], [])
            number = len(versions) if match[2] == "latest" else int(match[2])
            if not 0 < number <= len(versions):
                return None
            schema_id = versions[number - 1]
            return {"subject": match[1], "version": number, "id": schema_id, **self.schemas[schema_id - 1]}
        return None

    def posted(self, path: str, body: bytes) -> tuple[int, Any]:
        """(status, answer) where a schema is to be registered."""
        match = re.fullmatch(r"/subjects/([^/]+)/versions", path)
        if self.is_down or match is None:
            return 503 if self.is_down else 404, {"error_code": 50000, "message": "no"}
        if self.refuses:
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
        asked = json.loads(body)
        subject = urllib.parse.unquote(match[1])
        return 200, {"id": self.register(subject, asked["schema"], asked.get("schemaType", "AVRO"))}


@contextmanager
def schema_registry(password: str | None = None) -> Iterator[Registry]:
    """A registry on a free port; with a password, that of the user `reader`."""
    registry = Registry(password=password)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            registry.asked.append(path)
            if registry.is_down:
                self.send(503, {"error_code": 503, "message": "Service Unavailable"})
                return
            secret = base64.b64encode(f"reader:{registry.password}".encode()).decode()
            if registry.password is not None and self.headers.get("Authorization") != f"Basic {secret}":
                self.send(401, {"error_code": 401, "message": "Unauthorized"})
                return
            found = registry.answer(path)
            self.send(200 if found else 404, found or {"error_code": 40403, "message": "Schema not found"})

        def do_POST(self) -> None:
            self.send(*registry.posted(self.path, self.rfile.read(int(self.headers["Content-Length"]))))

        def send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
