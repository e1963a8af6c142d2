"""Reads a changelog: whole committed epochs, in order, from any epoch on.

A position in a changelog is an epoch: what comes after it is what was committed later. So a reader that kept the last
epoch that it has dealt with goes on there, with no change lost and none twice.
"""

from __future__ import annotations

import threading
import time

from risingpy.errors import QueryCanceled
from risingpy.executors.relation.changelog_reading import Changes, EpochChanges, read_changes
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.epochs.followers import Followers
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.waiters import Waiters
from risingpy.storage.codec.table_schema import TableSchema

__all__ = ["ChangelogReader", "Changes", "EpochChanges"]


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
        _, view = self._published.acquire_view()
        try:
            return read_changes(table, view, after_epoch, most_rows)
        finally:
            view.release()


def _wait(told: threading.Event, cancelled: CancelFlag | None, end: float | None) -> bool:
    """Waits until `told` is set; False if the time is over."""
    left = None if end is None else max(end - time.monotonic(), 0.0)
    if cancelled is None:
        return told.wait(left)
    with cancelled.calling(told.set):
        if cancelled.is_set() or (told.wait(left) and cancelled.is_set()):
            raise QueryCanceled("canceling statement due to user request")
        return told.is_set()
