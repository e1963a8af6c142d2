"""The server's own stores where tasks run on other machines: they follow the tasks' deltas.

An epoch's deltas are written with an undo record before the epoch is committed, as if its tasks had run here. So
everything after that (commit, read views, recovery) is the same as on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.shard_threads import ShardThreads
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.journal.delta import decode_batches, read_batches
from risingpy.storage.journal.entries import Delta
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import DEFAULT_TUNING


class Replica:
    """For the barrier loop's thread."""

    def __init__(self, data_dir: Path, objects: ObjectStore) -> None:
        self._data_dir = data_dir
        self._objects = objects
        self._stores: dict[int, ShardStore] = {}
        self._threads = ShardThreads()

    def fill(self, descriptor: EpochDescriptor, deltas: Sequence[Delta]) -> None:
        """Writes an epoch's deltas, in their order. Nobody reads them before the epoch is committed."""

        def write(shard: int) -> None:
            store = self._store(shard, descriptor.shards)
            with store.begin(descriptor.epoch, 0, committed=descriptor.committed) as transaction:
                for delta in deltas:
                    if delta.shard == shard:
                        for batch in self._batches(delta):
                            transaction.put_rows(batch)
                transaction.commit()

        self._threads(write, range(descriptor.shards))

    def close(self) -> None:
        self._threads.close()
        for store in self._stores.values():
            store.close()
        self._stores.clear()

    def _batches(self, delta: Delta) -> list[WriteBatch]:
        return (
            read_batches(self._objects, delta.name)
            if delta.inline is None
            else decode_batches(delta.name, delta.inline)
        )

    def _store(self, shard: int, shards: int) -> ShardStore:
        if shard not in self._stores:
            path, tuning = shard_directory(self._data_dir, shard, shards), replace(DEFAULT_TUNING, synced=False)
            self._stores[shard] = ShardStore(path, shard=shard, shards=shards, cast=cast_stored, tuning=tuning)
        return self._stores[shard]
