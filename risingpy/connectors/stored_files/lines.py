"""Lines of files as messages. A line's position is that of its first byte, and belongs to the range that this is in.

So each line is in one of the ranges, wherever a file is cut. Blank lines are left out. Lines end with a line feed,
after a carriage return perhaps.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.seekable import HEADER, MESSAGES
from risingpy.connectors.stored_files.file_bytes import FileBytes

READ_ON = 1 << 16  # bytes after a range, where its last line may end
LONGEST_LINE = 16 << 20
_KNOWN_HEADERS = 1_000
_BOM = b"\xef\xbb\xbf"
_LINE_FEED, _CARRIAGE_RETURN = 10, 13


class LineReader:
    """A `MessageReader` of files. A line of more than `LONGEST_LINE` bytes is a message without a payload, and bad.

    With `has_header` the first line of a file is no message, but stands in the metadata of each table, as `HEADER`.
    """

    def __init__(self, content: FileBytes, *, has_header: bool) -> None:
        self._content = content
        self._has_header = has_header
        self._headers: OrderedDict[str, bytes] = OrderedDict()

    def read(self, split: str, start: int, end: int) -> pa.Table:
        first = max(start - 1, 0)  # the byte before the range says whether a line begins with it
        data, is_cut = self._whole_lines(split, first, end)
        lines = _LinesOfRange(np.frombuffer(data, np.uint8), first, start, is_cut=is_cut)
        if self._has_header and start == 0:
            lines.without_first()
        table = lines.table()
        return table.replace_schema_metadata({HEADER: self._header(split)}) if self._has_header else table

    def close(self) -> None:
        self._content.close()

    def _whole_lines(self, name: str, first: int, end: int) -> tuple[bytes, bool]:
        """The bytes from `first` to the end of the line that the last byte before `end` is in; whether it is cut."""
        more = READ_ON
        while True:
            data = self._content.read(name, first, end + more)
            line_end = data.find(b"\n", max(end - 1 - first, 0))
            if line_end >= 0:
                return data[: line_end + 1], False
            if len(data) < end + more - first:
                return data, False
            if more > LONGEST_LINE:
                return data, True
            more *= 4

    def _header(self, name: str) -> bytes:
        found = self._headers.pop(name, None)
        if found is None:
            data, _ = self._whole_lines(name, 0, 1)
            found = data.removeprefix(_BOM).rstrip(b"\r\n")
        self._headers[name] = found
        if len(self._headers) > _KNOWN_HEADERS:
            self._headers.popitem(last=False)
        return found


class _LinesOfRange:
    """The lines that begin in a range: where, and how long they are without what ends them."""

    def __init__(self, data: npt.NDArray[np.uint8], first: int, start: int, *, is_cut: bool) -> None:
        """`data` are the bytes from `first` on, which is `start` or, if that is not 0, the byte before it."""
        feeds = np.flatnonzero(data == _LINE_FEED)
        self._data = data
        self._first = first
        self._kept = data != _LINE_FEED
        ends = feeds + 1 if len(feeds) and feeds[-1] == len(data) - 1 else np.append(feeds + 1, len(data))
        begins = np.append(0, ends[:-1])
        if first < start:  # the line of the byte before the range belongs to the range before
            self._kept[: ends[0] if len(data) else 0] = False
            begins, ends = begins[1:], ends[1:]
        elif data[:3].tobytes() == _BOM:
            self._kept[:3] = False
        returns = feeds[feeds > 0] - 1
        self._kept[returns[data[returns] == _CARRIAGE_RETURN]] = False
        if not len(data):
            begins = ends = feeds
        self._begins = begins
        self._cut = len(begins) - 1 if is_cut else -1
        before = np.concatenate([[0], np.cumsum(self._kept, dtype=np.int64)])
        self._lengths = before[ends] - before[begins]

    def without_first(self) -> None:
        """Leaves out the first line."""
        if len(self._begins):
            self._kept[: self._begins[1] if len(self._begins) > 1 else len(self._kept)] = False
            self._begins, self._lengths, self._cut = self._begins[1:], self._lengths[1:], self._cut - 1

    def table(self) -> pa.Table:
        """The lines as `MESSAGES`."""
        there = self._lengths > 0  # a blank line has no bytes, so the others' offsets do not know of it
        lengths = self._lengths[there]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        content = pa.py_buffer(self._data[self._kept])
        payload = pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(offsets), content])
        if self._cut >= 0:
            is_cut = (np.arange(len(self._lengths)) == self._cut)[there]
            payload = pc.if_else(pa.array(is_cut), pa.scalar(None, pa.binary()), payload)
        positions = pa.array(self._begins[there] + self._first, pa.int64())
        nulls = [pa.nulls(len(lengths), MESSAGES.field(name).type) for name in ("key", "timestamp", "headers")]
        return pa.Table.from_arrays([nulls[0], payload, positions, nulls[1], nulls[2]], schema=MESSAGES)
