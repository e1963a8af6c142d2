"""The log of rows that clients wrote: what is in it survives `kill -9` and power loss.

In: groups of change chunks, from any thread; a group (a statement or a transaction) is kept whole or not at
all. Out: the same records, in the order of their lsns 1, 2, 3 …, in this process and, with `LogReader`, in
others. Concurrent callers share one fsync: the first becomes the writer, and whoever comes while it waits
for the disk goes into the next block together, which one of them writes. Each thread that waits is woken
once. Layout of the files: `log_segment`.

Where shared storage has the truth (`LogTruth`), a block is durable when it is there. The files are then what tasks read
it from, and are not synced.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from risingpy.errors import CannotConnectNow, IoError, SqlError
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import make_directory, sync_directory
from risingpy.storage.fault_points import reach
from risingpy.storage.log.reader import LogReader
from risingpy.storage.log.segment import (
    ALIGNMENT,
    DamagedLog,
    LogRecord,
    Segment,
    block_size,
    encode_block,
    open_segment,
    segment_header,
    segment_path,
    segment_paths,
    write_at,
)
from risingpy.storage.log.spill import Spill, spill_path, spill_paths
from risingpy.storage.tuning import DEFAULT_TUNING

__all__ = ["DamagedLog", "LogReader", "LogRecord", "WriteAheadLog", "log_directory"]

LOG = logging.getLogger(__name__)

LARGEST_BLOCK = 256 << 20  # what one fsync takes at most, unless a single group is larger
_UNFINISHED = ".new"


def log_directory(data_dir: Path) -> Path:
    """Where the log of a data directory lies."""
    return data_dir / "log"


class LogTruth(Protocol):
    """Where blocks become durable, if not in the log's own files."""

    def append_block(self, first_lsn: int, records: int, salt: int, block: bytes, spills: Mapping[str, int]) -> None:
        """Makes a block durable. Raises SqlError; nobody may append any more then."""
        ...

    def put_spill(self, name: str, path: Path) -> int:
        """Makes the rows of a spill durable; returns of how many pieces they are. Raises SqlError."""
        ...

    def fail(self, error: SqlError) -> None:
        """The log's files could not follow: the server ends."""


class WriteAheadLog:
    """Appends to the log; one process at a time may hold it (the meta store's lock sees to that)."""

    def __init__(
        self,
        directory: Path,
        *,
        segment_bytes: int = DEFAULT_TUNING.log_segment_bytes,
        first_lsn: int = 1,
        truth: LogTruth | None = None,
        kept_spills: Collection[str] = (),
    ) -> None:
        """Opens the log, or makes a new one, whose records begin with `first_lsn`.

        Cuts a torn tail; raises DamagedLog on any other damage. `kept_spills` are those that the caller appends next.
        """
        self.directory = directory
        self._new_log_begins = first_lsn
        self._truth = truth
        self._pieces: dict[str, int] = {}  # of spills that are durable, and that no record names yet
        self._segment_bytes = segment_bytes
        self._changed = threading.Condition()
        self._waiting: list[_Group] = []
        self._writing = False
        self._broken: BaseException | None = None
        self._last_lsn = 0
        self._first_lsns: list[int] = []
        self._spills: dict[int, str] = {}  # by the lsn of the record that names them
        self._kept_spills = kept_spills
        self._tail: _Tail | None = None
        try:
            self._open()
        except OSError as error:
            raise disk_failure(f"cannot open the write-ahead log in {directory}", error) from error

    @property
    def last_lsn(self) -> int:
        """The last durable record; 0 if there never was one."""
        with self._changed:
            return self._last_lsn

    @property
    def size_bytes(self) -> int:
        """Bytes of the log's files that hold records."""
        with self._changed:
            full = sum(segment_path(self.directory, lsn).stat().st_size for lsn in self._first_lsns[:-1])
            spills = [spill_path(self.directory, name) for name in self._spills.values()]
            return full + self._open_tail().offset - ALIGNMENT + sum(path.stat().st_size for path in spills)

    def spill(self) -> Spill:
        """A file for rows that come to more than memory should hold; a record in a group makes them count."""
        return Spill(self.directory, None if self._truth is None else self._put_spill)

    def append(self, group: Sequence[LogRecord], first: Callable[[int], None] | None = None) -> int:
        """Makes the group durable and returns the lsn of its last record. IoError if the disk refuses.

        After an IoError the group is not in the log, or, if fsync failed, it may be after a restart; then
        every later call fails too. `first` is called by this thread with the lsn of the group's first record, before
        anything is written; if it raises, the group is not in the log.
        """
        if not group:
            return self.last_lsn
        mine = _Group(group, block_size(group), first)
        with self._changed:
            self._waiting.append(mine)
            must_wait, self._writing = self._writing, True
        if must_wait:
            mine.turn.acquire()
        if mine.last_lsn is None and mine.error is None:
            self._write_waiting()
        if isinstance(mine.error, CannotConnectNow):
            raise mine.error
        if mine.failed_first is not None:
            raise mine.failed_first
        if mine.error is not None:
            raise disk_failure("cannot write to the write-ahead log", mine.error) from mine.error
        assert mine.last_lsn is not None
        return mine.last_lsn

    def refuse_more(self, error: BaseException) -> None:
        """Every later append fails: what the log has is no longer what its readers know. Only a new start helps."""
        with self._changed:
            if self._broken is None:
                self._broken = error

    def read(self, after_lsn: int, up_to_lsn: int, table_ids: Collection[int] | None = None) -> Iterator[LogRecord]:
        """See `LogReader.read`."""
        return LogReader(self.directory).read(after_lsn, up_to_lsn, table_ids)

    def truncate(self, up_to_lsn: int) -> None:
        """Gives back the space of files whose records are all at or before `up_to_lsn`.

        Oldest first, and no further than the disk lets it: a file that stays must not be followed by a gap.
        """
        with self._changed:
            for lsn in [lsn for lsn in self._spills if lsn <= up_to_lsn]:
                with contextlib.suppress(OSError):  # the next start finds it again
                    spill_path(self.directory, self._spills.pop(lsn)).unlink(missing_ok=True)
            while len(self._first_lsns) > 1 and self._first_lsns[1] - 1 <= up_to_lsn:
                try:
                    reach("log.file.remove")
                    segment_path(self.directory, self._first_lsns[0]).unlink(missing_ok=True)
                except OSError as error:
                    LOG.warning("the log keeps a file for now: %s", error)
                    return
                self._first_lsns.pop(0)

    def close(self) -> None:
        """Waits for appends that are under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing and not self._waiting)
            if self._tail is not None:
                os.close(self._tail.descriptor)
                self._tail = None

    def _write_waiting(self) -> None:
        """Writes what waits, as one block; then wakes those who have waited for it, and who writes the next one."""
        with self._changed:
            groups = self._take_waiting()
        error: BaseException | None = None
        try:
            self._refuse_broken()
            groups[0].call_first(self._last_lsn + 1)
            self._write([record for group in groups for record in group.records])
        except BaseException as caught:
            error = caught  # also for those who wait with us, and must not wait for ever
        with self._changed:
            for group in groups:
                if error is None:
                    for lsn, record in enumerate(group.records, self._last_lsn + 1):
                        if record.spill is not None:
                            self._spills[lsn] = record.spill
                    self._last_lsn += len(group.records)
                    group.last_lsn = self._last_lsn
                else:
                    group.error = error
            self._writing = bool(self._waiting)
            next_writer = self._waiting[:1]
            self._changed.notify_all()  # who closes the log
        for group in (*groups, *next_writer):
            group.turn.release()

    def _take_waiting(self) -> list[_Group]:
        size = taken = 0
        for group in self._waiting:
            size += group.size
            if taken and (size > LARGEST_BLOCK or group.first is not None):
                break
            taken += 1
            if group.first is not None:  # alone, so that its own thread writes it, and knows its lsn before
                break
        groups, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return groups

    def _write(self, records: Sequence[LogRecord]) -> None:
        """Writes and syncs one block; only the thread that set `_writing` comes here."""
        size = block_size(records)
        first_lsn = self._last_lsn + 1
        tail = self._open_tail()
        if tail.offset + size > tail.capacity:
            tail = self._start_segment(first_lsn, size)
        block = encode_block(records, first_lsn, tail.salt)
        try:
            if self._truth is not None:
                self._append_to_truth(self._truth, records, block, tail.salt)
            reach("log.block.write")
            write_at(tail.descriptor, block, tail.offset)
            if self._truth is None:
                reach("log.block.sync")
                os.fdatasync(tail.descriptor)
            reach("log.block.acknowledge")
        except BaseException as error:
            # The kernel may have dropped the pages that it could not write: no later fsync can be believed.
            self._broken = error
            if self._truth is not None:
                self._truth.fail(error if isinstance(error, SqlError) else IoError(f"cannot write the log: {error}"))
            raise
        tail.offset += size

    def _refuse_broken(self) -> None:
        if isinstance(self._broken, CannotConnectNow):
            raise self._broken
        if self._broken is not None:
            raise IoError(f"an earlier write failed, start the server again: {self._broken}")

    def _append_to_truth(self, truth: LogTruth, records: Sequence[LogRecord], block: bytes, salt: int) -> None:
        spills = {record.spill: self._pieces.pop(record.spill) for record in records if record.spill is not None}
        truth.append_block(self._last_lsn + 1, len(records), salt, block, spills)

    def _put_spill(self, name: str, path: Path) -> None:
        assert self._truth is not None
        self._pieces[name] = self._truth.put_spill(name, path)

    def _open_tail(self) -> _Tail:
        if self._tail is None:
            raise IoError("the write-ahead log is closed")
        return self._tail

    def _start_segment(self, first_lsn: int, room: int) -> _Tail:
        """Goes on in a new file, with room for a block of `room` bytes; nothing has changed if that fails."""
        capacity = max(self._segment_bytes, ALIGNMENT + room)
        salt = secrets.randbits(32)
        path = segment_path(self.directory, first_lsn)
        unfinished = path.with_suffix(_UNFINISHED)
        reach("log.segment.make")
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, capacity)
            write_at(descriptor, segment_header(first_lsn, salt), 0)
            os.fsync(descriptor)
            reach("log.segment.name")
            os.rename(unfinished, path)
            reach("log.segment.sync")
            sync_directory(self.directory)
        except OSError:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
            raise
        if self._tail is not None:
            os.close(self._tail.descriptor)
        self._tail = _Tail(descriptor, ALIGNMENT, capacity, salt)
        if self._first_lsns[-1:] != [first_lsn]:
            self._first_lsns.append(first_lsn)
        return self._tail

    def _open(self) -> None:
        make_directory(self.directory)
        for unfinished in self.directory.glob(f"*{_UNFINISHED}"):
            unfinished.unlink()
        paths = segment_paths(self.directory)
        self._first_lsns = list(paths)
        if not paths:
            self._last_lsn = self._new_log_begins - 1
            self._start_segment(self._new_log_begins, 0)
            return
        self._last_lsn = self._first_lsns[0] - 1
        for path in paths.values():
            segment = open_segment(path)
            if segment.first_lsn != self._last_lsn + 1:
                raise DamagedLog(f"{path} is damaged: records are missing after {self._last_lsn}")
            end = self._read_to_end(segment)
        _refuse_blocks_behind(segment, end)
        named = {*self._spills.values(), *self._kept_spills}
        for path in spill_paths(self.directory):
            if path.stem not in named:
                path.unlink()
        # Of a committed epoch, a spill may be gone though its record stands.
        existing = {path.stem for path in spill_paths(self.directory)}
        self._spills = {lsn: name for lsn, name in self._spills.items() if name in existing}
        self._tail = _reopen(segment, end, self._segment_bytes)

    def _read_to_end(self, segment: Segment) -> int:
        """Checks the segment's blocks; returns where the last whole one ends."""
        end = ALIGNMENT
        while True:
            block = segment.block_at(end)
            if block is None or block.first_lsn != self._last_lsn + 1 or not segment.is_whole(block):
                return end
            self._spills.update(segment.spills_of(block))
            end, self._last_lsn = block.end, block.last_lsn


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True)
class _Group:
    """Records that wait to be written together, and how that went. Its thread waits for its `turn`.

    That comes when the records are written, or when nobody writes and the thread is to write the next block.
    """

    records: Sequence[LogRecord]
    size: int
    first: Callable[[int], None] | None = None
    last_lsn: int | None = None
    error: BaseException | None = None
    failed_first: BaseException | None = None
    turn: threading.Lock = field(default_factory=_held_lock)

    def call_first(self, lsn: int) -> None:
        if self.first is not None:
            try:
                self.first(lsn)
            except BaseException as error:
                self.failed_first = error
                raise


@dataclass(slots=True)
class _Tail:
    """The file that is appended to, and where."""

    descriptor: int
    offset: int
    capacity: int
    salt: int


def _refuse_blocks_behind(segment: Segment, end: int) -> None:
    """DamagedLog if a block begins after the one at `end`, which is not whole and yet was durable once."""
    later = segment.block_behind(end)
    if later is not None:
        raise DamagedLog(f"{segment.path} is damaged at byte {end}: there are later records at byte {later.offset}")


def _reopen(segment: Segment, end: int, segment_bytes: int) -> _Tail:
    """Opens the segment to append at `end`, and clears what a torn write left there."""
    descriptor = os.open(segment.path, os.O_RDWR)
    capacity = max(segment_bytes, len(segment.data))
    if np.frombuffer(segment.data, np.uint8)[end:].any():
        write_at(descriptor, bytes(len(segment.data) - end), end)
    os.posix_fallocate(descriptor, 0, capacity)
    os.fsync(descriptor)
    return _Tail(descriptor, end, capacity, segment.salt)
