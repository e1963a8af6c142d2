"""Rows and values that LMDB has in its memory, as arrays of ours: its own may change when the transaction goes on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import (
    BINARY,
    MAX_BATCH_BYTES,
    BinaryOutput,
    Integers,
    address,
    buffers_of,
)
from risingpy.storage.engine.ranges import Batch
from risingpy.storage.kernels import lmdb_calls, lmdb_ranges
from risingpy.storage.kernels.lmdb_writes import WAS_ABSENT

_BYTES_OF_VALUE = 64  # room for an old value, where no new one says how long it may be


class OldValues:
    """The values of keys before they are written, which a kernel copies one after the other.

    Their lengths are not known before, so room is given piece by piece: the kernel stops where the next has none.
    """

    def __init__(self, keys: int, new_bytes: int) -> None:
        """`new_bytes` are those of the new values."""
        self._lengths: Integers = np.empty(keys, np.int64)
        self._size = new_bytes + _BYTES_OF_VALUE * keys
        self._pieces: list[pa.Buffer] = []
        self._total = 0
        self._room = pa.allocate_buffer(0)

    def more_room(self, done: int) -> tuple[int, int, int]:
        """Address and bytes of room for old values from key `done` on, and the address of their lengths."""
        self._room = pa.allocate_buffer(self._size)
        self._size *= 2
        return self._room.address, self._room.size, address(self._lengths[done:])

    def has_taken(self, used: int) -> None:
        """So many bytes of the room are old values. OverflowError if they are too many for a batch."""
        self._pieces.append(self._room.slice(0, used))
        self._total += used
        if self._total > MAX_BATCH_BYTES:
            raise OverflowError(f"old values of {self._total} bytes exceed a batch of {MAX_BATCH_BYTES} bytes")

    def values(self) -> pa.BinaryArray:
        """All of them; NULL where there was none."""
        were_there = self._lengths != WAS_ABSENT
        if not were_there.any():
            return pa.nulls(len(self._lengths), BINARY)
        offsets = np.zeros(len(self._lengths) + 1, np.int32)
        np.cumsum(np.maximum(self._lengths, 0), out=offsets[1:])
        data = self._pieces[0] if len(self._pieces) == 1 else pa.py_buffer(b"".join(self._pieces))
        valid = None if were_there.all() else pa.py_buffer(np.packbits(were_there, bitorder="little"))
        return pa.BinaryArray.from_buffers(BINARY, len(self._lengths), [valid, pa.py_buffer(offsets), data])


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


def places_of(values: pa.BinaryArray) -> Integers:
    """Address and length of each value; both 0 for NULL."""
    found = buffers_of(values)
    places: Integers = np.zeros((len(values), 2), np.int64)
    if len(values):
        places[:, 0] = found.data + found.starts.astype(np.int64)
        places[:, 1] = found.ends - found.starts
        places[~found.present] = 0
    return places
