"""All rows of a shard in one transaction: LMDB's tree, and over it the sorted runs that wait to be merged into it.

The tree is written in place, a page at a time. Keys in no order, a fraction of a large table, fall into nearly every
page of it, so an epoch would write as much as the table holds. Such a batch is put down as runs instead, one for each
slice of the vnodes, and the slices are merged in turn: then many epochs' rows go into a page at once. An epoch writes
its own rows and twice as many of the tree, however large the table is.

A table has runs only if its rows are found by their whole keys. Whoever reads it in order in a writing transaction has
it merged first (`in_order`); a snapshot's readers merge as they read (`merged_cursor`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import cast

import lmdb
import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BinaryOutput, Integers, address, buffers_of
from risingpy.storage.codec.key_encoding import prefix_end, table_prefix
from risingpy.storage.engine.lmdb_environment import Environment, Snapshot
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.merged_cursor import MergedCursor
from risingpy.storage.engine.native_lmdb import get_values, read_rows, stored_value, write_rows
from risingpy.storage.engine.sorted_runs import (
    RUNS,
    SLICES,
    SortedRun,
    Waiting,
    in_one,
    run_key,
    run_number,
    slice_at,
    slices_of,
)
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES, read_row_count
from risingpy.storage.kernels import lmdb_calls, run_search

LEAST_ROWS = 4096  # of a batch that may be put down as runs: fewer are written as fast as they are read again
LEAST_TIMES = 4  # so many times as large as the batch the table must be
LEAST_SLICES = 4  # in which the batch's keys lie: a table in one vnode would be merged all at once
WAITING_PART = 4  # of its rows a table has at most one in so many in runs
MOST_RUNS = 16  # of a slice: a lookup searches them all
SMALL_RUN = 128  # rows: small runs are joined
_SAMPLES = 32  # neighbours in a batch that are looked at
GAP = 4  # rows of the tree between two neighbours that are far from each other


@dataclass(frozen=True, slots=True)
class RowPage:
    """Stored rows. Others may follow `last`, which need not be the last of these; none if it is None."""

    keys: pa.BinaryArray
    values: pa.BinaryArray
    last: bytes | None


class StoredRows:
    """Reads and writes stored rows. For the thread that has the transaction, until it ends."""

    def __init__(self, environment: Environment, transaction: lmdb.Transaction) -> None:
        self.environment = environment
        self.transaction = transaction
        self._database = environment.databases[RUNS]
        self._waiting = self._read_waiting()
        self._runs: dict[tuple[int, int], list[SortedRun]] = {}  # by table and slice, the oldest first

    def has_runs(self, table_id: int) -> bool:
        """Whether some of the table's rows may not be in the tree."""
        return table_id in self._waiting

    def waiting(self) -> dict[int, Waiting]:
        """What is noted of the tables that have runs."""
        return dict(self._waiting)

    def runs(self, table_id: int, slice_: int) -> list[SortedRun]:
        """Those of one slice of a table, the oldest first. CorruptData if one is none."""
        found = self._runs.get((table_id, slice_))
        if found is None:
            found = self._runs[table_id, slice_] = [
                SortedRun.decode(run_number(key), stored_value(self.transaction, self._database, RUNS, key))
                for key in self._run_keys(table_id, run_key(table_id, slice_, 0)[: TABLE_ID_BYTES + 1])
            ]
        return found

    def get_values(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """The value of each stored key, all of one table, NULL where there is none. Best if the keys ascend."""
        table_id = self.table_of(keys) if self._waiting else 0
        if not self.has_runs(table_id):
            return get_values(self.transaction, keys)
        wanted = buffers_of(keys)
        places: Integers = np.zeros((len(keys), 2), np.int64)
        for number, first, end in slices_of(keys):
            for run in reversed(self.runs(table_id, number)):
                key, value = buffers_of(run.keys), buffers_of(run.values)
                run_search.find_rows(
                    wanted.data, wanted.offsets, first, end,
                    key.data, key.offsets, len(run), value.data, value.offsets, address(places),
                )  # fmt: skip
        missing = np.flatnonzero(places[:, 0] == 0)
        if len(missing) == len(keys):
            return get_values(self.transaction, keys)
        in_tree = get_values(self.transaction, keys.take(pa.array(missing)))
        places[missing] = _places_of(in_tree)
        output = BinaryOutput(pa.binary(), np.ascontiguousarray(places[:, 1]))
        lmdb_calls.copy_values(address(places), len(keys), output.data, output.positions)
        return output.finish((places[:, 1] > 0).view(np.uint8))

    def cursor(self, key: bytes, rows: int = 0) -> lmdb.Cursor | MergedCursor:
        """A cursor over the table to which the key belongs, to be closed. `rows`: so many may be read at least."""
        if self.has_runs(int.from_bytes(key[:TABLE_ID_BYTES])):
            return MergedCursor(self.page, key[:TABLE_ID_BYTES], rows)
        return self.transaction.cursor()

    def page(self, start: bytes, stop: bytes, rows: int, *, behind: bool) -> RowPage:
        """Some `rows` rows of a table, in the order of stored keys, from `start` on, or `behind` it, to `stop`."""
        keys, values = read_rows(self.transaction, start, stop, rows, behind=behind)
        is_full = len(keys) == rows
        last = keys[-1].as_py() if is_full else stop
        table_id = int.from_bytes(start[:TABLE_ID_BYTES])
        if self.has_runs(table_id):
            slices = range(slice_at(table_id, start), slice_at(table_id, last) + 1)
            runs = [run for slice_ in slices for run in self.runs(table_id, slice_)]
            over = [run.between(start, last, behind=(behind, is_full)) for run in runs]
            over = [run for run in over if len(run)]
            if over:
                merged = in_one([SortedRun(0, keys, values), *over])
                there = merged.values.is_valid()
                keys, values = merged.keys.filter(there), merged.values.filter(there)
        return RowPage(keys, values, last if is_full else None)

    def tables(self) -> list[int]:
        """The tables that have rows, or deleted ones in runs."""
        found = set(self._waiting)
        at = b"\0"
        with self.transaction.cursor() as cursor:
            while cursor.set_range(at):
                table = cast(bytes, cursor.key())[:TABLE_ID_BYTES]
                found.add(int.from_bytes(table))
                at = prefix_end(table)
        return sorted(found)

    def write(self, batch: WriteBatch, *, in_order: bool = False) -> None:
        """Writes rows of one table. `in_order`: the table must lie in the tree, for it is read in order."""
        if not len(batch.keys):
            return
        table_id = self.table_of(batch.keys)
        as_runs = not in_order and len(batch.keys) >= LEAST_ROWS and self._is_scattered(table_id, batch.keys)
        if as_runs or (self.has_runs(table_id) and not in_order and len(batch.keys) < LEAST_ROWS):
            self._add_runs(table_id, batch)
        else:
            self.merge(table_id)
            write_rows(self.transaction, batch.keys, batch.values)

    def merge(self, table_id: int) -> None:
        """Brings all of a table's rows into the tree."""
        if self.has_runs(table_id):
            for slice_ in range(SLICES):
                self._merge(table_id, slice_)
            self._forget(table_id)

    def drop_runs(self, table_id: int) -> None:
        """Forgets the runs of a table that is being deleted."""
        if self.has_runs(table_id):
            self._delete(table_id, self._run_keys(table_id, table_prefix(table_id)))
            self._forget(table_id)

    def _read_waiting(self) -> dict[int, Waiting]:
        found: dict[int, Waiting] = {}
        if self.transaction.stat(self._database)["entries"] == 0:
            return found
        at = b"\0"
        with self.transaction.cursor(self._database) as cursor:
            while cursor.set_range(at):
                key, value = cast("tuple[bytes, bytes]", cursor.item())
                found[int.from_bytes(key)] = Waiting.decode(value)
                at = prefix_end(key)
        return found

    def _run_keys(self, table_id: int, prefix: bytes) -> list[bytes]:
        with self.transaction.cursor(self._database) as cursor:
            if not cursor.set_range(prefix):
                return []
            keys = cast("Iterator[bytes]", cursor.iternext(keys=True, values=False))
            found = []
            for key in keys:
                if not key.startswith(prefix):
                    break
                if len(key) > TABLE_ID_BYTES:
                    found.append(key)
            return found

    @staticmethod
    def table_of(keys: pa.BinaryArray) -> int:
        """The table of stored keys, which are of one; 0 if there are none."""
        return int.from_bytes(keys[0].as_py()[:TABLE_ID_BYTES]) if len(keys) else 0

    def _is_scattered(self, table_id: int, keys: pa.BinaryArray) -> bool:
        """Whether the batch is a small part of the table and lies all over it."""
        n = len(keys)
        if read_row_count(self.environment, self.transaction, table_id) < LEAST_TIMES * n:
            return False
        if len(list(islice(slices_of(keys), LEAST_SLICES))) < LEAST_SLICES:
            return False
        firsts = np.linspace(0, n - 2, min(_SAMPLES, n - 1)).astype(np.int64).tolist()
        with self.transaction.cursor() as cursor:
            far = sum(_is_far(cursor, keys[first].as_py(), keys[first + 1].as_py()) for first in firsts)
        return 2 * far >= len(firsts)

    def _add_runs(self, table_id: int, batch: WriteBatch) -> None:
        keys, values = batch.keys, batch.values
        if values.null_count:
            values = values.fill_null(b"")
        waiting = self._waiting.get(table_id, Waiting())
        rows = waiting.rows
        for slice_, first, end in slices_of(keys):
            part = keys.slice(first, end - first), values.slice(first, end - first)
            rows += self._add_run(table_id, slice_, *part)
        self._note(table_id, Waiting(rows, waiting.next_slice))
        self._merge_some(table_id)

    def _add_run(self, table_id: int, slice_: int, keys: pa.BinaryArray, values: pa.BinaryArray) -> int:
        """Puts one down; returns how many rows the slice has more."""
        runs = self.runs(table_id, slice_)
        before = sum(map(len, runs))
        run = SortedRun(runs[-1].number + 1 if runs else 0, keys, values)
        if runs and len(runs[-1]) + len(run) <= SMALL_RUN:
            last = runs.pop()
            joined = in_one([last, run])
            run = SortedRun(last.number, joined.keys, joined.values.fill_null(b""))
        data = run.encode()
        self.transaction.put(run_key(table_id, slice_, run.number), data, db=self._database)
        runs.append(SortedRun.decode(run.number, data))
        return sum(map(len, runs)) - before

    def _merge_some(self, table_id: int) -> None:
        """Merges slices in turn until few enough rows wait, and those that have many runs."""
        most = read_row_count(self.environment, self.transaction, table_id) // WAITING_PART
        for slice_ in range(SLICES):
            if len(self._runs.get((table_id, slice_), ())) > MOST_RUNS:
                self._merge(table_id, slice_)
        for _ in range(SLICES):
            waiting = self._waiting[table_id]
            if waiting.rows <= most:
                break
            self._note(table_id, Waiting(waiting.rows, (waiting.next_slice + 1) % SLICES))
            self._merge(table_id, waiting.next_slice)
        if not self._waiting[table_id].rows:
            self._forget(table_id)

    def _merge(self, table_id: int, slice_: int) -> None:
        runs = self.runs(table_id, slice_)
        if not runs:
            return
        batch = in_one(runs)
        write_rows(self.transaction, batch.keys, batch.values)
        self._delete(table_id, [run_key(table_id, slice_, run.number) for run in runs])
        waiting = self._waiting[table_id]
        self._note(table_id, Waiting(waiting.rows - sum(map(len, runs)), waiting.next_slice))
        self._runs[table_id, slice_] = []

    def _delete(self, table_id: int, keys: list[bytes]) -> None:
        for key in keys:
            self.transaction.delete(key, db=self._database)

    def _note(self, table_id: int, waiting: Waiting) -> None:
        self._waiting[table_id] = waiting
        self.transaction.put(table_prefix(table_id), waiting.encode(), db=self._database)

    def _forget(self, table_id: int) -> None:
        """All is in the tree."""
        del self._waiting[table_id]
        self.transaction.delete(table_prefix(table_id), db=self._database)
        self._runs = {place: runs for place, runs in self._runs.items() if place[0] != table_id}


@contextmanager
def rows_of(snapshot: Snapshot) -> Iterator[StoredRows]:
    """The rows of a snapshot, for this thread alone."""
    with snapshot.use() as transaction:
        yield StoredRows(snapshot.environment, transaction)


def _places_of(values: pa.BinaryArray) -> Integers:
    """Address and length of each value; both 0 for NULL."""
    found = buffers_of(values)
    places: Integers = np.zeros((len(values), 2), np.int64)
    if len(values):
        places[:, 0] = found.data + found.starts.astype(np.int64)
        places[:, 1] = found.ends - found.starts
        places[~found.present] = 0
    return places


def _is_far(cursor: lmdb.Cursor, key: bytes, other: bytes) -> bool:
    """Whether several rows of the tree lie between two keys."""
    there = cursor.set_range(key)
    for _ in range(GAP):
        if not there or cast(bytes, cursor.key()) >= other:
            return False
        there = cursor.next()
    return True
