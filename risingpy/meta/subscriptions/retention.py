"""The thread that has old changes of subscriptions deleted: those beyond their retention in time or in bytes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.subscriptions.deleted_epochs import DeletedEpochs
from risingpy.plan.catalog import Catalog, Subscription
from risingpy.storage.engine.storage_table import StorageTable

LOOK_SECONDS = 5.0  # between two looks for old changes, at most
SHORTEST_LOOK_SECONDS = 0.5
BLOCKS_PER_READ = 16  # of each shard

LOG = logging.getLogger(__name__)


class SubscriptionRetention:
    """One for a database. `follow` is called with each new catalog. The thread runs while there are subscriptions.

    `table_bytes` gives the bytes that a changelog has; `wake` has an idle database look what there is to do.
    """

    def __init__(
        self,
        published: PublishedState,
        deleted: DeletedEpochs,
        trimming: Trimming,
        table_bytes: Callable[[int], int],
        wake: Callable[[], None],
    ) -> None:
        self._published = published
        self._deleted = deleted
        self._trimming = trimming
        self._table_bytes = table_bytes
        self._wake = wake
        self._guard = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._changed = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._asked: dict[int, int] = {}  # up to which epoch a changelog is to be deleted
        self._oldest: dict[int, int] = {}  # the first epoch of which a changelog has changes, where it is known

    def follow(self, catalog: Catalog) -> None:
        """Looks after the subscriptions of this catalog, and no others."""
        found = tuple(
            each
            for each in catalog.relations.values()
            if isinstance(each, Subscription) and each.kept_for is None  # what a job reads goes when the job has it
        )
        with self._guard:
            if found == self._subscriptions or self._closed:
                return
            self._subscriptions = found
            self._changed.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="subscription retention", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        with self._guard:
            self._closed = True
        self._changed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            self._changed.clear()
            subscriptions = self._subscriptions
            try:
                self._deleted.keep_only([each.relation_id for each in subscriptions])
                for each in subscriptions:
                    self._look_after(each)
            except SqlError as error:  # the next look may find better times
                LOG.warning("old changes of subscriptions cannot be deleted: %s", error)
            shortest = min((each.retention_seconds for each in subscriptions), default=None)
            pause = None if shortest is None else min(LOOK_SECONDS, max(shortest / 4, SHORTEST_LOOK_SECONDS))
            self._changed.wait(pause)

    def _look_after(self, subscription: Subscription) -> None:
        """Has the changes of a subscription deleted that are too old or too many."""
        size = self._table_bytes(subscription.table.table_id)
        if not size:
            self._oldest.pop(subscription.relation_id, None)
            return
        now = int(time.time() * 1000)
        last = ((now - subscription.retention_seconds * 1000) << COUNTER_BITS) - 1
        limit = subscription.retention_bytes
        if limit is not None and size > limit:
            last = max(last, self._end_of(subscription, size - limit))
        first = self._first(subscription)
        if first is None or first > last or first <= self._asked.get(subscription.relation_id, 0):
            return
        self._deleted.record(subscription.relation_id, max(last, self._deleted.of(subscription.relation_id)))
        self._trimming.up_to(subscription.table.table_id, last)
        self._asked[subscription.relation_id] = last
        self._wake()

    def _first(self, subscription: Subscription) -> int | None:
        """The first epoch of which there are changes."""
        known = self._oldest.get(subscription.relation_id)
        if known is None or known <= self._asked.get(subscription.relation_id, 0):
            _, blocks = self._blocks(subscription, 0, 1)
            known = min((epoch for epoch, _ in blocks), default=None)
            if known is not None:
                self._oldest[subscription.relation_id] = known
        return known

    def _end_of(self, subscription: Subscription, size: int) -> int:
        """The epoch up to which the oldest changes have so many bytes."""
        newest, after, last = self._published.state.committed.epoch, 0, 0
        while size > 0:
            whole, blocks = self._blocks(subscription, after, BLOCKS_PER_READ)
            for epoch, length in sorted(blocks):
                if epoch > whole:
                    break
                if size <= 0 and epoch > last:
                    return last
                size, last = size - length, epoch
            if whole >= newest:
                break
            after = whole
        return last

    def _blocks(self, subscription: Subscription, after: int, limit: int) -> tuple[int, list[tuple[int, int]]]:
        """(the epoch up to which these are all, (epoch, bytes) of blocks after the epoch `after`)."""
        state, view = self._published.acquire_view()
        try:
            pages = StorageTable(subscription.table, view).after(pa.array([after], pa.int64()), limit)
        finally:
            view.release()
        newest = state.committed.epoch
        whole = min((page.column("c0")[-1].as_py() for page in pages if page.num_rows == limit), default=newest)
        found = [
            (epoch, len(block.as_buffer()))
            for page in pages
            for epoch, block in zip(page.column("c0").to_pylist(), page.column("c2"), strict=True)
        ]
        return whole, found
