"""The server's side of the state: one committed epoch at a time, pinned on all shards, for queries to read."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

from risingpy.errors import InternalError, SqlError
from risingpy.storage.codec.column_history import Cast, no_cast
from risingpy.storage.codec.table_codec import Codecs
from risingpy.storage.engine import compaction
from risingpy.storage.engine.compaction import CompactionProgress, read_progress
from risingpy.storage.engine.lmdb_environment import MAP_BYTES, Snapshot, SnapshotTooOld
from risingpy.storage.engine.point_reads import PointReads
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.engine.table_statistics import TableStatistics, added_up, read_row_count, read_statistics
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

LOG = logging.getLogger(__name__)

_BUSY_SECONDS = 0.05  # a view that is being read is looked at again so soon: a page takes some 4 ms


class StateStore:
    """All shards of a data directory. Their number may change, between two epochs (`prepare` and `lay_out`)."""

    def __init__(
        self,
        data_dir: Path,
        shards: int,
        *,
        cast: Cast = no_cast,
        map_size: int = MAP_BYTES,
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        """`cast` is what reads rows from before an ALTER COLUMN TYPE."""
        self._data_dir, self._map_size, self._tuning = data_dir, map_size, tuning
        self._codecs = Codecs(cast, tuning.codecs)
        self._layout = _Layout(self._make(shards))
        self._retired: list[_Layout] = []  # those that views are still of
        self._views: WeakSet[ReadView] = WeakSet()
        self._views_guard = threading.Lock()  # the loop opens views while sessions look at them

    @property
    def shards(self) -> int:
        return len(self._layout.stores)

    @property
    def stores(self) -> list[ShardStore]:
        """By number."""
        return self._layout.stores

    def prepare(self, shards: int) -> list[ShardStore]:
        """Makes another number of shards, without rows: the caller fills them, and then has `lay_out` use them.

        What an interrupted attempt has left of them is deleted. SqlError (55006) if views of so many shards of earlier
        are still read.
        """
        if any(len(layout.stores) == shards for layout in (self._layout, *self._retired)):
            raise SqlError(f"shards in {self._data_dir} are still read", sqlstate="55006")
        stores = self._make(shards)
        for store in stores:
            shutil.rmtree(store.path, ignore_errors=True)
        return stores

    def lay_out(self, stores: list[ShardStore]) -> None:
        """From now on, views are of these shards. Those of before are deleted when their last view has ended."""
        before, self._layout = self._layout, _Layout(stores)
        self._retired.append(before)
        before.retire(lambda: self._retired.remove(before))

    def recover(self, committed_epoch: int) -> None:
        """Takes every shard back to the committed epoch. Before anything else reads or writes.

        DamagedStore if a shard is missing.
        """
        for store in self.stores:
            if committed_epoch:
                store.require()
            store.undo_beyond(committed_epoch)

    def open_read_view(self, epoch: int) -> ReadView:
        """Pins the committed `epoch` on every shard; after its commit and before the next one writes.

        The view is acquired once: the caller releases it. InternalError if a shard is ahead of the epoch.
        """
        snapshots: list[Snapshot] = []
        layout = self._layout
        try:
            for store in layout.stores:
                snapshots.append(store.snapshot(epoch))
            for store in layout.stores:
                snapshots.append(store.newest())  # the same: nothing is written meanwhile
        except BaseException:
            for snapshot in snapshots:
                snapshot.close()
            raise
        layout.use()
        shards = len(layout.stores)
        view = ReadView(epoch, snapshots[:shards], snapshots[shards:], self._codecs, layout.let_go)
        with self._views_guard:
            self._views.add(view)
        return view

    def views(self) -> list[ReadView]:
        """The views that somebody holds, the oldest first."""
        with self._views_guard:
            views = list(self._views)
        return sorted((view for view in views if view.is_held), key=lambda view: view.epoch)

    def cut_views(self, seconds: float) -> float | None:
        """Ends the views that have been outdated for longer; returns in how many seconds the next is due, if any is."""
        due: list[float] = []
        for view in self.views():
            outdated = view.outdated
            if outdated and outdated < seconds:
                due.append(seconds - outdated)
            elif outdated and not view.cut():
                due.append(_BUSY_SECONDS)
            elif outdated:
                LOG.warning("epoch %d, replaced %.0f s ago, was still read: its readers were cut", view.epoch, outdated)
        return min(due, default=None)

    @property
    def size_bytes(self) -> int:
        """Bytes of the shards' files."""
        return sum(store.size_bytes for store in self.stores)

    def close(self) -> None:
        """Closes the shards; views must be released before."""
        for layout in (*self._retired, self._layout):
            layout.close()

    def _make(self, shards: int) -> list[ShardStore]:
        return [
            ShardStore(directory, shard=shard, shards=shards, map_size=self._map_size, tuning=self._tuning)
            for shard, directory in enumerate(shard_directory(self._data_dir, shard, shards) for shard in range(shards))
        ]


class _Layout:
    """The shards that the views of some time are of. They are closed when nobody uses them any more."""

    def __init__(self, stores: list[ShardStore]) -> None:
        self.stores = stores
        self._users = 1  # the state store, until it has others
        self._is_closed = False
        self._at_end: Callable[[], None] | None = None  # if the shards are not needed any more
        self._guard = threading.Lock()

    def use(self) -> None:
        """A view begins."""
        with self._guard:
            self._users += 1

    def let_go(self) -> None:
        """A view has ended, or the state store."""
        with self._guard:
            self._users -= 1
            if self._users:
                return
        self.close()

    def close(self) -> None:
        """Closes the shards, once."""
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
        for store in self.stores:
            store.close()
        if self._at_end is not None:
            for store in self.stores:
                shutil.rmtree(store.path, ignore_errors=True)
            self._at_end()

    def retire(self, at_end: Callable[[], None]) -> None:
        """There are other shards now. These are deleted after the last view of them, and then `at_end` is called."""
        self._at_end = at_end
        self.let_go()


class ReadView:
    """One committed epoch, readable as long as somebody holds it (seed 003's pinned snapshot).

    Holding one for long keeps the space of what has been overwritten since it was outdated, and a reader's slot. So
    it can be cut: whoever reads it then gets SnapshotTooOld.

    A scan uses a shard's snapshot for a millisecond at a time. Reads of single rows have snapshots of their own, of the
    same state, and wait only for each other.
    """

    def __init__(
        self,
        epoch: int,
        snapshots: list[Snapshot],
        for_points: list[Snapshot],
        codecs: Codecs,
        at_end: Callable[[], None],
    ) -> None:
        """`at_end` is called when the last holder has let go of it."""
        self.epoch = epoch
        self.codecs = codecs
        self.snapshots = snapshots
        self.points = PointReads(for_points)
        self._all = [*snapshots, *for_points]
        self._holders = 1
        self._at_end = at_end
        self._guard = threading.Lock()
        self._opened = time.monotonic()
        self._outdated: float | None = None

    @property
    def shards(self) -> int:
        return len(self.snapshots)

    @property
    def holders(self) -> int:
        """How many hold it; the server itself holds the newest."""
        return self._holders

    @property
    def is_held(self) -> bool:
        """False when everybody has let go of it, or it has been cut on all shards."""
        return self._holders > 0 and any(snapshot.is_open for snapshot in self._all)

    @property
    def age(self) -> float:
        """Seconds since it was opened."""
        return time.monotonic() - self._opened

    @property
    def outdated(self) -> float:
        """Seconds since a later epoch was committed; 0 while it is the newest, and for one that never is told."""
        return 0.0 if self._outdated is None else time.monotonic() - self._outdated

    @property
    def ended(self) -> SqlError | None:
        """Why it cannot be read though it is held, if so."""
        return next((snapshot.ended for snapshot in self._all if snapshot.ended is not None), None)

    def mark_outdated(self) -> None:
        """A later epoch has been committed: from now on it counts how long this one is held."""
        self._outdated = time.monotonic()

    def cut(self) -> bool:
        """Ends it for all who hold it. False if somebody reads it at the moment, of some shards perhaps."""
        reason = SnapshotTooOld(
            "snapshot too old",
            detail=f"Epoch {self.epoch} was replaced {self.outdated:.0f} s ago.",
            hint="Run the query again, fetch its rows faster, or raise old_snapshot_threshold (ALTER SYSTEM).",
        )
        return all([snapshot.cut(reason) for snapshot in self._all])

    def statistics(self) -> dict[int, TableStatistics]:
        """What every table holds, by its id. Cheap: the shards keep count."""
        parts = []
        for snapshot in self.snapshots:
            with snapshot.use() as transaction:
                parts.append(read_statistics(transaction))
        return added_up(parts)

    def rows_of(self, table_id: int) -> int:
        """How many rows one table has."""
        rows = 0
        for snapshot in self.snapshots:
            with snapshot.use() as transaction:
                rows += read_row_count(transaction, table_id)
        return rows

    def compactions(self) -> dict[int, CompactionProgress]:
        """How far the compaction of each altered table has come, by its id."""
        parts = []
        for snapshot in self.snapshots:
            with snapshot.use() as transaction:
                parts.append(read_progress(transaction))
        return compaction.added_up(parts)

    def acquire(self) -> ReadView:
        """Holds the view; only while somebody holds it already."""
        with self._guard:
            if self._holders == 0:
                raise InternalError("a read view is acquired after its end")
            self._holders += 1
        return self

    def release(self) -> None:
        """Lets go of it; the last holder ends it."""
        with self._guard:
            self._holders -= 1
            ended = self._holders == 0
        if ended:
            for snapshot in self._all:
                snapshot.close()
            self._at_end()
