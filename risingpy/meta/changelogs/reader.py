"""Reads a changelog: whole committed epochs, in order, from any epoch on.

A position in a changelog is an epoch: what comes after it is what was committed later. So a reader that kept the last
epoch that it has dealt with goes on there, with no change lost and none twice.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import QueryCanceled
from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.relation.changelog import changes_in
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.epochs.followers import Followers
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.state import MetaState
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

BLOCKS_PER_READ = 16  # of each shard: at most some 128 MB


@dataclass(frozen=True, slots=True)
class EpochChanges:
    """What one epoch has changed, as one consolidated change chunk (`op`, `c0`, …), in no order."""

    epoch: int
    rows: pa.Table

    @property
    def time(self) -> int:
        """When the epoch was, in milliseconds since 1970."""
        return milliseconds(self.epoch)


@dataclass(frozen=True, slots=True)
class Changes:
    """Epochs with changes, ascending. All changes up to the epoch `up_to` are among these or were before them."""

    epochs: tuple[EpochChanges, ...]
    up_to: int


class ChangelogReader:
    """Any thread may call it, and several at a time."""

    def __init__(self, published: PublishedState, waiters: Waiters, followers: Followers) -> None:
        self._published = published
        self._waiters = waiters
        self._followers = followers

    def read(
        self,
        table: TableSchema,
        after_epoch: int,
        *,
        most_rows: int = 65_536,
        wait: float | None = 0.0,
        cancelled: CancelFlag | None = None,
    ) -> Changes:
        """The changes after `after_epoch`: of the first epoch that has some, and of more up to about `most_rows`.

        If there are none, it waits for them up to `wait` seconds (None: for ever), and then returns no epochs. A change
        of the graph also ends the wait: the caller looks whether the changelog is still there.
        Raises QueryCanceled if `cancelled` is set meanwhile, CannotConnectNow if no epoch will follow.
        """
        changes = self._read_now(table, after_epoch, most_rows)
        if changes.epochs or wait == 0:
            return changes
        with self._followers.told(table.table_id) as told:
            version = self._published.state.graph_version
            end = None if wait is None else time.monotonic() + wait
            while True:
                told.clear()
                changes = self._read_now(table, max(after_epoch, changes.up_to), most_rows)
                if changes.epochs or self._published.state.graph_version != version:
                    return changes
                self._waiters.refuse_if_down()
                if not _wait(told, cancelled, end):
                    return changes

    def _read_now(self, table: TableSchema, after_epoch: int, most_rows: int) -> Changes:
        state, view = self._published.acquire_view()
        try:
            return read_changes(table, state, view, after_epoch, most_rows)
        finally:
            view.release()


def read_changes(table: TableSchema, state: MetaState, view: ReadView, after_epoch: int, most_rows: int) -> Changes:
    """`ChangelogReader.read` of one read view, without waiting."""
    newest = state.committed.epoch
    if after_epoch >= newest:
        return Changes((), after_epoch)
    stored = StorageTable(table, view)
    low = pa.array([after_epoch], pa.int64())
    limit = BLOCKS_PER_READ
    while True:
        blocks = stored.after(low, limit)
        # What a full page ends with may go on in the next one.
        whole = min((_last_epoch(each) - 1 for each in blocks if each.num_rows == limit), default=newest)
        if whole > after_epoch and any(each.num_rows for each in blocks):
            found = _by_epoch(pa.concat_tables(blocks), whole, most_rows)
            if found:
                return Changes(found, _reached(found, blocks, whole))
        elif whole == newest:
            return Changes((), newest)
        limit *= 2


def _last_epoch(blocks: pa.Table) -> int:
    epoch: int = blocks.column("c0")[-1].as_py()
    return epoch


def _by_epoch(blocks: pa.Table, up_to: int, most_rows: int) -> tuple[EpochChanges, ...]:
    """The first epochs of the blocks, at least one if there is one, as far as they have `most_rows`."""
    blocks = blocks.filter(pc.less_equal(blocks.column("c0"), up_to))
    found: list[EpochChanges] = []
    rows = 0
    for epoch in sorted(set(blocks.column("c0").to_pylist())):
        if found and rows >= most_rows:
            break
        parts = blocks.filter(pc.equal(blocks.column("c0"), epoch)).column("c2")
        changes = pa.concat_tables([changes_in(part.as_buffer()) for part in parts])
        found.append(EpochChanges(epoch, changes))
        rows += changes.num_rows
    return tuple(found)


def _reached(found: tuple[EpochChanges, ...], blocks: list[pa.Table], whole: int) -> int:
    """The epoch up to which `found` has everything."""
    left = any(each.num_rows and _last_epoch(each) > found[-1].epoch for each in blocks)
    return found[-1].epoch if left else whole


def _wait(told: threading.Event, cancelled: CancelFlag | None, end: float | None) -> bool:
    """Waits until `told` is set; False if the time is over."""
    left = None if end is None else max(end - time.monotonic(), 0.0)
    if cancelled is None:
        return told.wait(left)
    with cancelled.calling(told.set):
        if cancelled.is_set() or (told.wait(left) and cancelled.is_set()):
            raise QueryCanceled("canceling statement due to user request")
        return told.is_set()
