"""Up to which epoch each subscription has lost its changes. What is noted here is gone, or goes soon."""

from __future__ import annotations

from collections.abc import Collection

from risingpy.storage.engine.meta_store import MetaStore

_PREFIX = "subscription/"


class DeletedEpochs:
    """By subscription, in the meta store. Any thread may call it; every write is synced."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        with store.transaction() as txn:
            self._known = {int(key.removeprefix(_PREFIX)): int(value) for key, value in txn.scan(_PREFIX)}

    def of(self, subscription_id: int) -> int:
        """The last epoch whose changes may be gone; 0 if none are."""
        return self._known.get(subscription_id, 0)

    def record(self, subscription_id: int, epoch: int) -> None:
        """Notes it, before the changes are deleted: a reader that finds none must know whether there were some."""
        with self._store.transaction() as txn:
            txn.put(f"{_PREFIX}{subscription_id}", str(epoch).encode())
        self._known[subscription_id] = epoch

    def keep_only(self, subscription_ids: Collection[int]) -> None:
        """Forgets the subscriptions that were dropped."""
        dropped = self._known.keys() - set(subscription_ids)
        if not dropped:
            return
        with self._store.transaction() as txn:
            for subscription_id in dropped:
                txn.delete(f"{_PREFIX}{subscription_id}")
                del self._known[subscription_id]
