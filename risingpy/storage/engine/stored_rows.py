"""All rows of a shard in one transaction: LMDB's tree, and over it the sorted runs that wait to be merged into it.

The tree is written in place, a page at a time. Keys in no order, a fraction of a large table, fall into nearly every
page of it, so an epoch would write as much as the table holds. Such a batch is put down as runs instead, one for each
slice of the vnodes, and the slices are merged in turn: then many epochs' rows go into a page at once. An epoch writes
its own rows and twice as many of the tree, however large the table is.

A table has runs only if its rows are found by their whole keys. Whoever reads it in order in a writing transaction has
it merged first (`in_order`); a snapshot's readers merge as they read (`StoredRows.read`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import cast

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BinaryOutput, Integers, address, buffers_of
from risingpy.storage.codec.key_encoding import prefix_end, table_prefix
from risingpy.storage.engine.copied_rows import places_of
from risingpy.storage.engine.lmdb_environment import Environment, Snapshot
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Batch, Direction, Directions, Ranges, is_backward, joined, least
from risingpy.storage.engine.sorted_runs import (
    RUNS,
    SLICES,
    SortedRun,
    Waiting,
    in_one,
    newest,
    run_key,
    run_number,
    slice_at,
    slices_of,
)
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES, read_row_count
from risingpy.storage.engine.transactions import Mask, StoreTransaction
from risingpy.storage.kernels import lmdb_calls, run_search

_AT_ONCE = 4096  # ranges of a table with runs


class StoredRows:
    """Reads and writes stored rows. For the thread that has the transaction, until it ends."""

    def __init__(self, environment: Environment, transaction: StoreTransaction) -> None:
        self.environment = environment
        self.transaction = transaction
        self.tuning = environment.tuning
        self._tree = environment.databases[0]
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
                SortedRun.decode(run_number(key), self.transaction.stored_value(key, db=RUNS))
                for key in self._run_keys(run_key(table_id, slice_, 0)[: TABLE_ID_BYTES + 1])
            ]
        return found

    def get_each(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of a few stored keys of tables without runs; None where there is none."""
        return self.transaction.get_each(keys, db=self._tree)

    def get_few(self, table_id: int, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of a few stored keys of a table; None where there is none."""
        if self.has_runs(table_id):
            return self.get_values(pa.array(keys, pa.binary())).to_pylist()  # type: ignore[no-any-return]
        return self.get_each(keys)

    def get_values(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """The value of each stored key, all of one table, NULL where there is none. Best if the keys ascend."""
        table_id = self.table_of(keys) if self._waiting else 0
        if not self.has_runs(table_id):
            return self.transaction.get_values(keys)
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
            return self.transaction.get_values(keys)
        in_tree = self.transaction.get_values(keys.take(pa.array(missing)))
        places[missing] = places_of(in_tree)
        output = BinaryOutput(pa.binary(), np.ascontiguousarray(places[:, 1]))
        lmdb_calls.copy_values(address(places), len(keys), output.data, output.positions)
        return output.finish((places[:, 1] > 0).view(np.uint8))

    def read(
        self,
        ranges: Ranges,
        limits: Integers | None = None,
        direction: Direction | Directions = Direction.FORWARD,
        *,
        most: int | None = None,
        page_rows: int | None = None,
    ) -> Iterator[Batch]:
        """Stored rows of ranges of one table, as `Transaction.read` gives them."""
        if not self._waiting or not self.has_runs(self.table_of(ranges.starts)):
            return self.transaction.read(ranges, limits, direction, most=most, page_rows=page_rows)
        return self._read_merged(ranges, limits, direction, most, page_rows)

    def _read_merged(
        self,
        ranges: Ranges,
        limits: Integers | None,
        direction: Direction | Directions,
        most: int | None,
        page_rows: int | None,
    ) -> Iterator[Batch]:
        """As `read`, of a table that has runs."""
        if limits is not None or most is not None or direction is not Direction.FORWARD or len(ranges) == 1:
            yield from self._read_each(ranges, range(len(ranges)), limits, direction, most, page_rows)
            return
        for first in range(0, len(ranges), _AT_ONCE):
            several = ranges.slice(first, _AT_ONCE)
            batch = self._read_several(several, page_rows or self.tuning.page_rows)
            if batch is None:
                numbers = range(first, first + len(several))
                yield from self._read_each(ranges, numbers, limits, direction, most, page_rows)
            elif len(batch):
                yield replace(batch, numbers=batch.numbers + first)

    def _read_several(self, ranges: Ranges, most: int) -> Batch | None:
        """All rows of the ranges, if they are no more than a page; else None.

        The runs' rows of all ranges are found and laid over the tree's at once: one by one a range takes 90 µs.
        """
        tree = joined([*self.transaction.read(ranges, None, Direction.FORWARD, most=most)])
        if len(tree) == most:
            return None
        parts = [tree]
        for run in self._runs_of(ranges):
            places, numbers = run.within(ranges)
            if len(places):
                chosen = pa.array(places)
                parts.append(Batch(numbers, run.keys.take(chosen), run.values.take(chosen)))
        if sum(map(len, parts)) > most:
            return None
        return tree if len(parts) == 1 else newest(parts)

    def _runs_of(self, ranges: Ranges) -> Iterator[SortedRun]:
        """The runs, of all slices in which the ranges lie; of a slice the oldest first."""
        table_id = self.table_of(ranges.starts)
        starts, stops = (
            [slice_at(table_id, bound) for bound in bounds.to_pylist()] for bounds in (ranges.starts, ranges.stops)
        )
        slices = {slice_ for start, stop in set(zip(starts, stops, strict=True)) for slice_ in range(start, stop + 1)}
        for slice_ in sorted(slices):
            yield from self.runs(table_id, slice_)

    def _read_each(
        self,
        ranges: Ranges,
        numbers: Iterable[int],
        limits: Integers | None,
        direction: Direction | Directions,
        most: int | None,
        page_rows: int | None,
    ) -> Iterator[Batch]:
        """As `read`, of ranges with these numbers, one after the other."""
        missing = most
        for number in numbers:
            limit = least(missing, None if limits is None else int(limits[number]))
            towards = Direction.BACKWARD if is_backward(direction, number) else Direction.FORWARD
            for batch in self._read_range_merged(*ranges.bounds(number), limit, towards, page_rows):
                yield Batch(np.full(len(batch), number), batch.keys, batch.values)
                missing = None if missing is None else missing - len(batch)
            if missing == 0:
                return

    def _read_range_merged(
        self, start: bytes, stop: bytes, limit: int | None, direction: Direction, page_rows: int | None
    ) -> Iterator[Batch]:
        """One range of a table that has runs, a page of the tree at a time, with the runs' rows that belong there."""
        # The tree sets the pace. A page of it covers the keys from its bound to its last row, or the whole rest of the
        # range if the page is not full: of just these keys the runs' rows are laid over it, newer ones over older ones.
        # A run may delete rows of the tree, so a page can come out short or empty though more rows follow; the loop
        # ends when the range is through, not when a page is short. It may come out long too, since runs have new rows.
        page_rows = page_rows or self.tuning.page_rows
        missing = limit
        while start < stop and missing != 0:
            # A few more than are missing, for some of the tree's rows may be deleted in runs.
            size = page_rows if missing is None else min(page_rows, max(missing, self.tuning.merged_rows))
            tree = joined([*self.transaction.read(Ranges.of([(start, stop)]), None, direction, most=size)])
            low, high = start, stop  # what of the range the page covers
            if len(tree) == size and direction is Direction.FORWARD:
                high = cast(bytes, tree.last) + b"\0"
            elif len(tree) == size:
                low = cast(bytes, tree.last)
            merged = self._with_runs(tree if direction is Direction.FORWARD else tree.reversed(), low, high)
            page = merged if direction is Direction.FORWARD else merged.reversed()
            if missing is not None:
                page = page.slice(0, missing)
                missing -= len(page)
            for first in range(0, len(page), page_rows):
                yield page.slice(first, page_rows)
            start, stop = (high, stop) if direction is Direction.FORWARD else (start, low)

    def _with_runs(self, tree: Batch, low: bytes, high: bytes) -> Batch:
        """The tree's rows from `low` to `high`, in key order, with what runs say of these keys."""
        table_id = int.from_bytes(low[:TABLE_ID_BYTES])
        slices = range(slice_at(table_id, low), slice_at(table_id, high) + 1)
        over = [run.between(low, high) for slice_ in slices for run in self.runs(table_id, slice_)]
        over = [run for run in over if len(run)]
        if not over:
            return tree
        merged = in_one([SortedRun(0, tree.keys, tree.values), *over])
        there = merged.values.is_valid()
        keys = merged.keys.filter(there)
        return Batch(np.zeros(len(keys), np.int64), keys, merged.values.filter(there))

    def tables(self) -> list[int]:
        """The tables that have rows, or deleted ones in runs."""
        first = _first_rows(self.transaction, None, TABLE_ID_BYTES)
        return sorted({*self._waiting, *(int.from_bytes(table) for table, _ in first)})

    def write(self, batch: WriteBatch, *, in_order: bool = False) -> None:
        """Writes rows of one table. `in_order`: the table must lie in the tree, for it is read in order."""
        if not len(batch.keys):
            return
        table_id = self.table_of(batch.keys)
        if self.become_runs(batch.keys, in_order=in_order):
            self._add_runs(table_id, batch)
        else:
            self.merge(table_id)
            self.transaction.write_rows(batch.keys, batch.values)

    def become_runs(self, keys: pa.BinaryArray, *, in_order: bool) -> bool:
        """Whether a batch of these keys does not go into the tree at once. See `write`."""
        # A large batch that lies all over the table becomes runs. A small one goes to the runs if the table has some,
        # because its keys may be in them and the newest must be on top; merging them all for a few rows costs more.
        # Otherwise the tree takes the batch, and what waits in runs goes there first, lest it cover the new rows.
        table_id = self.table_of(keys)
        if in_order or len(keys) < self.tuning.run_batch_rows:
            return not in_order and self.has_runs(table_id)
        return self._is_scattered(table_id, keys)

    def replace(self, batch: WriteBatch, new: Mask | None) -> pa.BinaryArray:
        """Writes rows of one table to the tree, and returns what was there. `new` marks keys that surely were not."""
        self.merge(self.table_of(batch.keys))
        return self.transaction.replace_rows(batch.keys, batch.values, new)

    def write_together(self, batch: WriteBatch) -> None:
        """Writes rows of tables that have no runs, too few of each to become one."""
        self.transaction.write_rows(batch.keys, batch.values)

    def merge(self, table_id: int) -> None:
        """Brings all of a table's rows into the tree."""
        if self.has_runs(table_id):
            for slice_ in range(SLICES):
                self._merge(table_id, slice_)
            self._forget(table_id)

    def drop_runs(self, table_id: int) -> None:
        """Forgets the runs of a table that is being deleted."""
        if self.has_runs(table_id):
            self._delete(table_id, self._run_keys(table_prefix(table_id)))
            self._forget(table_id)

    def _read_waiting(self) -> dict[int, Waiting]:
        if self.transaction.entries(RUNS) == 0:
            return {}
        notes = _first_rows(self.transaction, RUNS, TABLE_ID_BYTES)
        return {int.from_bytes(key): Waiting.decode(value) for key, value in notes}

    def _run_keys(self, prefix: bytes) -> list[bytes]:
        batches = self.transaction.read(Ranges.of_prefix(prefix), db=RUNS, with_values=False)
        keys = cast("list[bytes]", [key for batch in batches for key in batch.keys.to_pylist()])
        return [key for key in keys if len(key) > TABLE_ID_BYTES]

    @staticmethod
    def table_of(keys: pa.BinaryArray) -> int:
        """The table of stored keys, which are of one; 0 if there are none."""
        return int.from_bytes(keys[0].as_py()[:TABLE_ID_BYTES]) if len(keys) else 0

    def _is_scattered(self, table_id: int, keys: pa.BinaryArray) -> bool:
        """Whether the batch is a small part of the table and lies all over it."""
        n = len(keys)
        if read_row_count(self.transaction, table_id) < self.tuning.run_table_times * n:
            return False
        least = self.tuning.run_slices
        if len(list(islice(slices_of(keys), least))) < least:
            return False
        firsts = np.linspace(0, n - 2, min(self.tuning.run_samples, n - 1)).astype(np.int64)
        between = Ranges(keys.take(pa.array(firsts)), keys.take(pa.array(firsts + 1)))
        gap = self.tuning.run_gap_rows
        limits = np.full(len(firsts), gap, np.int64)
        found = joined([*self.transaction.read(between, limits, with_values=False)]).numbers
        far = np.bincount(found, minlength=len(firsts)) >= gap
        return 2 * int(far.sum()) >= len(firsts)

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
        if runs and len(runs[-1]) + len(run) <= self.tuning.small_run_rows:
            last = runs.pop()
            joined = in_one([last, run])
            run = SortedRun(last.number, joined.keys, joined.values.fill_null(b""))
        data = run.encode()
        self.transaction.put(run_key(table_id, slice_, run.number), data, db=RUNS)
        runs.append(SortedRun.decode(run.number, data))
        return sum(map(len, runs)) - before

    def _merge_some(self, table_id: int) -> None:
        """Merges slices in turn until few enough rows wait, and those that have many runs."""
        # Slices take turns, and a slice's runs of many epochs go into the tree at once: a page of the tree then takes
        # several rows for one write of it. What waits is held to a part of the table, because each lookup searches it;
        # so an epoch merges about as many rows as it adds, whatever the table's size.
        most = read_row_count(self.transaction, table_id) // self.tuning.waiting_part
        for slice_ in range(SLICES):
            if len(self._runs.get((table_id, slice_), ())) > self.tuning.runs_per_slice:
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
        self.transaction.write_rows(batch.keys, batch.values)
        self._delete(table_id, [run_key(table_id, slice_, run.number) for run in runs])
        waiting = self._waiting[table_id]
        self._note(table_id, Waiting(waiting.rows - sum(map(len, runs)), waiting.next_slice))
        self._runs[table_id, slice_] = []

    def _delete(self, table_id: int, keys: list[bytes]) -> None:
        for key in keys:
            self.transaction.delete(key, db=RUNS)

    def _note(self, table_id: int, waiting: Waiting) -> None:
        self._waiting[table_id] = waiting
        self.transaction.put(table_prefix(table_id), waiting.encode(), db=RUNS)

    def _forget(self, table_id: int) -> None:
        """All is in the tree."""
        del self._waiting[table_id]
        self.transaction.delete(table_prefix(table_id), db=RUNS)
        self._runs = {place: runs for place, runs in self._runs.items() if place[0] != table_id}


@contextmanager
def rows_of(snapshot: Snapshot) -> Iterator[StoredRows]:
    """The rows of a snapshot, for this thread alone."""
    with snapshot.use() as transaction:
        yield StoredRows(snapshot.environment, transaction)


def _first_rows(transaction: StoreTransaction, db: bytes | None, prefix_bytes: int) -> Iterator[tuple[bytes, bytes]]:
    """The different beginnings of a database's keys, and the value of the first key of each."""
    at = b"\0"
    while (row := transaction.first_row(at, db=db)) is not None:
        prefix = row[0][:prefix_bytes]
        yield prefix, row[1]
        at = prefix_end(prefix)
