"""Changes the number of shards of a stopped database.

It writes the new shards beside the old ones. The change takes effect when the meta store commits the new number. A
crash before that leaves the old shards valid, a crash after it the new ones; the next start deletes the others.

In shared storage, the new shards are snapshots of every table, put before the journal's record that commits the new
number. Whoever has shards of before (a cache, a worker, a follower) is behind that record's epoch, and takes these.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.meta.durable_state import DurableState, without_backfills
from risingpy.meta.schema.objects.temporary import without_temporary_schemas
from risingpy.meta.schema.recovering import with_partial_made_anew
from risingpy.meta.shared_state.cache import refuse_cache
from risingpy.meta.shared_state.layout import put_layout
from risingpy.meta.state import MetaState
from risingpy.optimizer.stream.nested_loop_join import side_that_is_everywhere
from risingpy.plan.joins import DynamicFilter, HashJoin
from risingpy.plan.operators import StreamPlan, TableScan
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import TableSchema, shards_of_vnodes
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.engine.shard_store import ShardStore, shard_directory, shards_directory
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.engine.store_check import stored_rows
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES
from risingpy.storage.journal.entries import Layout
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

_VNODE_BYTES = 2


def rescale(data_dir: Path, shards: int, say: Callable[[str], None]) -> int:
    """Gives a stopped server's directory `shards` shards; returns how many rows were moved.

    Raises DataDirectoryInUse while a server uses it, IoError if the disk fails; the database is then unchanged.
    """
    refuse_cache(data_dir)
    store = MetaStore(data_dir)
    try:
        return rescale_opened(data_dir, store, shards, say)
    finally:
        store.close()


def rescale_opened(
    data_dir: Path,
    store: MetaStore,
    shards: int,
    say: Callable[[str], None],
    tuning: StoreTuning = DEFAULT_TUNING,
    objects: ObjectStore | None = None,
) -> int:
    """`rescale` for a caller that has the meta store open, and, of a directory that is a cache, leads in `objects`."""
    states = DurableState(store)
    stored = states.load(shards)
    remove_other_shards(data_dir, stored.shards)
    state = without_temporary_schemas(without_backfills(with_partial_made_anew(stored)))
    # The remaining rows of dropped tables are not copied.
    new = replace(state, shards=shards, wanted_shards=0, purge=frozenset(), dropped={})
    rows, also = 0, _commits(None)
    if state.shards != shards:
        say(f"Moving {data_dir} from {state.shards} to {shards} shards.")
        with _new_shards(data_dir, shards, tuning) as targets:
            rows = _copy_all(data_dir, state, targets)
            if objects is not None:
                # A later epoch of the same time: what has happened by then has happened by the one before, too.
                committed = replace(state.committed, epoch=state.committed.epoch + 1)
                new = replace(new, committed=committed)
                also = _commits(put_layout(objects, targets, committed.epoch, committed.lsn))
    states.commit(stored, new, also)
    remove_other_shards(data_dir, shards)
    say(f"{rows:,} rows in {shards} shards.")
    return rows


def remove_other_shards(data_dir: Path, shards: int) -> None:
    """Deletes the directories that an interrupted rescaling has left."""
    kept = {shard_directory(data_dir, shard, shards) for shard in range(shards)}
    if shards_directory(data_dir).is_dir():
        for directory in shards_directory(data_dir).iterdir():
            if directory not in kept:
                shutil.rmtree(directory)


@contextmanager
def _new_shards(data_dir: Path, shards: int, tuning: StoreTuning) -> Iterator[list[ShardStore]]:
    directories = [shard_directory(data_dir, shard, shards) for shard in range(shards)]
    stores = [ShardStore(path, shard=k, shards=shards, tuning=tuning) for k, path in enumerate(directories)]
    try:
        yield stores
    finally:
        for store in stores:
            store.close()


def _commits(layout: Layout | None) -> Callable[[MetaTransaction], None]:
    return lambda txn: None if layout is None else txn.commits(layout)


def _copy_all(data_dir: Path, state: MetaState, targets: list[ShardStore]) -> int:
    source = StateStore(data_dir, state.shards, cast=cast_stored)
    try:
        source.recover(state.committed.epoch)
        view = source.open_read_view(state.committed.epoch)
        try:
            return copy_rows(state, view, targets)
        finally:
            view.release()
    finally:
        source.close()


def copy_rows(state: MetaState, view: ReadView, targets: list[ShardStore]) -> int:
    """Fills the shards of another layout with the rows of the committed epoch; returns how many were moved.

    Every job must have all rows of its upstreams.
    """
    shards = len(targets)
    progress, bounds = _progress_tables(state), _bound_tables(state)
    copied = _copied_tables(state)
    left_out = {*progress, *bounds, *copied, *state.purge}
    moved = 0
    for number, snapshot in enumerate(view.snapshots):
        with closing(stored_rows(snapshot)) as found:
            for table_id, batch in found:
                if table_id not in left_out:
                    for shard, part in _split(batch, shards):
                        targets[shard].fill(part)
                    moved += len(batch.keys)
                elif table_id in copied and number == 0:
                    for target in targets:
                        target.fill(batch)
                    moved += len(batch.keys)
    known = [(table, _any_row(StorageTable(table, view))) for table in bounds.values()]
    for shard, target in enumerate(targets):
        target.newest().close()  # creates the shard's store, even if it gets no row
        for table, row in known:
            if row is not None:
                target.fill(_with_shard(table, shard, row))
        for table in progress.values():
            target.fill(_finished(table, shard))
    return moved


def _split(batch: WriteBatch, shards: int) -> Iterator[tuple[int, WriteBatch]]:
    """The rows of each new shard."""
    vnodes = pc.binary_slice(batch.keys, TABLE_ID_BYTES, TABLE_ID_BYTES + _VNODE_BYTES).cast(pa.binary(_VNODE_BYTES))
    owners = shards_of_vnodes(np.frombuffer(vnodes.buffers()[1], ">u2"), shards)
    for shard in np.unique(owners).tolist():
        mine = pa.array(owners == shard)
        yield shard, WriteBatch(batch.keys.filter(mine), batch.values.filter(mine))


def _progress_tables(state: MetaState) -> dict[int, TableSchema]:
    """The tables with a row per shard: the progress of its backfill."""
    return {node.progress.table_id: node.progress for node in _nodes(state) if isinstance(node, TableScan)}


def _bound_tables(state: MetaState) -> dict[int, TableSchema]:
    """The tables with the same row in every shard: the bound of a filter."""
    return {node.bound.table_id: node.bound for node in _nodes(state) if isinstance(node, DynamicFilter)}


def _copied_tables(state: MetaState) -> frozenset[int]:
    """The tables that every shard has a copy of: those of a nested-loop join's side that is on all shards."""
    joins = ((node, side_that_is_everywhere(node)) for node in _nodes(state) if isinstance(node, HashJoin))
    sides = ((node.left_side, node.right_side)[number] for node, number in joins if number is not None)
    return frozenset(side.table.table_id for side in sides)


def _any_row(table: StorageTable) -> pa.RecordBatch | None:
    batches = table.scan(range(len(table.schema.columns)))
    first = next(batches, None)
    return None if first is None else first.slice(0, 1)


def _nodes(state: MetaState) -> Iterator[StreamPlan]:
    for job in state.jobs.values():
        for fragment in job.fragments:
            yield from nodes_of_fragment(fragment.root)


def _with_shard(table: TableSchema, shard: int, row: pa.RecordBatch) -> WriteBatch:
    """The row of another shard, as a row of this one."""
    return WriteBatch(*TableCodec(table).encode([pa.array([shard], pa.int32()), *row.columns[1:]], 1))


def _finished(table: TableSchema, shard: int) -> WriteBatch:
    """The progress of a finished backfill; every job that survives a restart has finished its backfill."""
    values: list[object] = [shard, None, True, 0]
    columns = [pa.array([value], column.type.arrow) for value, column in zip(values, table.columns, strict=True)]
    return WriteBatch(*TableCodec(table).encode(columns, 1))
