"""Sorted runs: rows that a large epoch wrote all over a table, before they are merged into the tree.

    runs  table id u32                                   waiting rows u64 | next slice u8
    runs  table id u32 | slice u8 | number u32           a run

The integers of these keys and values are big-endian. A table's vnodes are cut into 64 slices; a run has rows of one,
and of two runs of a slice the one with the higher number is newer. A run is, little-endian,

    rows u32 | bytes of keys u32 | offsets of keys i32 … | offsets of values i32 … | keys | values

with one offset more than rows. Keys are stored keys in ascending order; an empty value deletes its key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.column_buffers import CorruptData, Integers, address, buffers_of
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.table_schema import VNODE_COUNT
from risingpy.storage.engine.mem_table import WriteBatch, last_writes
from risingpy.storage.engine.ranges import Batch, Ranges, joined
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES
from risingpy.storage.kernels import run_search

RUNS = b"runs"  # the named database of a shard
SLICES = 64
VNODES_PER_SLICE = VNODE_COUNT // SLICES

_HEAD = struct.Struct("<II")
_KEY = struct.Struct(">IBI")
_WAITING = struct.Struct(">QB")
_PREFIX = struct.Struct(">IH")  # of a stored key: table and vnode
_ALIGNMENT = 4


def run_key(table_id: int, slice_: int, number: int) -> bytes:
    """Where a run lies."""
    return _KEY.pack(table_id, slice_, number)


def run_number(key: bytes) -> int:
    """Which of its slice's runs it is."""
    return int(_KEY.unpack(key)[2])


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a table has in runs: how many rows, and the slice whose rows are merged next."""

    rows: int = 0
    next_slice: int = 0

    def encode(self) -> bytes:
        return _WAITING.pack(self.rows, self.next_slice)

    @classmethod
    def decode(cls, data: bytes) -> Waiting:
        """CorruptData if it is no such note."""
        if len(data) != _WAITING.size:
            raise CorruptData("sorted runs are not noted as such")
        return cls(*_WAITING.unpack(data))


@dataclass(frozen=True, slots=True)
class SortedRun:
    """One run; the arrays may lie in the store, and live as long as its transaction."""

    number: int
    keys: pa.BinaryArray
    values: pa.BinaryArray

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def decode(cls, number: int, data: pa.Buffer) -> SortedRun:
        """CorruptData if it is none."""
        if data.address % _ALIGNMENT:
            data = pa.py_buffer(data.to_pybytes())
        if data.size < _HEAD.size:
            raise CorruptData("a sorted run is shorter than its head")
        rows, key_bytes = _HEAD.unpack_from(data)
        offset_bytes = 4 * (rows + 1)
        begin = _HEAD.size + 2 * offset_bytes
        if data.size < begin + key_bytes:
            raise CorruptData("a sorted run is shorter than its keys")
        offsets = [data.slice(_HEAD.size + place, offset_bytes) for place in (0, offset_bytes)]
        parts = data.slice(begin, key_bytes), data.slice(begin + key_bytes)
        if any(_last_offset(each) != part.size for each, part in zip(offsets, parts, strict=True)):
            raise CorruptData("a sorted run is not as long as its rows")
        keys, values = (
            pa.BinaryArray.from_buffers(pa.binary(), rows, [None, each, part], null_count=0)
            for each, part in zip(offsets, parts, strict=True)
        )
        return cls(number, keys, values)

    def encode(self) -> pa.Buffer:
        columns = [_offsets_and_data(column) for column in (self.keys, self.values)]
        (_, keys), _ = columns
        parts = [np.frombuffer(_HEAD.pack(len(self), len(keys)), np.uint8)]
        parts += [offsets.view(np.uint8) for offsets, _ in columns]
        return pa.py_buffer(np.concatenate([*parts, *(data for _, data in columns)]))

    def between(self, start: bytes, stop: bytes) -> SortedRun:
        """The rows from the key `start`, itself included, to `stop`, itself not."""
        first = self.place(start)
        rows = max(self.place(stop) - first, 0)
        return SortedRun(self.number, self.keys.slice(first, rows), self.values.slice(first, rows))

    def within(self, ranges: Ranges) -> tuple[Integers, Integers]:
        """(Places of the rows that lie in these ranges, the number of the range of each), range after range."""
        at = buffers_of(self.keys)
        bounds = np.empty((2, len(ranges)), np.int64)
        for bound, places in zip((ranges.starts, ranges.stops), bounds, strict=True):
            wanted = buffers_of(bound)
            run_search.find_places(
                wanted.data, wanted.offsets, len(ranges), at.data, at.offsets, len(self), address(places)
            )
        first, rows = bounds[0], np.maximum(bounds[1] - bounds[0], 0)
        numbers = np.repeat(np.arange(len(ranges)), rows)
        return np.arange(len(numbers)) + np.repeat(first - (np.cumsum(rows) - rows), rows), numbers

    def place(self, key: bytes) -> int:
        """How many rows have keys before this one."""
        at, wanted = buffers_of(self.keys), pa.py_buffer(key)
        return run_search.find_place(at.data, at.offsets, len(self), wanted.address, len(key))


def _last_offset(offsets: pa.Buffer) -> int:
    return int(np.frombuffer(offsets, np.int32)[-1])


def _offsets_and_data(column: pa.BinaryArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    _, offsets, data = column.buffers()
    own = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    everything = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return own - own[0], everything[own[0] : own[-1]]


def slices_of(keys: pa.BinaryArray) -> Iterator[tuple[int, int, int]]:
    """(slice, first row, end) for each stretch of stored keys, of one table, that lie in one slice."""
    everything, at = np.frombuffer(keys.buffers()[2], np.uint8), buffers_of(keys).starts + TABLE_ID_BYTES
    vnodes = everything[at].astype(np.int64) << 8 | everything[at + 1]
    slices: Integers = vnodes // VNODES_PER_SLICE
    begins = np.flatnonzero(np.diff(slices, prepend=-1)).tolist()
    for first, end in zip(begins, [*begins[1:], len(keys)], strict=True):
        yield int(slices[first]), first, end


def slice_at(table_id: int, key: bytes) -> int:
    """The slice in which a key, or the beginning of one, lies; the last one for what is after the table."""
    found, vnode = _PREFIX.unpack_from(key.ljust(_PREFIX.size, b"\0"))
    if found > table_id:
        return SLICES - 1
    return int(min(vnode // VNODES_PER_SLICE, SLICES - 1))


def newest(parts: Sequence[Batch]) -> Batch:
    """Rows of ranges, from the tree and then from runs, the oldest first: the newest row of each range and key."""
    rows = joined(parts)
    order = sort_indices(rows.keys)
    rows = rows.take(order[np.argsort(rows.numbers[order], kind="stable")])  # the newest of equal keys stays the last
    is_last = np.ones(len(rows), np.bool_)
    is_last[:-1] = pc.not_equal(rows.keys[:-1], rows.keys[1:]).to_numpy(zero_copy_only=False)
    is_last[:-1] |= rows.numbers[:-1] != rows.numbers[1:]
    values = buffers_of(rows.values)
    return rows.take(np.flatnonzero(is_last & (values.ends > values.starts)))


def in_one(runs: Sequence[SortedRun]) -> WriteBatch:
    """What the runs of a slice, the oldest first, come to: the newest value of each key, NULL for one that is gone."""
    keys = pa.concat_arrays([run.keys for run in runs])
    values = pa.concat_arrays([run.values for run in runs])
    value = buffers_of(values)
    return last_writes(keys, values, value.ends > value.starts, are_changes=False).batch
