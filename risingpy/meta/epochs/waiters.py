"""Lets statements wait for a later state: one with a position of the log, a new job, or rows that watermarks held.

Who waits for a position only need not have a thread (`LsnCall`). It also tells them when no later state will come
because the server stops, or when none is in sight because epochs fail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from risingpy.errors import CannotConnectNow, EpochsCannotRun, QueryCanceled, SqlError
from risingpy.meta.cancellation import WaitEvent, waiting
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.source_offsets import Offsets, reached
from risingpy.meta.state import MetaState

TELL_SECONDS = 2.0  # how often a CREATE tells its client how far it is
WAIT_SLICE_SECONDS = 0.1  # how often a waiting statement checks whether it is cancelled


@dataclass(frozen=True, slots=True, eq=False)
class LsnCall:
    """A wait for a position of the log. `over` is called once, by any thread, and must not block; True: it is readable.

    False: nobody should wait for it any more. What `over` returns is called when all whose wait is over know it.
    """

    lsn: int
    over: Callable[[bool], Callable[[], None]]


class Waiters:
    """Any thread may call these. Waiting ends with QueryCanceled if `cancelled` is set meanwhile, with EpochsCannotRun
    while epochs are stalled, and with CannotConnectNow if no state will follow.

    The published state's `changed` guards everything here; it is notified of every new state, and of the end.
    """

    def __init__(self, published: PublishedState) -> None:
        self._published = published
        self.changed = published.changed
        self._stopping = False
        self._why = ""
        self._stalled: str | None = None
        self._waiting = 0  # statements
        self._failures: dict[int, SqlError] = {}
        self._at_end: list[Callable[[], None]] = []
        self._calls: list[LsnCall] = []

    # For statements

    def until(self, is_reached: Callable[[MetaState], bool], cancelled: threading.Event | None = None) -> MetaState:
        """Waits for a state for which `is_reached` holds, and returns it."""
        with self.changed:
            if not is_reached(self._published.state):
                with waiting(cancelled, WaitEvent.EPOCH):
                    self._wait(is_reached, cancelled)
            return self._published.state

    def until_lsn(self, lsn: int, cancelled: threading.Event | None = None) -> MetaState:
        """Waits until a published epoch has the log up to `lsn`."""
        return self.until(lambda state: state.committed.lsn >= lsn, cancelled)

    def until_read(
        self,
        lsn: int,
        ends: Offsets,
        cancelled: threading.Event | None = None,
        answers: Callable[[int, str], bool] = lambda source_id, split: True,
    ) -> MetaState:
        """Waits until every view has the log up to `lsn`, and the sources up to `ends`.

        It waits for no view that has stopped, for no source that does not answer any more, and for no split that is
        gone.
        """

        def has_read(state: MetaState) -> bool:
            left = {
                job_id: {
                    source_id: {split: end for split, end in splits.items() if answers(source_id, split)}
                    for source_id, splits in sources.items()
                }
                for job_id, sources in ends.items()
                if job_id in state.jobs
            }
            return state.committed.lsn >= lsn and reached(state.committed.offsets, left)

        return self._until_settled(self.until(has_read, cancelled), cancelled)

    def until_created(
        self, relation_id: int, cancelled: threading.Event | None = None, tell: Callable[[int], None] | None = None
    ) -> None:
        """Waits until a new job has its upstreams' rows. Raises the job's error if it fails.

        Calls `tell` with the job's id every few seconds meanwhile.
        """
        self._until_ended(
            lambda state: not _is_creating(state, relation_id) or relation_id in self._failures,
            relation_id,
            cancelled,
            tell,
        )
        failure = self._failures.get(relation_id)
        if failure is not None:
            raise failure

    def until_settled(self, relation_id: int, cancelled: threading.Event | None, tell: Callable[[int], None]) -> None:
        """Waits until a job of another statement is not in creation any more, whatever becomes of it."""
        self._until_ended(lambda state: not _is_creating(state, relation_id), relation_id, cancelled, tell)

    def _until_ended(
        self,
        is_reached: Callable[[MetaState], bool],
        relation_id: int,
        cancelled: threading.Event | None,
        tell: Callable[[int], None] | None,
    ) -> None:
        if tell is None:
            self.until(is_reached, cancelled)
            return
        while not self._reached_within(is_reached, TELL_SECONDS, cancelled):
            tell(relation_id)  # without the lock: it may write to a client

    def _reached_within(
        self, is_reached: Callable[[MetaState], bool], seconds: float, cancelled: threading.Event | None
    ) -> bool:
        """Waits so long at the most; returns whether it is reached."""
        end = time.monotonic() + seconds
        return is_reached(self.until(lambda state: is_reached(state) or time.monotonic() >= end, cancelled))

    def until_recovered(self, relation_id: int, cancelled: threading.Event | None = None) -> None:
        """Waits until a job that is made anew has its upstreams' rows. Raises the job's error if it fails again."""
        state = self.until(lambda state: not _is_creating(state, relation_id), cancelled)
        relation = state.catalog.relations.get(relation_id)
        if relation is not None and relation.has_stopped:
            raise self._failures.get(relation_id) or SqlError(f'{relation.noun} "{relation.name}" has failed again')

    def until_all_created(self, relation_ids: Iterable[int], cancelled: threading.Event | None = None) -> None:
        """`until_created` for several jobs."""
        for relation_id in relation_ids:
            self.until_created(relation_id, cancelled)

    def call_at(self, call: LsnCall) -> None:
        """Has it called when a published epoch has the log so far, or none is in sight; perhaps before this returns."""
        with self.changed:
            is_reached = self._published.state.committed.lsn >= call.lsn
            if not is_reached and not self._stopping and self._stalled is None:
                self._calls.append(call)
                self.changed.notify_all()  # the loop may have a rest
                return
        call.over(is_reached)()

    def withdraw(self, call: LsnCall) -> bool:
        """It is not called any more. False: it has been called, or is being called."""
        with self.changed:
            if call not in self._calls:
                return False
            self._calls.remove(call)
            return True

    @property
    def are_waiting(self) -> bool:
        """Whether any statement waits for a later state."""
        return self._waiting > 0 or bool(self._calls)

    def _wait(self, is_reached: Callable[[MetaState], bool], cancelled: threading.Event | None) -> None:
        self._waiting += 1
        self.changed.notify_all()  # the loop may have a rest
        try:
            self._wait_in_turns(is_reached, cancelled)
        finally:
            self._waiting -= 1

    def _wait_in_turns(self, is_reached: Callable[[MetaState], bool], cancelled: threading.Event | None) -> None:
        while not is_reached(self._published.state):
            self.refuse_if_down()
            if self._stalled is not None:
                told = f"epochs cannot run: {self._stalled}"
                raise EpochsCannotRun(
                    told, hint='The server goes on trying. Reads with visibility_mode "checkpoint" wait for no epoch.'
                )
            if cancelled is not None and cancelled.is_set():
                raise QueryCanceled("canceling statement due to user request")
            self.changed.wait(WAIT_SLICE_SECONDS)

    def _until_settled(self, state: MetaState, cancelled: threading.Event | None) -> MetaState:
        """Waits for one more epoch if `state` has moved a watermark: operators emit the rows it released only then."""
        if state.committed.settled:
            return state
        return self.until(lambda later: later.committed.epoch > state.committed.epoch, cancelled)

    def refuse_if_down(self) -> None:
        """Raises CannotConnectNow if no state will follow."""
        if self._stopping:
            raise CannotConnectNow(self._why)

    @property
    def stalled(self) -> str | None:
        """Why epochs have failed for so long that nobody should wait for the next one; None if they get on."""
        return self._stalled

    # For those who change the state

    def published(self) -> None:
        """An epoch has been published: calls those who have waited for it."""
        if self._calls:
            self._end_calls()

    def _end_calls(self) -> None:
        with self.changed:
            lsn, is_hopeless = self._published.state.committed.lsn, self._stopping or self._stalled is not None
            over = [each for each in self._calls if is_hopeless or each.lsn <= lsn]
            self._calls = [each for each in self._calls if not (is_hopeless or each.lsn <= lsn)]
        for wake in {each.over(each.lsn <= lsn) for each in over}:
            wake()

    def wake(self) -> None:
        """Wakes the loop and all who wait: there is new work, or a new state."""
        with self.changed:
            self.changed.notify_all()

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    @property
    def why_stopping(self) -> str:
        """What statements are told then."""
        return self._why

    def at_end(self, call: Callable[[], None]) -> None:
        """Has `call` called when no state will follow: for those who wait elsewhere."""
        self._at_end.append(call)

    def stop(self, why: str = "the database system is shutting down") -> None:
        """No further epoch begins: the server stops."""
        with self.changed:
            self._stopping = True
            self._why = why
            self.changed.notify_all()
        self._end_calls()
        for call in self._at_end:
            call()

    def stall(self, reason: str | None) -> None:
        """Epochs fail again and again for `reason`, or get on again (None). Who waits for one is refused meanwhile."""
        with self.changed:
            self._stalled = reason
            self.changed.notify_all()
        if reason is not None:
            self._end_calls()

    def failed(self, failures: Mapping[int, SqlError]) -> None:
        """Records why relations' jobs have failed. Called before the state without them is published."""
        self._failures.update(failures)


def _is_creating(state: MetaState, relation_id: int) -> bool:
    relation = state.catalog.relations.get(relation_id)
    return relation is not None and relation.is_being_created
