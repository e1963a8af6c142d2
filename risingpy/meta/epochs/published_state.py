"""The newest state that can be read, with its read view."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Protocol

from risingpy.errors import CannotConnectNow
from risingpy.meta.state import MetaState
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.fault_points import reach


def is_partial(state: MetaState, relation_ids: Collection[int]) -> bool:
    """Whether one of the relations, or of their jobs' tables, is stored in part."""
    partial = state.partial
    if partial is None:
        return False
    return partial in relation_ids or any(table.table_id in relation_ids for table in state.jobs[partial].state_tables)


class ReadableState(Protocol):
    """The newest state that can be read, as those see it who do not change it."""

    @property
    def state(self) -> MetaState: ...

    def acquire_view(self, relation_ids: Collection[int] = ()) -> tuple[MetaState, ReadView]: ...

    def glance(self) -> tuple[MetaState, ReadView] | None: ...

    def has_whole(self, relation_ids: Collection[int]) -> bool: ...


class PublishedState:
    """The barrier loop's thread writes it, all threads read it. `changed` guards the pair of state and view, and is
    notified of every new state.

    An epoch is first committed, then published, and can be read only then. If publishing fails, the loop tries it
    again; the epoch stays committed.
    """

    def __init__(self, state: MetaState, store: StateStore, refuse: Callable[[], None] = lambda: None) -> None:
        """`refuse` raises an error while nobody may read, because another server may have gone on."""
        self._refuse = refuse
        self.changed = threading.Condition()
        self._store = store
        self._state = state
        self._view = store.open_read_view(state.committed.epoch)
        self._unpublished: MetaState | None = None
        self._whole: tuple[MetaState, ReadView] | None = None  # while a relation is partly stored: before it was
        self._closed = False

    # For every thread

    @property
    def state(self) -> MetaState:
        return self._state

    def acquire_view(self, relation_ids: Collection[int] = ()) -> tuple[MetaState, ReadView]:
        """The newest published state and its read view, which the caller releases.

        One of the relations that it is for may be stored in part, by the first of several epochs: then it is the state
        before these. If the server has started since, this waits for the last of them.
        Raises CannotConnectNow if the server has stopped meanwhile, or may not lead any more.
        """
        self._refuse()
        with self.changed:
            while self._whole is None and is_partial(self._state, relation_ids) and not self._closed:
                self.changed.wait()
            if self._closed:
                raise CannotConnectNow("the database system is shutting down")
            state, view = self._state, self._view
            if self._whole is not None and is_partial(state, relation_ids):
                state, view = self._whole
            view.acquire()
            return state, view

    def glance(self) -> tuple[MetaState, ReadView] | None:
        """The newest published state and its view, without waiting for anybody. None: they are just being replaced.

        The caller does not hold the view: it may be released at any time, and reading it then raises SnapshotReleased.
        Raises CannotConnectNow if the server may not lead any more.
        """
        self._refuse()
        state, view = self._state, self._view
        return (state, view) if state.committed.epoch == view.epoch else None

    def has_whole(self, relation_ids: Collection[int]) -> bool:
        """Whether `acquire_view` finds these relations as they were after some epoch."""
        with self.changed:
            return self._whole is not None or not is_partial(self._state, relation_ids)

    # For the barrier loop

    @property
    def is_unpublished(self) -> bool:
        """Whether an epoch is committed but not yet published."""
        return self._unpublished is not None

    def replace(self, state: MetaState) -> None:
        """Replaces the state by one of the same epoch, with another graph or catalog."""
        with self.changed:
            self._state = state
            self.changed.notify_all()

    def add(self, state: MetaState) -> None:
        """Adds the state of a new epoch, which `publish` then publishes."""
        self._unpublished = state

    def publish(self) -> MetaState | None:
        """Publishes the epoch that waits for it, and returns its state; None if none waits."""
        new = self._unpublished
        if new is None:
            return None
        reach("epoch.publish")
        view = self._store.open_read_view(new.committed.epoch)
        with self.changed:
            before, self._state, self._unpublished = self._state, new, None
            previous, self._view = self._view, view
            ended, self._whole = self._whole, self._whole if new.partial is not None else None
            if new.partial is not None and before.partial is None:
                previous.acquire()
                self._whole = before, previous
            self.changed.notify_all()
        if ended is not None and self._whole is None:
            ended[1].release()
        previous.mark_outdated()
        previous.release()
        self.cut_old_views()
        return new

    def cut_old_views(self) -> float | None:
        """Ends views that have been read for too long; returns the seconds until the next check is needed."""
        limit = self._state.old_snapshot_threshold
        return None if limit is None else self._store.cut_views(limit)

    def close(self) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        if self._whole is not None:
            self._whole[1].release()
        self._view.release()
