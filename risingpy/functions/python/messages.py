"""The messages between a task and a worker, over pipes: a header in JSON, then record batches in Arrow's IPC form.

length of the header (u32) | header, whose "sizes" are the batches' lengths in bytes | batch | batch …
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

_LENGTH = struct.Struct("<I")
WALLS = "walls"  # a request for what keeps the worker in
BUILTIN = "builtin "  # a request of one of our own functions, by its name
_LONGEST_HEADER = 64 << 20  # a definition is in it, with its body
Header = dict[str, Any]
Read = Callable[[int], bytes]


def write_message(stream: BinaryIO, header: Header, batches: Sequence[pa.RecordBatch]) -> None:
    """Blocks until the reader has taken the message. Raises BrokenPipeError if the reader is gone."""
    for part in message_parts(header, batches):
        stream.write(part)
    stream.flush()


def message_parts(header: Header, batches: Sequence[pa.RecordBatch]) -> list[bytes | pa.Buffer]:
    """A message as pieces to be written one after the other."""
    parts = [_encoded(batch) for batch in batches]
    text = json.dumps({**header, "sizes": [part.size for part in parts]}).encode()
    return [_LENGTH.pack(len(text)) + text, *parts]


def read_message(read: Read) -> tuple[Header, list[pa.RecordBatch]]:
    """Reads a message. `read(n)` gives exactly n bytes, or raises EOFError. Raises ValueError if it is no message."""
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > _LONGEST_HEADER:
        raise ValueError("no message begins so")
    header: Header = json.loads(read(length))
    return header, [_decoded(read(size)) for size in header["sizes"]]


def _encoded(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _decoded(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
