"""The bytes of a file's content by position. Those of a `.gz` file are what it holds, uncompressed.

Deflated data can be read from the beginning only. A reader of ranges that follow each other therefore keeps its streams
open, and one that must go back begins anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from risingpy.connectors.stored_files.store import FileStore, StoredFile
from risingpy.errors import SourceUnavailable

_CHUNK = 1 << 20  # of compressed bytes
_MOST_AT_ONCE = 16 << 20  # of what they hold: a megabyte may hold a gigabyte
_OPEN_STREAMS = 4  # an epoch divides a file among shards, which stand at different places
_GZIP = 16 + zlib.MAX_WBITS

ReadBytes = Callable[[str, int, int], bytes]
"""The bytes of a named file's content at `start` ≤ position < `end`, fewer at its end. Raises SourceUnavailable."""


class FileBytes:
    """Reads plain and compressed files of a storage."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._streams: list[_GzipStream] = []  # the last one used is the last

    def read(self, name: str, start: int, end: int) -> bytes:
        """See `ReadBytes`."""
        if not _is_compressed(name):
            return self._store.read(name, start, end)
        ready = [stream for stream in self._streams if stream.name == name and stream.begin <= start]
        stream = max(ready, key=lambda found: found.begin) if ready else _GzipStream(self._store, name)
        self._streams = [*(other for other in self._streams if other is not stream), stream][-_OPEN_STREAMS:]
        try:
            return stream.read(start, end)
        except SourceUnavailable:
            self._streams.remove(stream)  # where it stands is not known
            raise

    def length(self, file: StoredFile) -> int:
        """How long a file's content is; a compressed one is read for it. Raises SourceUnavailable."""
        return _GzipStream(self._store, file.name).skip() if _is_compressed(file.name) else file.size

    def close(self) -> None:
        self._streams.clear()
        self._store.close()


class _GzipStream:
    """A stream through one file, which may have several members (RFC 1952, 2.2).

    Content before `begin` has been dropped.
    """

    def __init__(self, store: FileStore, name: str) -> None:
        self.name = name
        self.begin = 0
        self._store = store
        self._held = bytearray()
        self._place = 0  # in the compressed file
        self._compressed = b""
        self._member = zlib.decompressobj(_GZIP)
        self._at_end = False

    def read(self, start: int, end: int) -> bytes:
        """As `FileBytes.read`; `start` is not below `begin`, and becomes it."""
        while not self._at_end:
            self._drop(start)
            if self.begin + len(self._held) >= end:
                break
            self._more()
        self._drop(start)
        return bytes(self._held[: end - start]) if self.begin == start else b""

    def skip(self) -> int:
        """Goes to the end, and returns where that is."""
        while not self._at_end:
            self._drop(self.begin + len(self._held))
            self._more()
        return self.begin + len(self._held)

    def _drop(self, start: int) -> None:
        count = min(max(start - self.begin, 0), len(self._held))
        if count:
            del self._held[:count]
            self.begin += count

    def _more(self) -> None:
        if not self._compressed:
            self._compressed = self._store.read(self.name, self._place, self._place + _CHUNK)
            self._place += len(self._compressed)
            if not self._compressed:
                raise SourceUnavailable(f'source file "{self.name}" ends in the middle of its gzip data')
        try:
            self._held += self._member.decompress(self._compressed, _MOST_AT_ONCE)
        except zlib.error as error:
            raise SourceUnavailable(f'source file "{self.name}" is no gzip file: {error}') from None
        self._compressed = self._member.unconsumed_tail
        if self._member.eof:
            self._next_member(self._member.unused_data)

    def _next_member(self, rest: bytes) -> None:
        while not (rest := rest.lstrip(b"\0")):  # some writers pad files with zeros
            rest = self._store.read(self.name, self._place, self._place + _CHUNK)
            self._place += len(rest)
            if not rest:
                self._at_end = True
                return
        self._compressed, self._member = rest, zlib.decompressobj(_GZIP)


def _is_compressed(name: str) -> bool:
    return name.endswith(".gz")
