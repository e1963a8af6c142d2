"""Rows and values that LMDB has in its memory, as arrays of ours: its own may change when the transaction goes on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BINARY, MAX_BATCH_BYTES, BinaryOutput, Integers
from risingpy.storage.engine.ranges import Batch
from risingpy.storage.kernels import lmdb_calls, lmdb_ranges


def copied_rows(rows_at: int, n: int, key_bytes: int, value_bytes: int, longest_key: int) -> Batch:
    """The rows that were found at `rows_at`, in memory of their own: one piece, whose parts are 8 bytes apart."""
    if max(key_bytes, value_bytes) > MAX_BATCH_BYTES:
        raise OverflowError(f"{n} rows of {key_bytes + value_bytes} bytes exceed a batch of {MAX_BATCH_BYTES} bytes")
    offsets_bytes = (4 * (n + 1) + 7) & ~7
    value_offsets = 8 * n + offsets_bytes
    keys = value_offsets + offsets_bytes
    values = keys + ((key_bytes + 7) & ~7)
    room = pa.allocate_buffer(values + value_bytes)
    at = room.address
    lmdb_ranges.copy_rows(rows_at, n, at, at + 8 * n, at + keys, at + value_offsets, at + values)
    key_parts = [None, room.slice(8 * n, offsets_bytes), room.slice(keys, key_bytes)]
    value_parts = [None, room.slice(value_offsets, offsets_bytes), room.slice(values, value_bytes)]
    return Batch(
        np.frombuffer(room, np.int64, n),
        pa.BinaryArray.from_buffers(BINARY, n, key_parts, null_count=0),
        pa.BinaryArray.from_buffers(BINARY, n, value_parts, null_count=0),
        longest_key,
    )


def copied_values(places: Integers, places_at: int, valid: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """The bytes at pairs of address and length, which lie at `places_at`; NULL where not `valid`."""
    output = BinaryOutput(BINARY, np.ascontiguousarray(places[1::2]))
    lmdb_calls.copy_values(places_at, len(places) // 2, output.data, output.positions)
    return output.finish(valid)
