"""Puts a whole state into shared storage in another layout: a snapshot of every table on every shard.

Nothing counts until the journal names it, in the record that commits the layout. A crash before that leaves objects for
the vacuum; so do, later, the deltas and snapshots of the layout before.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain, groupby

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.engine.store_check import stored_rows
from risingpy.storage.journal import compaction
from risingpy.storage.journal.entries import Layout, TableSnapshot
from risingpy.storage.objects.object_store import ObjectStore

_SHARDS_AT_ONCE = 4  # each holds a part of a snapshot in memory


def put_layout(objects: ObjectStore, stores: list[ShardStore], epoch: int, lsn: int) -> Layout:
    """Puts the rows of all shards, which nobody changes meanwhile. StateUnavailable if that cannot be done."""
    with ThreadPoolExecutor(min(len(stores), _SHARDS_AT_ONCE)) as pool:
        found = pool.map(lambda store: list(_snapshots(objects, store, epoch)), stores)
        return Layout(epoch, lsn, len(stores), tuple(chain.from_iterable(found)))


def _snapshots(objects: ObjectStore, store: ShardStore, epoch: int) -> Iterator[TableSnapshot]:
    snapshot = store.newest()
    try:
        with closing(stored_rows(snapshot)) as found:  # it keeps the snapshot in use, also if a put fails
            for table_id, batches in groupby(found, lambda each: each[0]):
                parts = compaction.put_parts(objects, table_id, store.shard, epoch, _rows(batches))
                if parts:
                    yield TableSnapshot(table_id, store.shard, epoch, parts)
    finally:
        snapshot.close()


def _rows(batches: Iterator[tuple[int, WriteBatch]]) -> Iterator[WriteBatch]:
    return (batch for _, batch in batches if len(batch.keys))
