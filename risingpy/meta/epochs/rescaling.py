"""Moves the state of a running server to another number of shards, between two epochs.

The rows of the committed epoch go to new shards beside the old ones; with shared storage, snapshots of these are put
there. The commit of the meta store is the commit point, as in `meta/recovery/rescale.py`. Reads go on: views of
before keep the old shards, which are deleted after the last of them. Writes into the log go on, too, and wait for the
next epoch as always.

A job that still reads its upstreams' rows has noted how far by shards, and the move waits for its end.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.next_epoch import creating
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.recovery.rescale import copy_rows
from risingpy.meta.shared_state.layout import put_layout
from risingpy.meta.shared_state.shared_state import SharedState
from risingpy.meta.state import MetaState
from risingpy.storage.engine.meta_store import MetaTransaction
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import ShardStore

LOG = logging.getLogger(__name__)


class Rescaling:
    """For the barrier loop's thread; any thread may ask `is_due`."""

    def __init__(
        self, published: PublishedState, committer: Committer, store: StateStore, shared: SharedState | None
    ) -> None:
        self._published = published
        self._committer = committer
        self._store = store
        self._objects = None if shared is None else shared.objects
        self._failed = 0  # the number of shards that the state could not be moved to

    def is_due(self, state: MetaState) -> bool:
        """Whether the state is to be moved, and can be, before the next epoch."""
        if state.wanted_shards in (0, self._failed):
            return False
        return state.partial is None and not (state.fresh_jobs or creating(state))

    def try_again(self) -> None:
        """Somebody asks for it: what has failed may be right now."""
        self._failed = 0

    def run(self) -> None:
        """Moves the state. If that fails, it stays as it is, and the next start of a server tries it again."""
        old, began = self._published.state, time.monotonic()
        try:
            stores = self._store.prepare(old.wanted_shards)
        except SqlError as error:
            self._give_up(old, error)
            return
        try:
            rows = self._move(old, stores)
        except BaseException as error:
            for store in stores:
                store.close()
            if not isinstance(error, SqlError | OSError) or isinstance(error, CannotConnectNow):
                raise
            self._give_up(old, error)
            return
        told = f"{rows:,} rows in {time.monotonic() - began:.1f} s"
        LOG.info("the state is on %d shards instead of %d: %s", len(stores), old.shards, told)

    def _move(self, old: MetaState, stores: list[ShardStore]) -> int:
        view = self._store.open_read_view(old.committed.epoch)
        try:
            rows = copy_rows(old, view, stores)
        finally:
            view.release()
        # A later epoch of the same time, in which nothing happens: caches of before are known by theirs.
        committed = replace(old.committed, epoch=old.committed.epoch + 1)
        layout = None if self._objects is None else put_layout(self._objects, stores, committed.epoch, committed.lsn)
        new = replace(
            old,
            shards=len(stores),
            wanted_shards=0,
            graph_version=old.graph_version + 1,
            committed=committed,
            purge=frozenset(),  # the remaining rows of dropped tables were not copied
            dropped={},
        )

        def commit(txn: MetaTransaction) -> None:
            if layout is not None:
                txn.commits(layout)

        self._committer.commit_layout(old, new, commit, lambda: self._store.lay_out(stores))
        return rows

    def _give_up(self, state: MetaState, error: Exception) -> None:
        self._failed = state.wanted_shards
        LOG.error("the state stays on %d shards until the next start: %s", state.shards, error)
