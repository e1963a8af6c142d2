"""The writes of one table in an epoch that its LMDB transaction does not hold yet.

They stay in the columns they came in. `drain` brings them into the order of their keys, the last write of
each key, once: when the table is read, or committed. Until then a write costs its encoding and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.group_keys import sort_indices

FEW = 16  # writes: up to here Python takes a third of the time that whole columns take (measured)


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Writes in ascending order of distinct stored keys; a NULL value deletes the key."""

    keys: pa.BinaryArray
    values: pa.BinaryArray

    def split(self, starts: Sequence[int]) -> Sequence[WriteBatch]:
        """As several, whose first rows are `starts`, the first of all being 0."""
        if len(starts) == 1:
            return [self]
        ends = (*starts[1:], len(self.keys))
        return [
            WriteBatch(self.keys.slice(start, end - start), self.values.slice(start, end - start))
            for start, end in zip(starts, ends, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Drained:
    """What a mem-table held.

    `new` marks keys that were surely not there before (None: nothing is known of them), and `known` may tell what is
    there now under some of the keys.
    """

    batch: WriteBatch
    new: npt.NDArray[np.bool_] | None = None
    known: WriteBatch | None = None


class MemTable:
    """Collects writes."""

    def __init__(self) -> None:
        self._keys: list[pa.BinaryArray] = []
        self._values: list[pa.BinaryArray] = []
        self._puts: list[npt.NDArray[np.bool_]] = []
        self._are_changes = True
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(
        self, keys: pa.BinaryArray, values: pa.BinaryArray, puts: npt.NDArray[np.bool_], *, are_changes: bool = False
    ) -> None:
        """Writes stored keys in this order: puts the value, or deletes the key.

        The first keys have no values if they are deleted. Of changes, a key that is there is deleted before it is put.
        """
        self._are_changes = self._are_changes and are_changes
        if len(values) < len(keys):
            self._values.append(pa.nulls(len(keys) - len(values), values.type))
        self._keys.append(keys)
        self._values.append(values)
        self._puts.append(puts)
        self.size_bytes += keys.nbytes + values.nbytes

    def drain(self, known: WriteBatch | None = None) -> Drained:
        """The writes, of which there are some, with what is `known` of their keys; the mem-table forgets them."""
        keys, values, puts = joined_arrays(self._keys), joined_arrays(self._values), np.concatenate(self._puts)
        self._keys, self._values, self._puts = [], [], []
        are_changes, self._are_changes = self._are_changes, True
        self.size_bytes = 0
        last = last_writes(keys, values, puts, are_changes=are_changes)
        return last if known is None else Drained(last.batch, last.new, known)


def joined_arrays(parts: list[pa.BinaryArray]) -> pa.BinaryArray:
    """The arrays in one; Arrow would copy even a single one."""
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def last_writes(
    keys: pa.BinaryArray, values: pa.BinaryArray, puts: npt.NDArray[np.bool_], *, are_changes: bool
) -> Drained:
    """The last of the writes of each key, as a mem-table drains them."""
    if len(keys) <= FEW:
        return _last_of_few(keys, values, puts, are_changes)
    order = sort_indices(keys)
    if not is_ascending(order):
        keys = keys.take(pa.array(order))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = pc.not_equal(keys[:-1], keys[1:]).to_numpy(zero_copy_only=False)
    is_first = np.roll(is_last, 1)
    is_first[:1] = True
    new = (puts[order] & is_first)[is_last] if are_changes else None
    if not is_last.all():
        keys = keys.filter(pa.array(is_last))
        order = order[is_last]
    puts = puts[order]
    if not puts.all():
        values = values.take(pa.array(order, mask=~puts))
    elif len(order) < len(values) or not is_ascending(order):
        values = values.take(pa.array(order))
    return Drained(WriteBatch(keys, values), new)


def _last_of_few(
    keys: pa.BinaryArray, values: pa.BinaryArray, puts: npt.NDArray[np.bool_], are_changes: bool
) -> Drained:
    """The same for what most tables have in an epoch with one change: a row or two."""
    if len(keys) == 1:
        return Drained(WriteBatch(keys, values if puts[0] else pa.nulls(1, values.type)), puts if are_changes else None)
    first: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    for position, key in enumerate(keys.to_pylist()):
        first.setdefault(key, position)
        last[key] = position
    ordered = sorted(last)
    written = pa.array([values[last[key]].as_py() if puts[last[key]] else None for key in ordered], values.type)
    once = [first[key] == last[key] and puts[last[key]] for key in ordered]
    return Drained(WriteBatch(pa.array(ordered, keys.type), written), np.array(once, np.bool_) if are_changes else None)


def known_values(writes: Drained) -> pa.BinaryArray | None:
    """What is known to be under the keys; None if that is not known of all. Saves 0.1 to 0.5 µs per key (measured)."""
    keys, known = writes.batch.keys, writes.known
    if known is None:
        return None
    if known.keys.equals(keys):
        return known.values
    if len(known.keys) < len(keys):
        return None
    places = pc.index_in(keys, known.keys)
    return None if places.null_count else known.values.take(places)


def is_ascending(order: npt.NDArray[np.int64]) -> bool:
    """True if the indices go up all the way: what they order lies in order already."""
    return len(order) < 2 or bool((order[1:] > order[:-1]).all())
