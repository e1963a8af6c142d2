"""COPY … TO STDOUT: rows as text, CSV or binary, one CopyData message each (psycopg and others rely on that).

Whole batches are encoded at once, as in data_row.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.frontend.portals import RowStream
from risingpy.frontend.results import BINARY, TEXT, CopyFormat, CopyOptions, CopyOut, ResultField
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.copy_binary import HEADER, TRAILER
from risingpy.frontend.wire.data_row import encode_batch
from risingpy.frontend.wire.fields import encode_column
from risingpy.frontend.wire.responder import Responder
from risingpy.types.field_bytes import as_binary, join_pieces

_PREFIX_BYTES = 5  # a message's type and length
_SLICE_ROWS = 16_384
_SLICE_BYTES = 32 << 20
_ESCAPES = (("\\", "\\\\"), ("\b", "\\b"), ("\f", "\\f"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\v", "\\v"))


def send_copy(responder: Responder, copy: CopyOut, rows: RowStream, *, live: bool = False) -> int:
    """Runs the copy-out mode; returns the number of rows sent. `live`: see `Result`."""
    binary = copy.options.format is CopyFormat.BINARY
    write = responder.write
    write(server_messages.copy_response(server_messages.COPY_OUT_RESPONSE, len(copy.fields), binary=binary))
    if copy.options.header and not binary:
        write(server_messages.message(server_messages.COPY_DATA, header_line(copy.fields, copy.options)))
    count = 0
    time_zone = responder.session.time_zone()
    try:
        for batch in rows.take(None):
            if live and not batch.num_rows:
                responder.channel.flush()
            if binary and count == 0 and batch.num_rows:
                # PostgreSQL sends the file's header with the first row, and psycopg relies on that.
                first = b"".join(encode_copy(batch.slice(0, 1), copy.fields, copy.options, time_zone))
                write(server_messages.message(server_messages.COPY_DATA, HEADER + first[_PREFIX_BYTES:]))
                batch, count = batch.slice(1), 1
            for piece in encode_copy(batch, copy.fields, copy.options, time_zone):
                responder.check_cancelled()
                write(piece)
            count += batch.num_rows
    finally:
        rows.close()
    if binary:
        write(server_messages.message(server_messages.COPY_DATA, TRAILER if count else HEADER + TRAILER))
    write(server_messages.message(server_messages.COPY_DONE))
    return count


def encode_copy(
    batch: pa.RecordBatch, fields: Sequence[ResultField], options: CopyOptions, time_zone: str
) -> Iterator[bytes | memoryview]:
    """The batch's rows as CopyData messages, in pieces to be written one after the other."""
    if options.format is CopyFormat.BINARY:
        yield from encode_batch(batch, fields, [BINARY] * len(fields), time_zone, kind=server_messages.COPY_DATA)
        return
    step = max(1, min(_SLICE_ROWS, _SLICE_BYTES * max(batch.num_rows, 1) // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, step):
        part = batch.slice(start, step)
        texts = [_escaped(field, column, options, time_zone, alone=len(fields) == 1)
                 for field, column in zip(fields, part.columns, strict=True)]  # fmt: skip
        yield _rows(texts, options, part.num_rows)


def _rows(texts: Sequence[pa.Array], options: CopyOptions, count: int) -> memoryview:
    delimiter, newline = pa.scalar(options.delimiter.encode()), pa.scalar(b"\n")
    pieces: list[pa.Array] = []
    length = np.full(count, 4 + max(len(texts), 1), np.int64)  # itself, delimiters and newline
    for index, text in enumerate(texts):
        length += pc.binary_length(text).to_numpy(zero_copy_only=False)
        pieces += [text] if index == 0 else [delimiter, text]
    header = np.empty(count, [("kind", "S1"), ("length", ">i4")])
    header["kind"] = server_messages.COPY_DATA
    header["length"] = length
    return join_pieces([as_binary(header), *pieces, newline])


def _escaped(field: ResultField, column: pa.Array, options: CopyOptions, time_zone: str, *, alone: bool) -> pa.Array:
    """A column's texts in COPY's format, as a binary array without NULLs: NULL has a text, too."""
    encoded = encode_column(field, column, TEXT, time_zone)
    assert not isinstance(encoded, np.ndarray)
    texts = encoded.cast(pa.string())
    if options.format is CopyFormat.CSV:
        always = options.force_quote is None or field.name in options.force_quote
        texts = _quote_csv(texts, options, alone=alone, always=always)
    else:
        texts = escape_text(texts, options.delimiter)
    return pc.fill_null(texts, options.null).cast(pa.binary())


def escape_text(texts: pa.Array, delimiter: str) -> pa.Array:
    """Texts as values in COPY's text format; NULLs stay."""
    escapes = _ESCAPES if delimiter == "\t" else (*_ESCAPES, (delimiter, "\\" + delimiter))
    special = "[" + "".join(re.escape(character) for character, _ in escapes) + "]"
    if not pc.any(pc.match_substring_regex(texts, special)).as_py():
        return texts
    for character, escape in escapes:
        texts = pc.replace_substring(texts, character, escape)
    return texts


def _quote_csv(texts: pa.Array, options: CopyOptions, *, alone: bool, always: bool = False) -> pa.Array:
    special = "[" + re.escape(options.delimiter) + re.escape(options.quote) + "\\r\\n]"
    needed = pc.or_(pc.match_substring_regex(texts, special), pc.equal(texts, options.null))
    if always:
        needed = texts.is_valid()
    elif alone:
        needed = pc.or_(needed, pc.equal(texts, "\\."))
    if not pc.any(needed).as_py():
        return texts
    inner = texts
    if options.escape != options.quote:
        inner = pc.replace_substring(inner, options.escape, options.escape * 2)
    inner = pc.replace_substring(inner, options.quote, options.escape + options.quote)
    quoted = pc.binary_join_element_wise(options.quote, inner, options.quote, "")
    return pc.if_else(needed, quoted, texts)


def header_line(fields: Sequence[ResultField], options: CopyOptions) -> bytes:
    """The columns' names as a row."""
    names = pa.array([field.name for field in fields], pa.string())
    shown = _quote_csv(names, options, alone=len(fields) == 1) if options.format is CopyFormat.CSV else names
    if options.format is CopyFormat.TEXT:
        shown = escape_text(names, options.delimiter)
    return options.delimiter.join(shown.to_pylist()).encode() + b"\n"
