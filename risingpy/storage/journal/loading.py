"""Brings a shard's store to a version: the snapshots of its tables, then the deltas that come after them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.journal.delta import read_batches, table_id_of
from risingpy.storage.journal.reading import READERS, read_deltas
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import ObjectStore


def load_shard(objects: ObjectStore, version: Version, shard: int, store: ShardStore, after: int | None) -> int:
    """Brings a shard's store to the version; returns how many rows it took.

    The store is empty, or has the committed epoch `after` and nothing of a later one.
    """
    rows = 0
    if after is None:
        for batch in _snapshot_rows(objects, version, shard):
            store.fill(batch)
            rows += len(batch.keys)
    deltas = version.deltas_after(after or 0, shard)
    for delta, batches in zip(deltas, read_deltas(objects, deltas), strict=True):
        counted = version.counted_tables(delta)
        needed = [batch for batch in batches if after is not None or table_id_of(batch) in counted]
        store.catch_up(needed)
        rows += sum(len(batch.keys) for batch in needed)
    store.newest().close()  # makes the shard's store, even if it got no row
    return rows


def _snapshot_rows(objects: ObjectStore, version: Version, shard: int) -> Iterator[WriteBatch]:
    """The rows of all snapshots of a shard, while the next parts are being read."""
    names = [part.name for table in version.snapshots_of(shard) for part in table.parts]
    with ThreadPoolExecutor(READERS // 4) as pool:
        for start in range(0, len(names), READERS // 4):
            for batches in pool.map(lambda name: read_batches(objects, name), names[start : start + READERS // 4]):
                yield from batches
