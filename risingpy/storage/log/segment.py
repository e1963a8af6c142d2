"""The write-ahead log's files: segments of blocks of records. All integers are little-endian.

    segment   64 bytes of header, then blocks; preallocated, zeros to the end
      header  "RPYLOG01" | first lsn u64 | salt u64 | crc u32 of those | zeros
    block     header, one entry per record, then the payloads; starts at a multiple of 64
      header  "BLOK" | crc u32 | bytes of the block u64 | lsn of the first record u64 | number of records u32 | 0 u32
      entry   table id u32 | bytes of schema u32 | table version u64 | start u64 | length u64 | payload crc u32
              | kind u32
      payload at `start` bytes from the block's start, a multiple of 64: the Arrow IPC message of the chunk's
              schema (`bytes of schema` long), then that of its record batch (kind 0); or the name of
              a file with many such records (kind 1, `log_spill`); or the offset of a pushed source,
              whose id stands for the table's, after the rows of the same group (kind 2)

A block's crc covers the rest of its header and its entries, and begins from the segment's salt, so that rows
which happen to look like a block are never taken for one. A block is what one fsync made durable: the next
one is written only after that. So a damaged block at the end is a write that power loss tore apart, whose
clients were never answered, and a damaged block with another one after it is corruption.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from risingpy.errors import IoError
from risingpy.formats import LOG, IncompatibleStore, unreadable, way_out

SUFFIX = ".log"
ALIGNMENT = 64
_NAME = b"RPYLOG"
_MAGIC = _NAME + b"%02d" % LOG.written
_BLOCK_MAGIC = b"BLOK"
_SEGMENT = struct.Struct("<8sQQI")
_BLOCK = struct.Struct("<4sIQQII")
_ENTRY = struct.Struct("<IIQQQII")
_INLINE, _SPILLED, _OFFSET = 0, 1, 2  # kinds of payload


class DamagedLog(IoError):
    """The log does not hold what was written to it: the operator restores the file."""

    sqlstate = "XX001"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The rows that one statement wrote to one table. `lsn` is 0 until the log gives it one.

    With `spill`, the rows are in the file of that name, and the payload is the name. With `offset` there are no rows:
    `table_id` is a source, and the payload is how far the log has its rows.
    """

    table_id: int
    table_version: int
    schema_bytes: int
    payload: pa.Buffer
    lsn: int = 0
    spill: str | None = None
    offset: str | None = None

    @classmethod
    def of(cls, table_id: int, table_version: int, chunk: pa.Table) -> LogRecord:
        """A record of a change chunk. ValueError if a column of it is over 2 GiB."""
        batches = chunk.combine_chunks().to_batches()
        if len(batches) > 1:
            raise ValueError("a change chunk for the log must fit in one record batch")
        batch = batches[0] if batches else pa.RecordBatch.from_pylist([], chunk.schema)
        schema = batch.schema.serialize()
        payload = pa.py_buffer(b"".join((schema, batch.serialize())))
        return cls(table_id, table_version, schema.size, payload)

    @classmethod
    def of_spill(cls, table_id: int, table_version: int, name: str) -> LogRecord:
        """A record of the rows in a spill's file."""
        return cls(table_id, table_version, 0, pa.py_buffer(name.encode()), spill=name)

    @classmethod
    def of_offset(cls, source_id: int, offset: str) -> LogRecord:
        """A record that the log has a source's rows up to an offset."""
        return cls(source_id, 0, 0, pa.py_buffer(offset.encode()), offset=offset)

    def table(self) -> pa.Table:
        """The change chunk; its columns lie in the payload, nothing is copied."""
        schema = _schema(self.payload.slice(0, self.schema_bytes).to_pybytes())
        return pa.Table.from_batches([pa.ipc.read_record_batch(self.payload.slice(self.schema_bytes), schema)])


@lru_cache(maxsize=1024)
def _schema(message: bytes) -> pa.Schema:
    # Reading the schema takes four times as long as reading a batch of a single row.
    return pa.ipc.read_schema(pa.py_buffer(message))


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Where a block lies in its segment, and which records it holds."""

    offset: int
    size: int
    first_lsn: int
    records: int

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def last_lsn(self) -> int:
        return self.first_lsn + self.records - 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment's header and its bytes."""

    path: Path
    first_lsn: int
    salt: int
    data: memoryview
    buffer: pa.Buffer

    def block_at(self, offset: int) -> BlockPlace | None:
        """The block at `offset`, its header and entries checked; None if there is none that is whole."""
        data = self.data
        if offset + _BLOCK.size > len(data) or data[offset : offset + 4] != _BLOCK_MAGIC:
            return None
        _, crc, size, first_lsn, records, _ = _BLOCK.unpack_from(data, offset)
        head = _BLOCK.size + records * _ENTRY.size
        if not head <= size <= len(data) - offset or crc != zlib.crc32(data[offset + 8 : offset + head], self.salt):
            return None
        return BlockPlace(offset, size, first_lsn, records)

    def block_behind(self, offset: int) -> BlockPlace | None:
        """The first block that begins after `offset`."""
        rest = self.data[offset:].tobytes()
        found = rest.find(_BLOCK_MAGIC, 1)
        while found >= 0:
            block = self.block_at(offset + found)
            if block is not None:
                return block
            found = rest.find(_BLOCK_MAGIC, found + 1)
        return None

    def records_of(
        self, block: BlockPlace, table_ids: frozenset[int] | None = None, *, checked: bool = True
    ) -> Iterator[LogRecord]:
        """The block's records, of `table_ids` only if given.

        DamagedLog if a payload is not what was written, if it is to be `checked`.
        """
        entries = self.data[block.offset + _BLOCK.size :][: block.records * _ENTRY.size]
        for lsn, entry in enumerate(_ENTRY.iter_unpack(entries), block.first_lsn):
            table_id, schema_bytes, version, start, length, crc, kind = entry
            if table_ids is not None and table_id not in table_ids:
                continue
            start += block.offset
            if checked and zlib.crc32(self.data[start : start + length]) != crc:
                raise DamagedLog(f"{self.path} is damaged: record {lsn} is not what was written")
            payload = self.buffer.slice(start, length)
            text = None if kind == _INLINE else payload.to_pybytes().decode()
            spill, offset = (text, None) if kind == _SPILLED else (None, text)
            yield LogRecord(table_id, version, schema_bytes, payload, lsn, spill, offset)

    def spills_of(self, block: BlockPlace) -> dict[int, str]:
        """The names of the spills in a whole block, by the lsns of their records."""
        return {r.lsn: r.spill for r in self.records_of(block, checked=False) if r.spill is not None}

    def is_whole(self, block: BlockPlace) -> bool:
        """True if every payload is what was written."""
        try:
            return sum(1 for _ in self.records_of(block)) == block.records
        except DamagedLog:
            return False


def segment_path(directory: Path, first_lsn: int) -> Path:
    """Names sort as their lsns do."""
    return directory / f"{first_lsn:020d}{SUFFIX}"


def segment_paths(directory: Path) -> dict[int, Path]:
    """The segments of a log by the lsn of their first record, oldest first."""
    return {int(path.stem): path for path in sorted(directory.glob(f"*{SUFFIX}"))}


def segment_header(first_lsn: int, salt: int) -> bytes:
    """The 64 bytes that a segment begins with."""
    head = struct.pack("<8sQQ", _MAGIC, first_lsn, salt)
    return (head + struct.pack("<I", zlib.crc32(head))).ljust(ALIGNMENT, b"\0")


def open_segment(path: Path) -> Segment:
    """Maps a segment of the log. DamagedLog if its header is not one."""
    segment = map_segment(path)
    if path.stem != f"{segment.first_lsn:020d}":
        raise DamagedLog(f"{path} is damaged: its header is not that of a log segment")
    return segment


def segment_version(head: bytes) -> int | None:
    """The version of the format that a segment's first eight bytes name; None if they are not those of a segment."""
    digits = head[len(_NAME) : len(_MAGIC)]
    return int(digits) if head.startswith(_NAME) and len(head) >= len(_MAGIC) and digits.isdigit() else None


def map_segment(path: Path) -> Segment:
    """Maps a file with a segment's layout.

    DamagedLog if its header is not one, IncompatibleStore if it is of a version that is not read.
    """
    with pa.memory_map(str(path)) as file:
        buffer = file.read_buffer()
    data = memoryview(buffer)
    if len(data) < ALIGNMENT:
        raise DamagedLog(f"{path} is damaged: it has no header")
    magic, first_lsn, salt, crc = _SEGMENT.unpack_from(data)
    has = {LOG.name: segment_version(magic)}
    told = unreadable(has, [LOG])
    if told is not None and has[LOG.name] is not None:
        raise IncompatibleStore(f"{path} {told}", hint=way_out(has, [LOG]))
    if magic != _MAGIC or crc != zlib.crc32(data[: _SEGMENT.size - 4]):
        raise DamagedLog(f"{path} is damaged: its header is not that of a log segment")
    return Segment(path, first_lsn, salt, data, buffer)


def block_size(records: Sequence[LogRecord]) -> int:
    """Bytes that the records take as one block."""
    payloads = sum(_aligned(record.payload.size) for record in records)
    return _aligned(_BLOCK.size + len(records) * _ENTRY.size) + payloads


def encode_block(records: Sequence[LogRecord], first_lsn: int, salt: int) -> bytes:
    """The bytes of a block."""
    start = _aligned(_BLOCK.size + len(records) * _ENTRY.size)
    entries, payloads = [], []
    for record in records:
        payload = record.payload
        entries.append(
            _ENTRY.pack(
                record.table_id, record.schema_bytes, record.table_version, start, payload.size,
                zlib.crc32(payload), _kind_of(record),
            )
        )  # fmt: skip
        padded = _aligned(payload.size)
        payloads += [payload, bytes(padded - payload.size)]
        start += padded
    rest = _BLOCK.pack(_BLOCK_MAGIC, 0, start, first_lsn, len(records), 0)[8:] + b"".join(entries)
    head = _BLOCK_MAGIC + struct.pack("<I", zlib.crc32(rest, salt)) + rest
    return b"".join([head.ljust(_aligned(len(head)), b"\0"), *payloads])


def _kind_of(record: LogRecord) -> int:
    if record.offset is not None:
        return _OFFSET
    return _INLINE if record.spill is None else _SPILLED


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Writes all of it, however the system cuts it."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
