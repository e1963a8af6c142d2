"""A stream of a test, and what it holds."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any


class Stream:
    """A new stream `name` with the subjects `name.>`."""

    def __init__(self, url: str, retention: str = "limits") -> None:
        self.url = url
        self.name = f"s{uuid.uuid4().hex[:12]}"
        self._retention = retention
        self.make()

    def make(self) -> None:
        subjects = [f"{self.name}.>"]
        self._run(lambda jetstream: jetstream.add_stream(name=self.name, subjects=subjects, retention=self._retention))

    def delete(self) -> None:
        self._run(lambda jetstream: jetstream.delete_stream(self.name))

    def purge(self, below: int) -> None:
        """Deletes the messages with smaller numbers."""
        self._run(lambda jetstream: jetstream.purge_stream(self.name, seq=below))

    def delete_message(self, number: int) -> None:
        self._run(lambda jetstream: jetstream.delete_msg(self.name, number))

    def consumers(self) -> int:
        return len(self._run(lambda jetstream: jetstream.consumers_info(self.name)))

    def write(self, values: Sequence[bytes], subject: str = "a", headers: dict[str, str] | None = None) -> None:
        async def publish(jetstream: Any) -> None:
            for start in range(0, len(values), 500):
                part = values[start : start + 500]
                await asyncio.gather(*(jetstream.publish(f"{self.name}.{subject}", v, headers=headers) for v in part))

        self._run(publish)

    def options(self, **more: str) -> dict[str, str]:
        given = {"connector": "nats", "server_url": self.url, "stream": self.name, "subject": f"{self.name}.>"}
        return given | {name.replace("__", "."): value for name, value in more.items()}

    def source(self, columns: str, encoding: str = "JSON", kind: str = "SOURCE s", **more: str) -> str:
        options = ", ".join(f"{name} = '{value}'" for name, value in self.options(**more).items())
        return f"CREATE {kind} {columns} WITH ({options}) FORMAT PLAIN ENCODE {encoding}"

    def _run(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        import nats

        async def connected() -> Any:
            connection = await nats.connect(self.url)
            try:
                return await work(connection.jetstream())
            finally:
                await connection.close()

        return asyncio.run(connected())
