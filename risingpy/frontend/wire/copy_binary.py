"""COPY FROM STDIN (FORMAT binary), as asyncpg's copy_records_to_table sends it.

file: 'PGCOPY\\n\\377\\r\\n\\0' | int32 flags | int32 extension length, extension
      | rows: int16 columns, per column int32 length (-1: NULL) and the binary form | int16 -1
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pyarrow as pa

from risingpy.errors import BadCopyFileFormat, SqlError
from risingpy.frontend.results import ResultField
from risingpy.frontend.wire.copy_rows import check_row_length
from risingpy.types.forms import decode_binary

SIGNATURE = b"PGCOPY\n\377\r\n\0"
HEADER = SIGNATURE + struct.pack("!ii", 0, 0)
TRAILER = b"\xff\xff"
_BATCH_ROWS = 8192
_INT16 = struct.Struct("!h")
_INT32 = struct.Struct("!i")


class _Incomplete(Exception):
    """More bytes are needed."""


class BinaryDecoder:
    """Turns the client's CopyData, cut anywhere, into batches with the fields' types and the names c0, c1, …"""

    def __init__(self, relation: str, fields: Sequence[ResultField]) -> None:
        self._relation = relation
        self._fields = fields
        self._data = b""
        self._started = False
        self._ended = False
        self._row = 0
        self._columns: list[list[object]] = [[] for _ in fields]

    def feed(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """Takes a CopyData message; gives rows when there are enough for a batch."""
        self._data += data
        at = 0
        try:
            if not self._started:
                at = self._read_header()
                self._started = True
            while not self._ended:
                at = self._read_row(at)
                if self._columns and len(self._columns[0]) >= _BATCH_ROWS:
                    yield self._batch()
        except _Incomplete:
            pass
        self._data = self._data[at:]
        check_row_length(len(self._data))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The remaining rows. Raises an error if the data ends within a row."""
        if not self._started:
            raise BadCopyFileFormat("COPY file signature not recognized")
        if self._data and not self._ended:
            raise self._located(BadCopyFileFormat("unexpected EOF in COPY data"))
        if self._columns and self._columns[0]:
            yield self._batch()

    def _read_header(self) -> int:
        if not SIGNATURE.startswith(self._data[: len(SIGNATURE)]):
            raise BadCopyFileFormat("COPY file signature not recognized")
        if len(self._data) < len(HEADER):
            raise _Incomplete
        flags: int
        extension: int
        flags, extension = struct.unpack_from("!Ii", self._data, len(SIGNATURE))
        if flags & 0xFFFF0000:
            raise BadCopyFileFormat("unrecognized critical flags in COPY file header")
        if extension < 0:
            raise BadCopyFileFormat("invalid COPY file header (missing length)")
        if len(self._data) < len(HEADER) + extension:
            raise _Incomplete
        return len(HEADER) + extension

    def _read_row(self, at: int) -> int:
        data, end = self._data, len(self._data)
        if at + 2 > end:
            raise _Incomplete
        (count,) = _INT16.unpack_from(data, at)
        if count == -1:
            self._ended = True
            return at + 2
        if count != len(self._fields):
            wanted = len(self._fields)
            self._row += 1
            raise self._located(BadCopyFileFormat(f"row field count is {count}, expected {wanted}"))
        at += 2
        raw: list[bytes | None] = []
        for _ in self._fields:
            if at + 4 > end:
                raise _Incomplete
            (length,) = _INT32.unpack_from(data, at)
            at += 4
            if length == -1:
                raw.append(None)
                continue
            if length < 0:
                raise self._located(BadCopyFileFormat("invalid field size"))
            if at + length > end:
                raise _Incomplete
            raw.append(data[at : at + length])
            at += length
        self._row += 1
        self._append(raw)
        return at

    def _append(self, raw: Sequence[bytes | None]) -> None:
        for field, column, value in zip(self._fields, self._columns, raw, strict=True):
            try:
                column.append(None if value is None else decode_binary(field.type, value))
            except SqlError as error:
                error.where = f"COPY {self._relation}, line {self._row}, column {field.name}"
                raise

    def _located(self, error: SqlError) -> SqlError:
        error.where = f"COPY {self._relation}, line {self._row}"
        return error

    def _batch(self) -> pa.RecordBatch:
        arrays = [pa.array(column, field.type.arrow) for field, column in zip(self._fields, self._columns, strict=True)]
        self._columns = [[] for _ in self._fields]
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))])
