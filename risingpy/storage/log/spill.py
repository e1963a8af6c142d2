"""Rows of one large group, on their way to the log: in a file of their own, written as they come.

A COPY of gigabytes then stands in nobody's memory, and others' statements do not wait while one block of it is
written. The file has a segment's layout, a record in each block, and lies beside the segments:

    log/<16 hex digits>.spill

It counts when the log has a record with its name, which is synced after it: so the group is in the log whole or not
at all. It goes when that record's epoch is committed, and a file that no record names goes at the log's next start.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import sync_directory
from risingpy.storage.log.segment import (
    ALIGNMENT,
    DamagedLog,
    LogRecord,
    encode_block,
    map_segment,
    segment_header,
    write_at,
)

SUFFIX = ".spill"
_FIRST = 1  # the number of the first record in a file


class Spill:
    """A file that is being written. For one thread; IoError if the disk refuses."""

    def __init__(self, directory: Path, put: Callable[[str, Path], None] | None = None) -> None:
        """`put` makes the rows of a name, in a file, durable elsewhere, where the truth is."""
        self._put = put
        self.name = secrets.token_hex(8)
        self._directory = directory
        self._path = spill_path(directory, self.name)
        self._salt = secrets.randbits(32)
        self._offset = ALIGNMENT
        self._next = _FIRST
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            write_at(self._descriptor, segment_header(_FIRST, self._salt), 0)
        except OSError as error:
            raise self._failed(error) from error

    def append(self, record: LogRecord) -> None:
        """Writes a record, not synced."""
        assert self._descriptor is not None
        block = encode_block([record], self._next, self._salt)
        try:
            write_at(self._descriptor, block, self._offset)
        except OSError as error:
            raise self._failed(error) from error
        self._offset += len(block)
        self._next += 1

    def finish(self) -> pa.Table:
        """Makes the file durable. Its rows, which lie in the file: nothing is read before it is needed."""
        assert self._descriptor is not None
        try:
            if self._put is None:
                os.fsync(self._descriptor)
                sync_directory(self._directory)
            else:
                self._put(self.name, self._path)
        except OSError as error:
            raise self._failed(error) from error
        os.close(self._descriptor)
        self._descriptor = None
        return pa.concat_tables([record.table() for record in _records(self._path, checked=False)])

    def discard(self) -> None:
        """The rows are not wanted. Not after they went to the log."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._path.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> Exception:
        self.discard()
        return disk_failure(f"cannot write {self._path}", error)


def spill_path(directory: Path, name: str) -> Path:
    """Where a spill's rows lie."""
    return directory / f"{name}{SUFFIX}"


def spill_paths(directory: Path) -> list[Path]:
    """All files of spills in a log's directory."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def spilled_records(directory: Path, record: LogRecord) -> Iterator[LogRecord]:
    """The records that `record` stands for, with its table and lsn. DamagedLog if the file is not what was written."""
    assert record.spill is not None
    path = spill_path(directory, record.spill)
    for found in _records(path, checked=True):
        yield replace(found, table_id=record.table_id, table_version=record.table_version, lsn=record.lsn)


def _records(path: Path, *, checked: bool) -> Iterator[LogRecord]:
    segment = map_segment(path)
    offset, number = ALIGNMENT, _FIRST
    while offset < len(segment.data):
        block = segment.block_at(offset)
        if block is None or block.first_lsn != number:
            raise DamagedLog(f"{path} is damaged at byte {offset}")
        yield from segment.records_of(block, checked=checked)
        offset, number = block.end, block.last_lsn + 1
