"""COPY's text and CSV formats, row by row, exactly as PostgreSQL reads them (src/backend/commands/copyfromparse.c).

This is the specification, and it decodes what the fast path (copy_decode.py) leaves: escapes across rows, quotes inside
fields, malformed lines. Its errors name relation, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.errors import BadCopyFileFormat, SqlError
from risingpy.frontend.results import CopyFormat, CopyOptions, ResultField
from risingpy.frontend.wire.payload import decode_text
from risingpy.memory import COPIED_ROW_SHARE, share_of_memory
from risingpy.types.forms import parse_text

_MAX_SHOWN = 100  # characters of a value in an error's context
# Possessive: the engine would otherwise keep a state for each byte, in case that it has to go back: 60 times the line.
_TEXT_LINE = re.compile(rb"(?:[^\\\n]++|\\.)*+", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.)|\Z)", re.DOTALL)
_NAMED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row's bytes, and the number of the line where it ends."""

    line: int
    data: bytes


_LONGEST_ROW = 1 << 30  # as in PostgreSQL, if there is memory


class RowTooLong(SqlError):
    """The client must send shorter rows, or the server must get more memory."""

    sqlstate = "54000"


def check_row_length(length: int) -> None:
    """Raises RowTooLong for a row of so many bytes that the server's memory does not hold all copies of it."""
    most = min(_LONGEST_ROW, share_of_memory(COPIED_ROW_SHARE))
    if length > most:
        hint = f"It may have {most >> 20}MB: a 64th of the server's --memory, and 1GB at the most."
        raise RowTooLong("a row of COPY data is too long", hint=hint)


def split_rows(block: bytes, options: CopyOptions, first_line: int) -> Iterator[RawRow]:
    """Splits a block of whole rows; the last row may lack its newline."""
    line = first_line - 1
    at = 0
    crlf: bool | None = None
    while at < len(block):
        end = row_end(block, at, options)
        data = block[at : len(block) if end < 0 else end]
        at = len(block) if end < 0 else end + 1
        if crlf is None:
            crlf = data.endswith(b"\r")
        if crlf:
            data = data.removesuffix(b"\r")
        line += 1
        if options.format is CopyFormat.CSV and line > 1:
            # Newlines in quotes count, but not in the first row: PostgreSQL does not know line ends there yet.
            line += data.count(b"\n")
        yield RawRow(line, data)


def row_end(block: bytes, start: int, options: CopyOptions) -> int:
    """Where the newline is that ends the row which begins at `start`; -1 if it is not there."""
    if options.format is CopyFormat.TEXT:
        match = _TEXT_LINE.match(block, start)
        assert match is not None
        return match.end() if match.end() < len(block) and block[match.end()] == 10 else -1
    quote = options.quote.encode()
    escape = options.escape.encode()
    if escape == quote:
        return _csv_row_end(block, start, re.compile(rb"[\n" + re.escape(quote) + rb"]"), quote, None)
    return _csv_row_end(block, start, re.compile(rb"[\n" + re.escape(quote + escape) + rb"]"), quote, escape)


def _csv_row_end(block: bytes, start: int, special: re.Pattern[bytes], quote: bytes, escape: bytes | None) -> int:
    quoted = False
    escaped_at = -1
    for match in special.finditer(block, start):
        character = match[0]
        if character == escape:
            # An escape character escapes the one right after it, inside quotes.
            if quoted and escaped_at != match.start() - 1:
                escaped_at = match.start()
        elif character == quote:
            if not (quoted and escaped_at == match.start() - 1 and escaped_at >= 0):
                quoted = not quoted
        elif not quoted:
            return match.start()
    return -1


def decode_rows(
    rows: Iterator[RawRow], relation: str, fields: Sequence[ResultField], options: CopyOptions, time_zone: str
) -> pa.RecordBatch:
    """The typed columns of rows; raises 22P04 and the types' errors with their context."""
    columns: list[list[object]] = [[] for _ in fields]
    for row in rows:
        line = _decode_line(row, relation)
        for field, column, value in zip(fields, columns, _values(row, options, fields, line), strict=True):
            try:
                column.append(
                    None if value is None else parse_text(field.type, decode_text(value), time_zone=time_zone)
                )
            except SqlError as error:
                error.where = f'{line}, column {field.name}: "{_shown(value or b"")}"'
                raise
    arrays = [pa.array(column, field.type.arrow) for field, column in zip(fields, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{index}" for index in range(len(fields))])


def _decode_line(row: RawRow, relation: str) -> str:
    """What errors say of the row's place. Raises if its bytes are no text."""
    line = f"COPY {relation}, line {row.line}"
    try:
        decode_text(row.data)
    except SqlError as error:
        error.where = line
        raise
    return line


def _shown(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."


def _values(row: RawRow, options: CopyOptions, fields: Sequence[ResultField], line: str) -> Iterator[bytes | None]:
    """The row's values. As in PostgreSQL, the values before a missing one are read before its error is raised."""
    try:
        values = _split(row.data, options, fields)
        if len(values) > len(fields):
            raise BadCopyFileFormat("extra data after last expected column")
        yield from values
        if len(values) < len(fields):
            raise BadCopyFileFormat(f'missing data for column "{fields[len(values)].name}"')
    except SqlError as error:
        error.where = f'{line}: "{_shown(row.data)}"'
        raise


def _split(data: bytes, options: CopyOptions, fields: Sequence[ResultField]) -> list[bytes | None]:
    if options.format is CopyFormat.CSV:
        return _csv_values(data, options, [field.name for field in fields])
    return _text_values(data, options)


def check_header(data: bytes, relation: str, fields: Sequence[ResultField], options: CopyOptions) -> None:
    """Raises BadCopyFileFormat unless the first line of the data has the columns' names."""
    row = next(split_rows(data, options, 1), RawRow(1, b""))
    _decode_line(row, relation)
    try:
        names = _split(row.data, options, ())
        if len(names) != len(fields):
            message = f"wrong number of fields in header line: got {len(names)}, expected {len(fields)}"
            raise BadCopyFileFormat(message)
        for number, (name, field) in enumerate(zip(names, fields, strict=True), 1):
            shown = f'null value ("{options.null}")' if name is None else f'"{decode_text(name)}"'
            if name is None or decode_text(name) != field.name:
                message = f"column name mismatch in header line field {number}: got {shown}, expected "
                raise BadCopyFileFormat(f'{message}"{field.name}"')
    except SqlError as error:
        error.where = f'COPY {relation}, line 1: "{_shown(row.data)}"'
        raise


def _text_values(data: bytes, options: CopyOptions) -> list[bytes | None]:
    if b"\r" in data and re.search(rb"(?<!\\)\r", data):
        raise BadCopyFileFormat("literal carriage return found in data", hint='Use "\\r" to represent carriage return.')
    delimiter = options.delimiter.encode()
    null = options.null.encode()
    if b"\\" not in data:
        return [None if raw == null else raw for raw in data.split(delimiter)]
    values: list[bytes | None] = []
    raw_value = re.compile(rb"(?:\\.|[^\\" + re.escape(delimiter) + rb"]|\\$)*", re.DOTALL)
    at = 0
    while True:
        match = raw_value.match(data, at)
        assert match is not None
        values.append(None if match[0] == null else _ESCAPE.sub(_unescaped, match[0]))
        if match.end() >= len(data):
            return values
        at = match.end() + 1


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, character = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if character is None:
        return b""  # a backslash that ends the data escapes nothing
    return _NAMED.get(character, character)


def _csv_values(data: bytes, options: CopyOptions, columns: Sequence[str]) -> list[bytes | None]:
    """The values of the row; of some of the `columns` other values are NULL than of most."""
    delimiter, quote, escape = (text.encode() for text in (options.delimiter, options.quote, options.escape))
    null = options.null.encode()
    values: list[bytes | None] = []
    plain = re.compile(rb"[^" + re.escape(delimiter + quote) + rb"]*")
    at = 0
    while True:
        parts: list[bytes] = []
        saw_quote = False
        while True:
            match = plain.match(data, at)
            assert match is not None
            if b"\r" in match[0]:
                hint = "Use quoted CSV field to represent carriage return."
                raise BadCopyFileFormat("unquoted carriage return found in data", hint=hint)
            parts.append(match[0])
            at = match.end()
            if data[at : at + 1] != quote:
                break
            saw_quote = True
            at = _quoted_part(data, at + 1, quote, escape, parts)
        value = b"".join(parts)
        column = columns[len(values)] if len(values) < len(columns) else ""
        may_be_null = column in options.force_null if saw_quote else column not in options.force_not_null
        values.append(None if may_be_null and value == null else value)
        if at >= len(data):
            return values
        at += 1


def _quoted_part(data: bytes, at: int, quote: bytes, escape: bytes, parts: list[bytes]) -> int:
    """Adds the bytes up to the closing quote to `parts`, and returns the position after it."""
    while True:
        character = data[at : at + 1]
        if not character:
            raise BadCopyFileFormat("unterminated CSV quoted field")
        if character == escape and data[at + 1 : at + 2] in (escape, quote) and data[at + 1 : at + 2]:
            parts.append(data[at + 1 : at + 2])
            at += 2
        elif character == quote:
            return at + 1
        else:
            parts.append(character)
            at += 1
