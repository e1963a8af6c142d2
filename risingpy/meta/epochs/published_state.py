"""The newest state that can be read, the view to read it by, and everybody who waits for a later one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from risingpy.errors import CannotConnectNow, QueryCanceled
from risingpy.meta.state import MetaState
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.fault_points import reach

WAIT_SLICE_SECONDS = 0.1  # how often a waiting statement looks whether it was cancelled


class PublishedState:
    """Written by the barrier loop's thread, read by all. `changed` is notified of every new state, and of the end; it
    is also what the loop sleeps on, and the lock of the changes that wait for it.

    An epoch is committed first and published then: only a published one is read. If publishing fails it is tried
    again, and the epoch stays committed.
    """

    def __init__(self, state: MetaState, store: StateStore) -> None:
        self.changed = threading.Condition()
        self._store = store
        self._state = state
        self._view = store.open_read_view(state.committed.epoch)
        self._unpublished: MetaState | None = None
        self._stopping = False
        self._fatal: str | None = None

    # For every thread

    @property
    def state(self) -> MetaState:
        return self._state

    @property
    def fatal(self) -> str | None:
        """Why there are no more epochs, if there are none."""
        return self._fatal

    def acquire_view(self) -> tuple[MetaState, ReadView]:
        """The newest published state and its read view, which the caller releases."""
        with self.changed:
            self._view.acquire()
            return self._state, self._view

    def wait_until(self, reached: Callable[[MetaState], bool], cancelled: threading.Event | None = None) -> MetaState:
        """Waits for a state for which `reached` holds. QueryCanceled, or CannotConnectNow if none will come."""
        with self.changed:
            while not reached(self._state):
                self.refuse_if_down()
                if cancelled is not None and cancelled.is_set():
                    raise QueryCanceled("canceling statement due to user request")
                self.changed.wait(WAIT_SLICE_SECONDS)
            return self._state

    def wait_until_settled(self, state: MetaState, cancelled: threading.Event | None = None) -> MetaState:
        """Waits until watermarks that `state` has reached have let go what they held back."""
        if state.committed.settled:
            return state
        return self.wait_until(lambda later: later.committed.epoch > state.committed.epoch, cancelled)

    def wake(self) -> None:
        """There is something to do, or to see."""
        with self.changed:
            self.changed.notify_all()

    def refuse_if_down(self) -> None:
        """Raises CannotConnectNow if no state will follow."""
        if self._fatal is not None:
            raise CannotConnectNow(f"the engine has stopped: {self._fatal}", hint="See the server's log.")
        if self._stopping:
            raise CannotConnectNow("the database system is shutting down")

    # For the barrier loop

    @property
    def is_unpublished(self) -> bool:
        """Whether an epoch is committed that nobody can read yet."""
        return self._unpublished is not None

    @property
    def is_stopping(self) -> bool:
        return self._stopping

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

    def stop(self) -> None:
        """No epoch begins any more."""
        with self.changed:
            self._stopping = True
            self.changed.notify_all()

    def give_up(self, reason: str) -> None:
        """No epoch can be run any more."""
        with self.changed:
            self._fatal = reason
            self.changed.notify_all()

    def close(self) -> None:
        self._view.release()
