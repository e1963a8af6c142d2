"""What a task and a worker say to each other, over pipes: a header in JSON, then record batches in Arrow's IPC form.

length of the header (u32) | header, whose "sizes" are the batches' lengths in bytes | batch | batch …
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

_LENGTH = struct.Struct("<I")
Header = dict[str, Any]
Read = Callable[[int], bytes]


def write_message(stream: BinaryIO, header: Header, batches: Sequence[pa.RecordBatch]) -> None:
    parts = [_encoded(batch) for batch in batches]
    text = json.dumps({**header, "sizes": [part.size for part in parts]}).encode()
    stream.write(_LENGTH.pack(len(text)) + text)
    for part in parts:
        stream.write(part)
    stream.flush()


def read_message(read: Read) -> tuple[Header, list[pa.RecordBatch]]:
    """`read(n)` gives exactly n bytes, or raises EOFError."""
    header: Header = json.loads(read(_LENGTH.unpack(read(_LENGTH.size))[0]))
    return header, [_decoded(read(size)) for size in header["sizes"]]


def _encoded(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _decoded(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
