"""What a table holds, kept up to date by every write: rows, bytes, and a digest that does not depend on their order.

A row's digest is 64 bits of its key (after the table's id) and its value; a table's is the sum of its rows', so that
it follows inserts, deletes and updates, and shards are added up. Two tables of the same layout with equal digests hold
the same rows, but for one chance in 2**64: a view can be compared with a recomputation at once.

    meta  "table" | table id u32   rows u64 | key bytes u64 | value bytes u64 | digest u64        big-endian
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BINARY, Integers, address, buffers_of
from risingpy.storage.engine.transactions import StoreTransaction, scan
from risingpy.storage.kernels import digests

META = b"meta"  # the named database of a shard that has notes beside the rows
TABLE_ID_BYTES = 4
_KEY = b"table"
_LAYOUT = struct.Struct(">qqqq")
_STORED = np.dtype(">i8")  # each of its numbers
_NOTHING = bytes(_LAYOUT.size)
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """`digest` has 64 bits."""

    rows: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    digest: int = 0

    def plus(self, other: TableStatistics) -> TableStatistics:
        """Of two parts of a table, or of a table and a change."""
        return TableStatistics(
            self.rows + other.rows,
            self.key_bytes + other.key_bytes,
            self.value_bytes + other.value_bytes,
            (self.digest + other.digest) % _WORD,
        )


class StatisticsChange:
    """Gathers what writes do to tables."""

    def __init__(self) -> None:
        self._totals: dict[bytes, Integers] = {}

    def add(self, keys: pa.BinaryArray, values: pa.BinaryArray, sign: int) -> None:
        """Rows of one table that come (+1) or go (-1), as they are stored; those whose value is NULL do not count."""
        self._add(keys, (values, sign))

    def replace(self, keys: pa.BinaryArray, old: pa.BinaryArray, new: pa.BinaryArray) -> None:
        """As `add`, of rows of one table that go and of those that come under the same keys."""
        self.replace_of_tables(keys, (0,), old, new)

    def replace_of_tables(
        self, keys: pa.BinaryArray, starts: Sequence[int], old: pa.BinaryArray, new: pa.BinaryArray
    ) -> None:
        """As `replace`, of rows of several tables; `starts` are the first rows of each."""
        self._add(keys, (old, -1), (new, +1), starts=starts)

    def _add(self, keys: pa.BinaryArray, *changes: tuple[pa.BinaryArray, int], starts: Sequence[int] = (0,)) -> None:
        if not len(keys):
            return
        # The kernel takes all tables at once: a call for each would take longer than its rows, of a small epoch.
        key, first_rows = buffers_of(keys), np.array(starts, np.int64)
        totals = np.zeros((len(starts), 4), np.int64)
        for values, sign in changes:
            value = buffers_of(values)
            digests.add_rows(
                key.data, key.offsets, TABLE_ID_BYTES, value.data, value.offsets, value.validity, value.bit_offset,
                address(first_rows), len(starts), len(keys), sign, address(totals),
            )  # fmt: skip
        data, places = memoryview(keys.buffers()[2]), key.starts[first_rows].tolist()
        for place, change in zip(places, totals, strict=True):
            table = bytes(data[place : place + TABLE_ID_BYTES])
            before = self._totals.get(table)
            self._totals[table] = change if before is None else before + change  # the digest wraps around

    def forget(self, table_id: int) -> None:
        """The table is being purged: nobody asks for it any more."""
        self._totals[table_id.to_bytes(TABLE_ID_BYTES)] = np.zeros(0, np.int64)

    def tables(self) -> dict[int, TableStatistics]:
        """The changes so far."""
        return {int.from_bytes(table): _of(totals) for table, totals in self._totals.items() if len(totals)}

    def write(self, transaction: StoreTransaction) -> None:
        """Puts the changes to what the store has noted."""
        changed: list[bytes] = []
        for table, totals in sorted(self._totals.items(), key=itemgetter(0)):
            if len(totals):
                changed.append(table)
            else:
                transaction.delete(_KEY + table, db=META)
        if not changed:
            return
        # All tables at once, as in `_add`.
        keys = pa.array([_KEY + table for table in changed], BINARY)
        noted = b"".join([each or _NOTHING for each in transaction.get_values(keys, db=META).to_pylist()])
        before = np.frombuffer(noted, _STORED).reshape(len(changed), -1)
        change = np.array([self._totals[table] for table in changed])
        now = (before + change).astype(_STORED)  # the digest wraps around, as in the kernel
        places = np.arange(0, now.nbytes + 1, _LAYOUT.size, dtype=np.int32)
        values = pa.BinaryArray.from_buffers(BINARY, len(keys), [None, pa.py_buffer(places), pa.py_buffer(now)])
        transaction.write_rows(keys, values, db=META)


def read_statistics(transaction: StoreTransaction) -> dict[int, TableStatistics]:
    """By table id, what the store has noted."""
    return {int.from_bytes(name): _decoded(value) for name, value in scan(transaction, _KEY, db=META)}


def read_row_count(transaction: StoreTransaction, table_id: int) -> int:
    """How many rows of a table the store has noted."""
    stored = transaction.get(_KEY + table_id.to_bytes(TABLE_ID_BYTES), db=META)
    return 0 if stored is None else _decoded(bytes(stored)).rows


def added_up(parts: Iterable[Mapping[int, TableStatistics]]) -> dict[int, TableStatistics]:
    """The tables of several shards."""
    total: dict[int, TableStatistics] = {}
    for part in parts:
        for table_id, statistics in part.items():
            total[table_id] = total.get(table_id, TableStatistics()).plus(statistics)
    return total


def _of(totals: Integers) -> TableStatistics:
    rows, key_bytes, value_bytes, digest = totals.tolist()
    return TableStatistics(rows, key_bytes, value_bytes, digest % _WORD)


def _decoded(value: bytes) -> TableStatistics:
    rows, key_bytes, value_bytes, digest = _LAYOUT.unpack(value)
    return TableStatistics(rows, key_bytes, value_bytes, digest % _WORD)
