"""The newest state that can be read, and the view to read it by."""

from __future__ import annotations

import threading

from risingpy.meta.state import MetaState
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.fault_points import reach


class PublishedState:
    """Written by the barrier loop's thread, read by all. `changed` guards the state together with its view, and is
    notified of every new one.

    An epoch is committed first and published then: only a published one is read. If publishing fails it is tried
    again, and the epoch stays committed.
    """

    def __init__(self, state: MetaState, store: StateStore) -> None:
        self.changed = threading.Condition()
        self._store = store
        self._state = state
        self._view = store.open_read_view(state.committed.epoch)
        self._unpublished: MetaState | None = None

    # For every thread

    @property
    def state(self) -> MetaState:
        return self._state

    def acquire_view(self) -> tuple[MetaState, ReadView]:
        """The newest published state and its read view, which the caller releases."""
        with self.changed:
            self._view.acquire()
            return self._state, self._view

    # For the barrier loop

    @property
    def is_unpublished(self) -> bool:
        """Whether an epoch is committed that nobody can read yet."""
        return self._unpublished is not None

    def replace(self, state: MetaState) -> None:
        """A state of the same epoch: the graph or the catalog has changed."""
        with self.changed:
            self._state = state
            self.changed.notify_all()

    def add(self, state: MetaState) -> None:
        """A state of a new epoch, to be published."""
        self._unpublished = state

    def publish(self) -> MetaState | None:
        """Lets the epoch that waits for it be read, and returns its state."""
        new = self._unpublished
        if new is None:
            return None
        reach("epoch.publish")
        view = self._store.open_read_view(new.committed.epoch)
        with self.changed:
            self._state, self._unpublished = new, None
            previous, self._view = self._view, view
            self.changed.notify_all()
        previous.mark_outdated()
        previous.release()
        self.cut_old_views()
        return new

    def cut_old_views(self) -> float | None:
        """Ends what is read for too long; returns in how many seconds to look again."""
        limit = self._state.old_snapshot_threshold
        return None if limit is None else self._store.cut_views(limit)

    def close(self) -> None:
        self._view.release()
