"""COPY FROM STDIN in text and CSV format: bytes → Arrow batches, without a Python loop over rows.

The decoder cuts the data into blocks of whole rows. pyarrow.csv splits a block into string columns; escapes and types
are then decoded a column at a time. If the result could differ from PostgreSQL's, or an error occurs, copy_rows.py
decodes the block instead: it is exact, and its errors name the place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from risingpy.errors import SqlError
from risingpy.frontend.results import CopyFormat, CopyOptions, ResultField
from risingpy.frontend.wire.copy_rows import check_header, check_row_length, decode_rows, row_end, split_rows
from risingpy.types import BIGINT, INTEGER, SMALLINT, SqlType
from risingpy.types.forms import parse_column

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Places: TypeAlias = "npt.NDArray[np.int64]"  # of bytes in a block, ascending

_BLOCK_BYTES = 1 << 20
_NEWLINE = ord("\n")
_INTEGERS = (SMALLINT, INTEGER, BIGINT)
_END_OF_DATA = re.compile(rb"(?:\A|(?<=\n))\\\.(?:\r?\n|\r?\Z)")
# An escape that the columnar path does not decode.
_OTHER_ESCAPE = r"\\[^\\bfnrtv]|\\$"
_ESCAPES = (("\\b", "\b"), ("\\f", "\f"), ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\v", "\v"))


class DelimitedDecoder:
    """Turns the client's CopyData, cut anywhere, into batches with the fields' types and the names c0, c1, …"""

    def __init__(self, relation: str, fields: Sequence[ResultField], options: CopyOptions, time_zone: str) -> None:
        self._relation = relation
        self._fields = fields
        self._options = options
        self._time_zone = time_zone
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = _BLOCK_BYTES
        self._line = 1
        self._header_pending = options.header
        self._are_plain_numbers = True  # so far
        self._ended = False

    def feed(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """Takes a CopyData message; gives the complete rows when there are enough for a batch."""
        if self._ended:
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size >= self._wanted:
            yield from self._decode(last=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The remaining rows."""
        if not self._ended:
            yield from self._decode(last=True)

    def _decode(self, *, last: bool) -> Iterator[pa.RecordBatch]:
        data = b"".join(self._parts)
        raw = np.frombuffer(data, np.uint8)
        newlines = np.flatnonzero(raw == _NEWLINE)  # once for all: each look at every byte is a tenth of the work
        end = len(data) if last else self._rows_end(data, raw, newlines)
        # One byte is found far sooner than two.
        marker = _END_OF_DATA.search(data) if b"\\" in data and b"\\." in data else None
        if marker is not None and (marker.end() < len(data) or last or data.endswith(b"\n")):
            # Everything after the line `\.` is ignored.
            data = data[: marker.start()]
            end, last, self._ended = len(data), True, True
        block, rest = data[:end], data[end:]
        newlines = newlines[: np.searchsorted(newlines, end)]
        self._parts, self._size = [rest], len(rest)
        self._wanted = max(_BLOCK_BYTES, 2 * len(rest))
        check_row_length(len(rest))
        if len(block) > 2 * _BLOCK_BYTES:  # so there is a long row in it
            check_row_length(int(np.diff(newlines, prepend=-1, append=len(block)).max()) - 1)
        if self._header_pending and (block or (last and self._options.matches_header)):
            header_end = row_end(block, 0, self._options)
            skipped = len(block) if header_end < 0 else header_end + 1
            if self._options.matches_header:
                check_header(block[:skipped], self._relation, self._fields, self._options)
            self._line += 1
            block = block[skipped:]
            newlines = newlines[np.searchsorted(newlines, skipped) :] - skipped
            self._header_pending = False
        if block:
            yield self._decode_block(block, newlines)
            # As in copy_rows.py: newlines inside the first row of the data do not count.
            inside = row_end(block, 0, self._options) if self._line == 1 else 0
            self._line += len(newlines) - int(np.searchsorted(newlines, max(inside, 0)))

    def _rows_end(self, data: bytes, raw: Bytes, newlines: Places) -> int:
        """The length of the leading whole rows."""
        options = self._options
        if options.format is CopyFormat.TEXT:
            end = data.rfind(b"\n")
            while end > 0 and _trailing_backslashes(data, end) % 2:
                end = data.rfind(b"\n", 0, end)
            return end + 1
        if options.escape != options.quote and options.escape.encode() in data:
            end = start = 0
            while (start := row_end(data, end, options) + 1) > 0:
                end = start
            return end
        # A newline ends a row where the number of quotes before it is even.
        outside = newlines
        if options.quote.encode() in data:
            quotes = np.flatnonzero(raw == ord(options.quote))
            outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
        return int(outside[-1]) + 1 if len(outside) else 0

    def _decode_block(self, block: bytes, newlines: Places) -> pa.RecordBatch:
        if self._is_ordinary(block, newlines):
            if self._are_plain_numbers and not _may_have_hexadecimals(block):
                with suppress(SqlError, pa.ArrowInvalid):
                    return self._decode_columns(block, _INTEGERS)
                self._are_plain_numbers = False
            with suppress(SqlError, pa.ArrowInvalid):  # the exact path raises the error, with its place
                return self._decode_columns(block, ())
        rows = split_rows(block, self._options, self._line)
        return decode_rows(rows, self._relation, self._fields, self._options, self._time_zone)

    def _is_ordinary(self, block: bytes, newlines: Places) -> bool:
        """False if pyarrow.csv might split the block differently from PostgreSQL."""
        if b"\0" in block or not self._fields:
            return False
        has_returns = b"\r" in block
        if has_returns and not block.count(b"\r") == block.count(b"\r\n") == len(newlines):
            return False
        if len(self._fields) > 1 and (block[:1] in b"\r\n" or (np.diff(newlines) == 1 + has_returns).any()):
            return False  # pyarrow.csv reads an empty line as a row of empty values
        if self._options.format is CopyFormat.TEXT:
            if b"\\" not in block:
                return True
            delimiter = self._options.delimiter.encode()
            return not (b"\\\n" in block or b"\\\r" in block or b"\\" + delimiter in block or block.endswith(b"\\"))
        quote, escape = self._options.quote.encode(), self._options.escape.encode()
        if escape != quote and (escape in block or 2 * quote in block):
            return False
        return quote not in block or self._quotes_are_regular(block, ord(quote))

    def _quotes_are_regular(self, block: bytes, quote: int) -> bool:
        """True if each opening quote begins a field (or doubles the one before it) and each closing one ends it."""
        raw = np.frombuffer(block, np.uint8)
        places = np.flatnonzero(raw == quote)
        if len(places) % 2:
            return False
        borders = np.array([ord(self._options.delimiter), 10, 13, quote], np.uint8)
        before = raw[np.maximum(places[0::2] - 1, 0)]
        after = raw[np.minimum(places[1::2] + 1, len(raw) - 1)]
        opens = np.isin(before, borders) | (places[0::2] == 0)
        closes = np.isin(after, borders) | (places[1::2] == len(raw) - 1)
        return bool(opens.all() and closes.all())

    def _decode_columns(self, block: bytes, read_by_arrow: Collection[SqlType]) -> pa.RecordBatch:
        """Columns of the types `read_by_arrow` have no texts on the way, which takes half as long."""
        names = [f"c{index}" for index in range(len(self._fields))]
        options = self._options
        is_csv = options.format is CopyFormat.CSV
        if not block.endswith(b"\n"):
            block += b"\n"  # without it pyarrow.csv takes an empty last value for a quoted one if the one before it is
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=options.delimiter,
                quote_char=options.quote if is_csv else False,
                double_quote=is_csv and options.escape == options.quote,
                escape_char=False,
                newlines_in_values=is_csv,
                ignore_empty_lines=False,
            ),
            convert_options=csv.ConvertOptions(
                column_types={
                    name: field.type.arrow if self._is_read(field, read_by_arrow) else pa.string()
                    for name, field in zip(names, self._fields, strict=True)
                },
                null_values=[options.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        arrays = []
        for field, column in zip(self._fields, table.columns, strict=True):
            values = column.combine_chunks()
            if not self._is_read(field, read_by_arrow):
                texts = _unescape(values) if not is_csv and b"\\" in block else values
                texts = self._with_forced_nulls(field.name, texts)
                values = parse_column(field.type, texts, time_zone=self._time_zone)
            arrays.append(values)
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _is_read(self, field: ResultField, read_by_arrow: Collection[SqlType]) -> bool:
        """Whether Arrow makes the column's values, and not only its texts."""
        options = self._options
        return field.type in read_by_arrow and field.name not in options.force_not_null | options.force_null

    def _with_forced_nulls(self, column: str, texts: pa.Array) -> pa.Array:
        """The texts, of which those in quotes are NULL that are to be, and those without are none that are not to be.

        Arrow has taken what stands without quotes and is like NULL's text for NULL, and nothing else.
        """
        options = self._options
        found = texts
        if column in options.force_null:
            found = pc.if_else(pc.equal(texts, options.null), None, texts)
        if column in options.force_not_null:
            found = pc.if_else(texts.is_null(), options.null, found)
        return found


def _may_have_hexadecimals(block: bytes) -> bool:
    """Whether there is `0x` or `0X`, with which a number may begin for PyArrow, and none does for PostgreSQL 15.

    Every other integer PyArrow reads as PostgreSQL does, blanks around it included, or refuses.
    """
    raw = np.frombuffer(block, np.uint8)
    return any(
        letter in block and bool((raw[np.flatnonzero(raw == ord(letter)) - 1] == ord("0")).any())
        for letter in (b"x", b"X")
    )


def _trailing_backslashes(data: bytes, end: int) -> int:
    start = end
    while start > 0 and data[start - 1] == 0x5C:
        start -= 1
    return end - start


def _unescape(texts: pa.Array) -> pa.Array:
    """Decodes the escapes that COPY TO writes. Raises ArrowInvalid for others."""
    if not pc.any(pc.match_substring(texts, "\\")).as_py():
        return texts
    # A pair of backslashes becomes NUL, which no text contains, while the other escapes are decoded.
    texts = pc.replace_substring(texts, "\\\\", "\0")
    if pc.any(pc.match_substring_regex(texts, _OTHER_ESCAPE)).as_py():
        raise pa.ArrowInvalid("escapes beyond the ordinary")
    for escape, character in _ESCAPES:
        texts = pc.replace_substring(texts, escape, character)
    return pc.replace_substring(texts, "\0", "\\")
