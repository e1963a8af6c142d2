"""The writing side of one shard in one epoch and stage: one LMDB transaction, with undo, that outlives a full map.

What goes to the store is kept until the commit, so that the transaction can be begun again in a larger map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InternalError, IoError, SerializationFailure
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.engine.few_changes import changed_rows
from risingpy.storage.engine.few_writes import FewWrites
from risingpy.storage.engine.lmdb_environment import Environment
from risingpy.storage.engine.mem_table import Drained, WriteBatch, joined_arrays, known_values
from risingpy.storage.engine.shard_basis import attempt_note
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META, StatisticsChange
from risingpy.storage.engine.transactions import Mask, StoreTransaction
from risingpy.storage.engine.undo_record import UndoRecord, read_marker, read_markers, take_back_attempts, write_undo
from risingpy.storage.fault_points import reach
from risingpy.storage.journal.entries import Delta
from risingpy.storage.tuning import StoreTuning


class StaleEpoch(SerializationFailure):
    """A task comes after its epoch was given up and a later one was begun: nobody waits for it any more."""


class DeltaWriter(Protocol):
    """Makes what a transaction has changed known outside of this machine, before the transaction commits."""

    def put(self, epoch: int, stage: int, shard: int, batches: Sequence[WriteBatch]) -> Delta:
        """See `storage.journal.delta.ShardDeltas`."""
        ...


@dataclass(frozen=True, slots=True)
class SharedShard:
    """A shard whose truth is in shared storage: its number, and who writes its deltas."""

    shard: int
    deltas: DeltaWriter


class ReadInOrder:
    """The tables of a shard that were lately read in order, which makes runs of theirs cost more than they save."""

    def __init__(self, memory: int) -> None:
        """`memory`: for so many transactions it is remembered."""
        self._memory = memory
        self._last: dict[int, int] = {}
        self._transactions = 0

    def begin(self) -> None:
        """Another transaction begins."""
        self._transactions += 1

    def note(self, table_id: int) -> None:
        """The table is read in order now."""
        self._last[table_id] = self._transactions

    def lately(self, table_id: int) -> bool:
        """Whether it was, not long ago."""
        last = self._last.get(table_id)
        return last is not None and self._transactions - last <= self._memory


@dataclass(frozen=True, slots=True)
class _Written:
    """A batch that went to the store; purged and rewritten rows cannot be taken back.

    `purged`: the table that is no more. The statistics do not follow, for nobody asks for it. `starts`: the first rows
    of each of several tables, which all lie in the tree. `all_differ`: under each key there is something else now.
    `new` marks keys that surely were not there before.
    """

    batch: WriteBatch
    can_be_undone: bool
    purged: int | None = None
    starts: Sequence[int] = (0,)
    all_differ: bool = False
    new: Mask | None = None


class ShardWriter:
    """Writes of one task. The caller is the environment's writer from `begin` to `end`."""

    def __init__(
        self,
        environment: Environment,
        read_in_order: ReadInOrder,
        *,
        epoch: int,
        stage: int,
        committed: int,
        shared: SharedShard | None = None,
    ) -> None:
        """With `shared`, a commit leaves its `delta`."""
        self.delta: Delta | None = None
        self._shared = shared
        self._changed: list[WriteBatch] = []
        self.epoch = epoch
        self.stage = stage
        self._environment = environment
        self._read_in_order = read_in_order
        self._committed = committed
        self._rows: StoredRows | None = None
        self._written: list[_Written] = []
        self._undo: list[WriteBatch] = []
        self._has_undone = False
        self._has_merged = False
        self._statistics = StatisticsChange()
        self._purged: set[int] = set()
        self._notes: dict[bytes, bytes] = {}

    @property
    def tuning(self) -> StoreTuning:
        """That of the environment."""
        return self._environment.tuning

    @property
    def rows(self) -> StoredRows:
        """The state with all that was written."""
        if self._rows is None:
            raise InternalError("an epoch's transaction is used after its end")
        return self._rows

    @property
    def transaction(self) -> StoreTransaction:
        """The LMDB transaction of `rows`."""
        return self.rows.transaction

    def in_order(self, table_id: int) -> StoredRows:
        """The same for a reader that goes through this table's keys in order: it lies in the tree."""
        self._read_in_order.note(table_id)
        while self.rows.has_runs(table_id):
            try:
                self.rows.merge(table_id)
                self._has_merged = True
            except lmdb.MapFullError:
                self._begin_again_larger()
            except lmdb.Error as error:
                raise self._failed(error) from error
        return self.rows

    def begin(self) -> None:
        """Begins at the state before the epoch: takes back what earlier attempts at it have left.

        StaleEpoch if the shard is at a later epoch already.
        """
        self._read_in_order.begin()
        try:
            self._begin()
        except lmdb.MapFullError:
            self._begin_again_larger()
        except lmdb.Error as error:
            raise self._failed(error) from error

    @property
    def written(self) -> list[WriteBatch]:
        """What was written so far, in order, and can be taken back."""
        done = (each for each in self._written if each.can_be_undone)
        return [part for each in done for part in each.batch.split(each.starts)]

    def write(self, writes: Drained) -> None:
        """Writes rows of one table to the store."""
        if len(writes.batch.keys):
            known = known_values(writes)
            written = _Written(writes.batch, can_be_undone=True, new=writes.new)
            self._keep(written, None if known is None else lambda: known)

    def write_all(self, writes: Sequence[Drained]) -> None:
        """Writes rows of several tables, given in the order of their ids."""
        # A small epoch changes a few rows of each of many tables, and to hand a batch on costs more than its rows. So
        # what goes to the tree anyway goes there at once. A table with runs decides for itself (`StoredRows.write`), as
        # does a batch that may become one. The tables' ids begin the keys, so the joined keys ascend.
        small: list[Drained] = []
        for each in writes:
            if len(each.batch.keys) < self.tuning.run_batch_rows and not self._has_runs(each.batch):
                small.append(each)
            else:
                self.write(each)
        if len(small) == 1:
            self.write(small[0])
        elif small:
            keys = joined_arrays([each.batch.keys for each in small])
            values = joined_arrays([each.batch.values for each in small])
            starts = [0, *accumulate(len(each.batch.keys) for each in small[:-1])]
            written = _Written(WriteBatch(keys, values), can_be_undone=True, starts=starts)
            self._keep(written, lambda: self._old_values_of_tables(small))

    def write_few(self, writes: Sequence[FewWrites]) -> None:
        """Writes what came row by row, of each table once: all tables' rows together, where they go to the tree."""
        changes, of_runs = changed_rows(self.rows, writes)
        if changes is not None:
            written = _Written(changes.batch, can_be_undone=True, starts=changes.starts, all_differ=True)
            self._keep(written, lambda: changes.old)
        for batch in of_runs:
            self._keep(_Written(batch, can_be_undone=True))

    def purge(self, table_id: int, keys: pa.BinaryArray) -> None:
        """Deletes rows of a table that is no more, for good."""
        self._purged.add(table_id)
        gone = WriteBatch(keys, pa.nulls(len(keys), pa.binary()))
        self._keep(_Written(gone, can_be_undone=False, purged=table_id))

    def rewrite(self, batch: WriteBatch) -> None:
        """Stores rows in another form that means the same, for good."""
        self._keep(_Written(batch, can_be_undone=False))

    def note(self, key: bytes, value: bytes) -> None:
        """Notes something beside the rows, for good, at the commit."""
        self._notes[key] = value

    def commit(self) -> None:
        """Makes the writes durable, with what takes them back. Nothing is written if nothing has changed."""
        for_good = self._notes or self._has_merged or any(not written.can_be_undone for written in self._written)
        if not (self._undo or self._has_undone or for_good):
            return
        if self._shared is not None and self._changed:
            self.delta = self._shared.deltas.put(self.epoch, self.stage, self._shared.shard, self._changed)
            self.note(*attempt_note(self.stage, self.epoch, self.delta.name))
        while True:
            try:
                self._commit()
                return
            except lmdb.MapFullError:
                self._begin_again_larger()
            except lmdb.Error as error:
                raise self._failed(error) from error

    def end(self) -> None:
        """Drops what is not committed."""
        if self._rows is not None:
            self._rows.transaction.abort()
            self._rows = None

    def _begin(self) -> None:
        self._rows = StoredRows(self._environment, self._environment.begin_write())
        self._undo, self._changed = [], []
        self._statistics = StatisticsChange()
        markers = read_markers(self.transaction)
        later = max(markers.values(), default=0)
        if later > self.epoch:
            raise StaleEpoch(f"epoch {self.epoch} comes too late: {self._environment.path} is at {later}")
        self._has_undone = take_back_attempts(self._rows, self.stage, self.epoch, self._committed)

    def _begin_again_larger(self) -> None:
        """Does it all again in a larger map."""
        while True:
            self.transaction.abort()
            self._environment.grow()
            try:
                self._begin()
                for written in self._written:
                    self._apply(written)
                return
            except lmdb.MapFullError:
                continue
            except lmdb.Error as error:
                raise self._failed(error) from error

    def _keep(self, written: _Written, old_values: Callable[[], pa.BinaryArray] | None = None) -> None:
        """Applies writes, and remembers them. `old_values` knows a shorter way to what is there now."""
        self._written.append(written)
        try:
            self._apply(written, old_values)
        except lmdb.MapFullError:
            self._begin_again_larger()
        except lmdb.Error as error:
            raise self._failed(error) from error

    def _apply(self, written: _Written, old_values: Callable[[], pa.BinaryArray] | None = None) -> None:
        batch, starts = written.batch, written.starts
        if written.purged is not None:
            self._changed.append(batch)
            self.rows.drop_runs(written.purged)
            self.rows.write(batch, in_order=True)
            return
        if not written.can_be_undone:
            self._statistics.replace(batch.keys, self.rows.get_values(batch.keys), batch.values)
            self._write(batch, starts)
            return
        if old_values is None and len(starts) > 1:
            # All began again, and with it the merge for a reader after which these tables had no runs.
            for start in starts:
                self.rows.merge(StoredRows.table_of(batch.keys.slice(start, 1)))
        replaces = old_values is None and len(starts) == 1
        replaces = replaces and not self.rows.become_runs(batch.keys, in_order=self._is_read_in_order(batch))
        if replaces:
            old = self.rows.replace(batch, written.new)
        else:
            old = self._old_values(batch.keys, written.new) if old_values is None else old_values()
        changed = None if written.all_differ else _differs(old, batch.values)
        if changed is not None:
            starts = _starts_among(starts, changed)
            batch, old = WriteBatch(batch.keys.filter(changed), batch.values.filter(changed)), old.filter(changed)
            if not len(batch.keys):
                return
        self._undo.append(WriteBatch(batch.keys, old))
        self._statistics.replace_of_tables(batch.keys, starts, old, batch.values)
        if not replaces:
            self._write(batch, starts)
        elif self._shared is not None:
            self._changed.append(batch)

    def _write(self, batch: WriteBatch, starts: Sequence[int]) -> None:
        if self._shared is not None:
            self._changed += batch.split(starts)
        if len(starts) > 1:
            self.rows.write_together(batch)
        else:
            self.rows.write(batch, in_order=self._is_read_in_order(batch))

    def _is_read_in_order(self, batch: WriteBatch) -> bool:
        return self._read_in_order.lately(StoredRows.table_of(batch.keys))

    def _has_runs(self, batch: WriteBatch) -> bool:
        return self.rows.has_runs(StoredRows.table_of(batch.keys))

    def _old_values_of_tables(self, writes: Sequence[Drained]) -> pa.BinaryArray:
        """The same of several tables that have no runs: what is not known is looked up at once."""
        found = [known_values(each) for each in writes]
        unknown = [number for number, values in enumerate(found) if values is None]
        if unknown:
            looked_up = self.transaction.get_values(joined_arrays([writes[number].batch.keys for number in unknown]))
            start = 0
            for number in unknown:
                found[number] = looked_up.slice(start, len(writes[number].batch.keys))
                start += len(writes[number].batch.keys)
        return joined_arrays(found)

    def _old_values(self, keys: pa.BinaryArray, new: Mask | None) -> pa.BinaryArray:
        """What is there now; the keys that are `new` are not looked for."""
        if new is None or not new.any():
            return self.rows.get_values(keys)
        if new.all():
            return pa.nulls(len(keys), pa.binary())
        present = np.flatnonzero(~new)
        found = self.rows.get_values(keys.take(pa.array(present)))
        places = np.zeros(len(keys), np.int64)
        places[present] = np.arange(len(present))
        return found.take(pa.array(places, mask=new))

    def _commit(self) -> None:
        transaction = self.transaction
        if self._undo:
            before = read_marker(transaction, self.stage)
            write_undo(transaction, self.stage, UndoRecord(self.epoch, before, self._undo))
        for table_id in self._purged:
            self._statistics.forget(table_id)
        self._statistics.write(transaction)
        for key, value in self._notes.items():
            transaction.put(key, value, db=META)
        reach("shard.commit")
        transaction.commit()
        self._environment.extend_file()
        self._rows = None
        reach("shard.committed")

    def _failed(self, error: lmdb.Error) -> IoError:
        return disk_failure(f"cannot write the store in {self._environment.path}", error)


def _starts_among(starts: Sequence[int], kept: pa.BooleanArray) -> Sequence[int]:
    """The first rows of each table that has some among those that are kept."""
    if len(starts) == 1:
        return starts
    before = np.concatenate([[0], np.cumsum(kept.to_numpy(zero_copy_only=False))])
    # A table that keeps no row begins where the next one does, or at the end.
    return [start for start in np.unique(before[list(starts)]).tolist() if start < before[-1]]


def _differs(old: pa.BinaryArray, new: pa.BinaryArray) -> pa.BooleanArray | None:
    """Which values change; None if all do. NULL is equal to NULL."""
    if old.null_count == len(old) and not new.null_count:
        return None
    same = pc.equal(old, new)
    if same.null_count:
        same = pc.if_else(pc.is_null(same), pc.and_(pc.is_null(old), pc.is_null(new)), same)
    return None if not np.any(same.to_numpy(zero_copy_only=False)) else pc.invert(same)
