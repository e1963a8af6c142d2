"""What a read asks for, and what it gives: ranges of keys, limits, a direction; batches of rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BINARY, Integers, buffers_of, longest
from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, PREFIX_BYTES, prefix_end, table_prefix
from risingpy.storage.codec.table_schema import VNODE_COUNT
from risingpy.storage.kernels import lmdb_ranges


class Direction(Enum):
    """In which order the rows of a range come. The ranges themselves come as they were asked for."""

    FORWARD = "forward"
    BACKWARD = "backward"


# For each range, whether it is read backward.
Directions = npt.NDArray[np.bool_]


def is_backward(direction: Direction | Directions, number: int) -> bool:
    """Whether one of the ranges is read from its end."""
    return direction is Direction.BACKWARD if isinstance(direction, Direction) else bool(direction[number])


@dataclass(frozen=True, slots=True)
class Ranges:
    """The keys from each start, itself included, to its stop, itself not. Fastest if they ascend.

    `longest_bound` are the bytes of the longest start or stop, where whoever made them knows it.
    """

    starts: pa.BinaryArray
    stops: pa.BinaryArray
    longest_bound: int | None = None

    @classmethod
    def of(cls, bounds: Sequence[tuple[bytes, bytes]]) -> Ranges:
        """From (start, stop) each."""
        starts, stops = [start for start, _ in bounds], [stop for _, stop in bounds]
        return cls(_in_arrow(starts), _in_arrow(stops), max(map(len, starts + stops), default=0))

    @classmethod
    def of_prefix(cls, prefix: bytes) -> Ranges:
        """One range: all keys that begin with `prefix`, which is not all ff."""
        return cls.of([(prefix, prefix_end(prefix))])

    @classmethod
    def in_each_vnode(cls, table_id: int, start: bytes, stop: bytes) -> Ranges:
        """For each vnode of a table the keys from `start` to before `stop`, both without what keys begin with."""
        longest_bound = PREFIX_BYTES + max(len(start), len(stop))
        return cls(_after_prefixes(table_id, start), _after_prefixes(table_id, stop), longest_bound)

    @classmethod
    def of_prefixes(cls, prefixes: pa.BinaryArray) -> Ranges:
        """For each prefix, none of which is all ff, the keys that begin with it."""
        return cls(prefixes, _rewritten(prefixes, lmdb_ranges.write_prefix_ends))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def has_long_bounds(self) -> bool:
        """Whether a bound is longer than what is stored of long keys."""
        known = self.longest_bound
        return (max(longest(self.starts), longest(self.stops)) if known is None else known) >= LONG_KEY_PREFIX

    def slice(self, first: int, count: int) -> Ranges:
        """Some of them."""
        return Ranges(self.starts.slice(first, count), self.stops.slice(first, count), self.longest_bound)

    def beyond(self, number: int, key: bytes) -> Ranges:
        """What is left of them after a key in the range of this number."""
        start = key + b"\0"
        starts = pa.concat_arrays([_in_arrow([start]), self.starts.slice(number + 1)])
        known = None if self.longest_bound is None else max(self.longest_bound, len(start))
        return Ranges(starts, self.stops.slice(number), known)

    def bounds(self, number: int) -> tuple[bytes, bytes]:
        """Start and stop of one of them."""
        return cast("tuple[bytes, bytes]", (self.starts[number].as_py(), self.stops[number].as_py()))


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows, and for each the number of the range in which it lies. Numbers ascend.

    `longest_key` are the bytes of the longest key, where the reader knows it.
    """

    numbers: Integers
    keys: pa.BinaryArray
    values: pa.BinaryArray
    longest_key: int | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def last(self) -> bytes | None:
        """The last key; None if there are no rows."""
        return cast(bytes, self.keys[-1].as_py()) if len(self.keys) else None

    @property
    def has_long_keys(self) -> bool:
        """Whether keys are stored as their first bytes and a hash."""
        return (longest(self.keys) if self.longest_key is None else self.longest_key) >= LONG_KEY_PREFIX

    def slice(self, first: int, rows: int) -> Batch:
        """Some of the rows."""
        return Batch(self.numbers[first : first + rows], self.keys.slice(first, rows), self.values.slice(first, rows))

    def reversed(self) -> Batch:
        """The rows in the opposite order."""
        order = np.arange(len(self) - 1, -1, -1)
        return self.take(order)

    def take(self, places: Integers) -> Batch:
        """The rows at these places."""
        chosen = pa.array(places)
        return Batch(self.numbers[places], self.keys.take(chosen), self.values.take(chosen))


def next_keys(keys: pa.BinaryArray) -> pa.BinaryArray:
    """For each key the least byte string that is greater: a range that stops there has the key in it."""
    return _rewritten(keys, lmdb_ranges.write_next_keys)


def _in_arrow(items: Sequence[bytes]) -> pa.BinaryArray:
    """As `pa.array`, in half the time for one or two."""
    offsets = array("i", accumulate(map(len, items), initial=0))
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(items))]
    return pa.BinaryArray.from_buffers(BINARY, len(items), parts, null_count=0)


def _after_prefixes(table_id: int, rest: bytes) -> pa.BinaryArray:
    """For each vnode of a table what its keys begin with, and `rest`: tables with ttl ask for them in each epoch."""
    width = PREFIX_BYTES + len(rest)
    rows = np.empty((VNODE_COUNT, width), np.uint8)
    table = table_prefix(table_id)
    rows[:, : len(table)] = np.frombuffer(table, np.uint8)
    rows[:, len(table) : PREFIX_BYTES] = np.arange(VNODE_COUNT, dtype=">u2").view(np.uint8).reshape(VNODE_COUNT, -1)
    rows[:, PREFIX_BYTES:] = np.frombuffer(rest, np.uint8)
    offsets = np.arange(VNODE_COUNT + 1, dtype=np.int32) * np.int32(width)
    return pa.BinaryArray.from_buffers(
        BINARY, VNODE_COUNT, [None, pa.py_buffer(offsets), pa.py_buffer(rows)], null_count=0
    )


def _rewritten(keys: pa.BinaryArray, write: Callable[[int, int, int, int, int], None]) -> pa.BinaryArray:
    """Another bound for each key, of at most one byte more."""
    n = len(keys)
    given = buffers_of(keys)
    if n == 0:
        return keys
    room = pa.allocate_buffer(given.data_range[1] + n)
    offsets = pa.allocate_buffer(4 * (n + 1))
    write(given.data, given.offsets, n, room.address, offsets.address)
    return pa.BinaryArray.from_buffers(BINARY, n, [None, offsets, room], null_count=0)


def joined(batches: Sequence[Batch]) -> Batch:
    """All rows in one."""
    if len(batches) == 1:
        return batches[0]
    nothing = pa.array([], BINARY)
    return Batch(
        np.concatenate([np.empty(0, np.int64), *(batch.numbers for batch in batches)]),
        pa.concat_arrays([nothing, *(batch.keys for batch in batches)]),
        pa.concat_arrays([nothing, *(batch.values for batch in batches)]),
    )


def least(limit: int | None, other: int | None) -> int | None:
    """The smaller of two limits; None is none."""
    return other if limit is None else limit if other is None else min(limit, other)
