"""How far each sink has come: the last epoch that is on the other side. A restart goes on from there."""

from __future__ import annotations

from collections.abc import Collection

from risingpy.storage.engine.meta_store import MetaStore

_PREFIX = "sink/"


class DeliveredEpochs:
    """By sink, in the meta store. Any thread may call it; every write is synced."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store

    def of(self, sink_id: int) -> int:
        """The last delivered epoch; 0 if there is none."""
        with self._store.transaction() as txn:
            value = txn.get(f"{_PREFIX}{sink_id}")
        return int(value) if value is not None else 0

    def record(self, sink_id: int, epoch: int) -> None:
        """Everything up to this epoch is on the other side."""
        with self._store.transaction() as txn:
            txn.put(f"{_PREFIX}{sink_id}", str(epoch).encode())

    def keep_only(self, sink_ids: Collection[int]) -> None:
        """Forgets the sinks that were dropped."""
        with self._store.transaction() as txn:
            known = [int(key.removeprefix(_PREFIX)) for key, _ in txn.scan(_PREFIX)]
            for sink_id in known:
                if sink_id not in sink_ids:
                    txn.delete(f"{_PREFIX}{sink_id}")
