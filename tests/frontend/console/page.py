"""What the console's page sends, without a browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from risingpy.server_process import HOST

OWN = {"X-RisingPy-Console": "1", "Content-Type": "application/json"}
SECONDS = 30.0


class Page:
    """A page that is open in a browser, at a server's HTTP port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = ""

    def send(self, action: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """The answer's status, and what it says."""
        status, _, text = self.ask("POST", f"/console/{action}", json.dumps(body), headers)
        return status, json.loads(text)

    def ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, self._headers() if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def log_in(self, **who: str) -> int:
        status, answer = self.send("login", who)
        self.token = answer.get("token", "")
        return status

    def run(self, sql: str, limit: int = 500) -> list[dict[str, Any]]:
        """The lines of the answer to a text, the last one included."""
        status, _, text = self.ask("POST", "/console/run", json.dumps({"sql": sql, "limit": limit}))
        assert status == 200, text
        return [json.loads(line) for line in text.splitlines()]

    def columns(self, sql: str) -> list[list[str | None]]:
        """The columns of the only result of a text that does not fail."""
        lines = self.run(sql)
        assert not [line for line in lines if "error" in line], lines
        [columns] = [line["columns"] for line in lines if "columns" in line]
        found: list[list[str | None]] = columns
        return found

    @contextmanager
    def running(self, sql: str, name: str) -> Iterator[Iterator[dict[str, Any]]]:
        """The lines of a text while it runs; at the end of the block, the page is closed."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=SECONDS)
        try:
            connection.request("POST", "/console/run", json.dumps({"sql": sql, "name": name}), self._headers())
            answer = connection.getresponse()
            assert answer.status == 200
            yield (json.loads(line) for line in iter(answer.readline, b""))
        finally:
            connection.close()

    def _headers(self) -> dict[str, str]:
        return {**OWN, "Authorization": f"Bearer {self.token}"}
