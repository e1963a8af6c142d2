"""Who waits for a later state: for a position of the log, for a job, for the end of what watermarks hold back.

Also who is told that no later state will come: the server stops, or the loop has given up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from risingpy.errors import CannotConnectNow, QueryCanceled, SqlError
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.source_offsets import Offsets, reached
from risingpy.meta.state import MetaState

WAIT_SLICE_SECONDS = 0.1  # how often a waiting statement looks whether it was cancelled


class Waiters:
    """Any thread may call these. Waiting ends with QueryCanceled if `cancelled` is set meanwhile, and with
    CannotConnectNow if no state will follow.

    The published state's `changed` guards everything here; it is notified of every new state, and of the end.
    """

    def __init__(self, published: PublishedState) -> None:
        self._published = published
        self.changed = published.changed
        self._stopping = False
        self._fatal: str | None = None
        self._failures: dict[int, SqlError] = {}

    # For statements

    def until(self, is_reached: Callable[[MetaState], bool], cancelled: threading.Event | None = None) -> MetaState:
        """Waits for a state for which `is_reached` holds, and returns it."""
        with self.changed:
            while not is_reached(self._published.state):
                self.refuse_if_down()
                if cancelled is not None and cancelled.is_set():
                    raise QueryCanceled("canceling statement due to user request")
                self.changed.wait(WAIT_SLICE_SECONDS)
            return self._published.state

    def until_lsn(self, lsn: int, cancelled: threading.Event | None = None) -> MetaState:
        """Waits until the log up to `lsn` is in a readable epoch."""
        return self.until(lambda state: state.committed.lsn >= lsn, cancelled)

    def until_read(self, lsn: int, ends: Offsets, cancelled: threading.Event | None = None) -> MetaState:
        """Waits until the log up to `lsn`, and the sources up to `ends`, are in every view."""
        state = self.until(
            lambda state: state.committed.lsn >= lsn and reached(state.committed.offsets, ends), cancelled
        )
        return self._until_settled(state, cancelled)

    def until_created(self, relation_id: int, cancelled: threading.Event | None = None) -> None:
        """Waits until a new job has its upstreams' rows. Raises why it failed, if it did."""
        self.until(lambda state: not _is_creating(state, relation_id), cancelled)
        failure = self._failures.get(relation_id)
        if failure is not None:
            raise failure

    def _until_settled(self, state: MetaState, cancelled: threading.Event | None) -> MetaState:
        """Waits until watermarks that `state` has reached have let go what they held back: one epoch more."""
        if state.committed.settled:
            return state
        return self.until(lambda later: later.committed.epoch > state.committed.epoch, cancelled)

    def refuse_if_down(self) -> None:
        """Raises CannotConnectNow if no state will follow."""
        if self._fatal is not None:
            raise CannotConnectNow(f"the engine has stopped: {self._fatal}", hint="See the server's log.")
        if self._stopping:
            raise CannotConnectNow("the database system is shutting down")

    @property
    def fatal(self) -> str | None:
        """Why there are no more epochs, if there are none."""
        return self._fatal

    # For who brings news

    def wake(self) -> None:
        """There is something to do for the loop, or to see for who waits."""
        with self.changed:
            self.changed.notify_all()

    @property
    def is_stopping(self) -> bool:
        return self._stopping

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

    def failed(self, failures: Mapping[int, SqlError]) -> None:
        """These relations' jobs have failed; told before the state without them is published."""
        self._failures.update(failures)


def _is_creating(state: MetaState, relation_id: int) -> bool:
    relation = state.catalog.relations.get(relation_id)
    return relation is not None and relation.is_being_created
