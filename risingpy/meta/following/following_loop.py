"""Brings this server's stores to each version that the leader commits, and publishes it.

The loop takes the place of the barrier loop. A version's rows are taken on every shard first, then the meta store
notes them, then a read view opens: so a crash in between takes rows twice, which does no harm, and no reader finds half
of an epoch. Several epochs that were committed meanwhile are published as one: a reader of the leader could have missed
those between, too.

A storage that does not answer is asked again. Reads go on with what is there; `seconds_behind` says for how long.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from risingpy.errors import SqlError
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.following.followed_state import FollowedState
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.journal.entries import MetaEntry
from risingpy.storage.journal.loading import load_shard
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.objects.object_store import StateUnavailable

LOG = logging.getLogger(__name__)

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  # seconds between two looks at the journal; it doubles while nothing comes
CHECK_SECONDS = 10.0  # between two looks whether the next record was deleted, while none comes
_MOST_RECORDS = 64  # before what has come is published
_SHARDS_AT_ONCE = 4
_AGAIN = "Start this server again: it begins with a snapshot."


class FollowingLoop:
    """`start` and `stop` are for the server, once each. `lost`: why the server must end, if it must."""

    def __init__(
        self,
        followed: FollowedState,
        meta_store: MetaStore,
        states: DurableState,
        published: PublishedState,
        committer: Committer,
        store: StateStore,
    ) -> None:
        self._followed = followed
        self._meta_store = meta_store
        self._states = states
        self._published = published
        self._committer = committer
        self._store = store
        self._taken: list[MetaEntry] = []  # read of the journal, and not published yet
        self._epoch = published.state.committed.epoch  # which the stores have
        self._looked_at = time.monotonic()
        self._check_at = self._looked_at
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="following", daemon=True)
        self.lost: SqlError | None = None

    @property
    def seconds_behind(self) -> float:
        """How long ago this server had everything that the leader had committed."""
        return time.monotonic() - self._looked_at

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Ends after what it is taking. Always true: `BarrierLoop.stop` may be false."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        return True

    def _run(self) -> None:
        pause, is_told = SHORTEST_PAUSE, False
        while not self._is_stopping.wait(pause):
            began = time.monotonic()
            try:
                pause = SHORTEST_PAUSE if self._advance() else min(2 * pause, LONGEST_PAUSE)
            except StateUnavailable as error:
                if not is_told:
                    LOG.warning("cannot follow, reads go on: %s", error)
                is_told, pause = True, LONGEST_PAUSE
                continue
            except Exception as error:
                if not isinstance(error, SqlError):
                    LOG.exception("following failed")
                self.lost = error if isinstance(error, SqlError) else SqlError(str(error), sqlstate="XX000")
                return
            self._looked_at = began
            if is_told:
                LOG.info("%s answers again", self._followed.uri)
                is_told = False

    def _advance(self) -> bool:
        """Publishes what the leader has committed since; False if that is nothing."""
        for _ in range(_MOST_RECORDS):
            self._take_rows()
            entries = self._followed.next_entries()
            if entries is None:
                break
            self._taken += entries
            if self._followed.version.shards != self._store.shards:
                break  # another layout is published before what comes after it
        self._take_rows()
        if not self._taken:
            self._check_slot()
            return False
        written: dict[str, bytes | None] = {}
        for entry in self._taken:
            written.update(entry.written)
        self._meta_store.take(written, self._followed.noted())
        self._committer.take_over(self._states.after(self._published.state, written))
        self._taken.clear()
        return True

    def _take_rows(self) -> None:
        """Brings the shards to the version's epoch: before the next record, since a snapshot there replaces deltas."""
        version, after = self._followed.version, self._epoch
        if version.epoch == after:
            return
        if version.shards != self._store.shards:
            self._take_layout()
        elif after < version.complete_after:
            raise DamagedState(f"{self._followed.uri} has more than changes of epoch {after}", hint=_AGAIN)
        else:
            self._load(self._store.stores, after)
        self._epoch = version.epoch

    def _take_layout(self) -> None:
        """Loads all shards of another number of them, while the views of before are read."""
        LOG.info("the leader has moved the state to %d shards", self._followed.version.shards)
        stores = self._store.prepare(self._followed.version.shards)
        try:
            self._load(stores, None)
        except BaseException:
            for store in stores:
                store.close()
            raise
        self._store.lay_out(stores)

    def _load(self, stores: list[ShardStore], after: int | None) -> None:
        objects, version = self._followed.objects, self._followed.version
        with ThreadPoolExecutor(_SHARDS_AT_ONCE) as pool:
            list(pool.map(lambda store: load_shard(objects, version, store.shard, store, after), stores))

    def _check_slot(self) -> None:
        now = time.monotonic()
        if now >= self._check_at:
            self._followed.check_slot()
            self._check_at = now + CHECK_SECONDS
