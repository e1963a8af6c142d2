"""Reads the body of a client's message, and refuses what is malformed."""

from __future__ import annotations

import struct

from risingpy.errors import ProtocolViolation, SqlError
from risingpy.types.character import invalid_utf8

_INT16 = struct.Struct("!h")
_INT32 = struct.Struct("!i")


class Payload:
    """A cursor over a message's body. Every method raises ProtocolViolation if the body is too short."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def string(self) -> str:
        """A text up to its NUL."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("invalid string in message")
        raw = self._data[self._at : end]
        self._at = end + 1
        return decode_text(raw)

    def byte(self) -> bytes:
        return self.take(1)

    def int16(self) -> int:
        value: int = _INT16.unpack(self.take(2))[0]
        return value

    def int32(self) -> int:
        value: int = _INT32.unpack(self.take(4))[0]
        return value

    def int16s(self) -> list[int]:
        """A count and as many int16."""
        count = self.count()
        return list(struct.unpack(f"!{count}h", self.take(2 * count)))

    def uint32s(self) -> list[int]:
        """A count and as many uint32."""
        count = self.count()
        return list(struct.unpack(f"!{count}I", self.take(4 * count)))

    def count(self) -> int:
        """How many parameters follow: up to 65535, since libpq and PostgreSQL read the int16 as unsigned."""
        return self.int16() & 0xFFFF

    def value(self) -> bytes | None:
        """A length and as many bytes; None if the length is -1, which means NULL."""
        length = self.int32()
        return None if length == -1 else self.take(length)

    def take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ProtocolViolation("insufficient data left in message")
        raw = self._data[self._at : end]
        self._at = end
        return raw

    def skip(self) -> None:
        """Skips the rest of the body."""
        self._at = len(self._data)

    def end(self) -> None:
        """Checks that nothing follows."""
        if self._at != len(self._data):
            raise ProtocolViolation("invalid message format")


def decode_text(raw: bytes) -> str:
    """UTF-8, or PostgreSQL's error 22021."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        failure: SqlError = invalid_utf8(raw, error)
        raise failure from None
