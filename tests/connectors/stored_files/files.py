"""Files that a test writes: they look as if their writer had finished long ago."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from risingpy.connectors.stored_files.store import StoredFile

LONG_AGO = 100.0


def put(path: Path, content: bytes) -> Path:
    """Writes a file, under another name first, as a writer should."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(content)
    then = time.time() - LONG_AGO
    os.utime(unfinished, (then, then))
    unfinished.rename(path)
    return path


def put_parquet(path: Path, table: pa.Table, rows_of_group: int = 1_000) -> Path:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=rows_of_group)
    return put(path, sink.getvalue().to_pybytes())


def until(check: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Memory:
    """A storage whose files are in memory; it counts the bytes that were read."""

    def __init__(self, **files: bytes) -> None:
        self.contents = dict(files)
        self.bytes_read = 0

    def check(self) -> None:
        pass

    def files(self) -> list[StoredFile]:
        return [StoredFile(name, len(content)) for name, content in self.contents.items()]

    def read(self, name: str, start: int, end: int) -> bytes:
        found = self.contents[name][start:end]
        self.bytes_read += len(found)
        return found

    def size(self, name: str) -> int:
        return len(self.contents[name])

    def close(self) -> None:
        pass
