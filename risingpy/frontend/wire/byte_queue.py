"""Bytes in the order in which they arrived, taken out as messages. No I/O.

A large piece stays as it arrived until it is taken, so its bytes are copied once, into the message. Small pieces are
joined, so that a client that sends single bytes takes no more memory than its message has bytes.
"""

from __future__ import annotations

from collections import deque

_SMALL_BYTES = 4096  # smaller pieces are joined: the objects around them would take too much memory
_GATHERED_BYTES = 1 << 16  # the largest joined piece


class ByteQueue:
    """A queue of bytes; `len` is how many are in it."""

    __slots__ = ("_length", "_offset", "_pieces")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self._offset = 0  # how much of the first piece has been taken
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, data: bytes) -> None:
        """Adds the bytes that have arrived, at least one."""
        self._length += len(data)
        if not self._pieces or len(data) >= _SMALL_BYTES:
            self._pieces.append(data)
            return
        last = self._pieces[-1]
        if isinstance(last, bytearray) and len(last) < _GATHERED_BYTES:
            last += data
        else:
            self._pieces.append(bytearray(data))

    def starts_with(self, byte: bytes) -> bool:
        """Whether the next byte is this one."""
        return self._length > 0 and self._pieces[0][self._offset] == byte[0]

    def all(self) -> bytes:
        """All that is there, which stays there; it becomes one piece."""
        if len(self._pieces) > 1 or self._offset or (self._pieces and isinstance(self._pieces[0], bytearray)):
            joined = b"".join(self._cut(self._length))
            self._length = len(joined)
            self._pieces.append(joined)
        return bytes(self._pieces[0]) if self._pieces else b""

    def take(self, count: int) -> bytes | None:
        """The next `count` bytes; None, and nothing is taken, if there are not as many."""
        if count > self._length:
            return None
        if count == 0:
            return b""
        first, start = self._pieces[0], self._offset
        end = start + count
        if end > len(first):
            return b"".join(self._cut(count))
        self._length -= count
        if end == len(first):
            self._pieces.popleft()
            self._offset = 0
        else:
            self._offset = end
        # A slice of the whole of a `bytes` is that object itself, and so is `bytes` of a slice of it.
        return bytes(first[start:end])

    def drop(self, count: int) -> int:
        """Forgets up to `count` bytes; returns how many."""
        dropped = min(count, self._length)
        for _ in self._cut(dropped):
            pass
        return dropped

    def _cut(self, count: int) -> list[memoryview]:
        """The next `count` bytes, which must be there, as views of the pieces that have them."""
        views = []
        self._length -= count
        while count:
            view = memoryview(self._pieces[0])[self._offset : self._offset + count]
            views.append(view)
            count -= len(view)
            self._offset += len(view)
            if self._offset == len(self._pieces[0]):
                self._pieces.popleft()
                self._offset = 0
        return views
