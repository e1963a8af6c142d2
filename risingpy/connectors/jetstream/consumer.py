"""A consumer of a stream, and the messages that it is asked for.

The library has `fetch`, which starts two tasks for each message; here a request's messages come through one callback.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

_ACKNOWLEDGEMENTS = "$JS.ACK."
_MOST_BYTES = 64 << 20  # of one answer: the library throws away what it cannot hold


class Consumer:
    """`pending`: how many messages it had when it was made."""

    def __init__(self, connection: Any, stream: str, name: str, pending: int) -> None:
        self.name = name
        self.pending = pending
        self._connection = connection
        self._requests = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}"
        self._inbox = connection.new_inbox()
        self._subscription: Any = None
        self._found: list[Any] = []
        self._wanted = 0
        self._ended = asyncio.Event()

    async def open(self) -> None:
        self._subscription = await self._connection.subscribe(self._inbox, cb=self._receive)

    async def fetch(self, count: int, seconds: float) -> list[Any]:
        """The next `count` messages; fewer if they are large, or if no more come within the time."""
        self._found, self._wanted = [], count
        self._ended.clear()
        request = {"batch": count, "max_bytes": _MOST_BYTES, "expires": int(seconds * 1e9)}
        await self._connection.publish(self._requests, json.dumps(request).encode(), reply=self._inbox)
        await asyncio.wait_for(self._ended.wait(), seconds + 1)
        return self._found

    async def close(self) -> None:
        await self._subscription.unsubscribe()

    async def _receive(self, message: Any) -> None:
        is_from_stream = message.reply.startswith(_ACKNOWLEDGEMENTS)  # the others say why no more come
        if is_from_stream:
            self._found.append(message)
        if len(self._found) == self._wanted or not is_from_stream:
            self._ended.set()
