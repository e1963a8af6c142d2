"""A client that writes and reads the protocol's messages one by one."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def startup(code: int = 196608, extra: bytes = b"") -> bytes:
    body = struct.pack("!I", code) + b"user\0u\0database\0db\0" + extra + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def query(sql: bytes) -> bytes:
    return message(b"Q", sql + b"\0")


def parse(name: bytes, sql: bytes, oids: Sequence[int] = ()) -> bytes:
    return message(b"P", name + b"\0" + sql + b"\0" + struct.pack(f"!h{len(oids)}I", len(oids), *oids))


def bind(
    portal: bytes,
    statement: bytes,
    values: Sequence[bytes | None] = (),
    formats: Sequence[int] = (),
    result_formats: Sequence[int] = (),
) -> bytes:
    body = portal + b"\0" + statement + b"\0" + struct.pack(f"!h{len(formats)}h", len(formats), *formats)
    body += struct.pack("!h", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack(f"!h{len(result_formats)}h", len(result_formats), *result_formats))


def describe(kind: bytes, name: bytes = b"") -> bytes:
    return message(b"D", kind + name + b"\0")


def execute(portal: bytes = b"", limit: int = 0) -> bytes:
    return message(b"E", portal + b"\0" + struct.pack("!i", limit))


def close(kind: bytes, name: bytes = b"") -> bytes:
    return message(b"C", kind + name + b"\0")


SYNC, FLUSH = message(b"S"), message(b"H")


class RawClient:
    """A socket that has (by default) said hello already."""

    def __init__(self, port: int, *, hello: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.greeting: list[tuple[str, bytes]] = []
        if hello:
            self.send(startup())
            self.greeting = self.until("Z")

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def receive(self) -> tuple[str, bytes] | None:
        """The next message, or None at the end of the stream."""
        header = self._exactly(5)
        if header is None:
            return None
        body = self._exactly(struct.unpack("!I", header[1:])[0] - 4)
        assert body is not None
        return header[:1].decode(), body

    def _exactly(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                assert not data, f"half a message: {data!r}"
                return None
            data += part
        return data

    def until(self, last: str, times: int = 1) -> list[tuple[str, bytes]]:
        """Messages up to the `times`-th of type `last`, or to the end."""
        got: list[tuple[str, bytes]] = []
        while times:
            one = self.receive()
            if one is None:
                return got
            got.append(one)
            times -= one[0] == last
        return got

    def rest(self) -> list[tuple[str, bytes]]:
        """Everything up to the end of the stream."""
        return self.until("none")

    def kinds(self, *parts: bytes, syncs: int = 1) -> str:
        """Sends, and returns the types of the answers up to the last ReadyForQuery."""
        self.send(*parts)
        return "".join(kind for kind, _ in self.until("Z", syncs))


def fields_of(body: bytes) -> dict[str, str]:
    """An ErrorResponse's fields."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}
