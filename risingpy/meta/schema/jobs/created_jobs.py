"""Jobs in creation: a CREATE waits for its job or leaves it in the background, and CANCEL JOBS removes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from risingpy.errors import QueryCanceled, SqlError
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.durable_state import without_relation
from risingpy.meta.epochs.graph_changes import TakesChanges
from risingpy.meta.epochs.next_epoch import creating
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.schema.recovering import without_recovery
from risingpy.meta.schema.relations import with_all_readers, without_relation_id
from risingpy.meta.state import MetaState

GONE_SECONDS = 0.5  # how long a cancelled CREATE waits for the removal of its job
Tell = Callable[[int], None]  # given the id of a job in creation from time to time, by the thread that waits for it


def silent(relation_id: int) -> None:
    """Tells nothing."""


@dataclass(frozen=True, slots=True)
class Creation:
    """How the job of a CREATE reads its upstreams' rows, and whether the statement waits for that.

    `limit`: rows a second (None: as fast as it can, 0: none until ALTER says otherwise).
    """

    in_background: bool = False
    limit: int | None = None
    tell: Tell = silent


FOREGROUND = Creation()


class CreatedJobs:
    """Any thread may call it."""

    def __init__(self, changes: TakesChanges, waiters: Waiters) -> None:
        self._changes = changes
        self._waiters = waiters
        self._guard = threading.Lock()
        self._awaited: frozenset[int] = frozenset()

    def is_awaited(self, relation_id: int) -> bool:
        """Whether a client waits for a job in creation."""
        return relation_id in self._awaited

    def until_created(
        self, relation_id: int, creation: Creation, cancelled: Cancelled, then: Callable[[], None] | None = None
    ) -> None:
        """Waits until a new job has its upstreams' rows, and for what `then` waits for; not in the background.

        Raises the job's error. If it is cancelled or fails, nothing of the job remains.
        """
        if creation.in_background:
            return
        with self._guard:
            self._awaited |= {relation_id}
        try:
            with gone_if_cancelled(self._changes, relation_id):
                self._waiters.until_created(relation_id, cancelled, creation.tell)
                if then is not None:
                    then()
        finally:
            with self._guard:
                self._awaited -= {relation_id}

    def until_none(self, relation_ids: Collection[int], cancelled: Cancelled, tell: Tell) -> None:
        """Waits until none of these jobs, of other statements, is in creation any more."""
        for relation_id in relation_ids:
            self._waiters.until_settled(relation_id, cancelled, tell)

    def cancel(self, relation_ids: Collection[int]) -> None:
        """Removes jobs in creation, and what reads them. Who waits for one gets QueryCanceled at once.

        They go between two epochs: if the running one takes long, the caller has its answer before.
        """
        error = QueryCanceled("canceling statement due to CANCEL JOBS")
        self._waiters.failed(dict.fromkeys(relation_ids, error))
        self._waiters.wake()
        removal = self._changes.submit(partial(self._without, relation_ids, error))
        wait((removal,), GONE_SECONDS)
        if removal.done():
            removal.result()

    def _without(self, relation_ids: Collection[int], error: SqlError, state: MetaState) -> MetaState:
        chosen = [each for each in creating(state) if each.relation_id in relation_ids]
        anew = [each.relation_id for each in chosen if each.has_no_answer]
        new = with_all_readers(state, [each for each in chosen if not each.has_no_answer])
        self._waiters.failed({each.relation_id: error for each in new})
        for relation in new:
            state = without_relation(state, relation)
        return without_recovery(state, anew) if anew else state


def with_limit(state: MetaState, relation_id: int, limit: int | None) -> MetaState:
    """`state` in which a job in creation reads at most so many rows a second; None: as fast as it can."""
    limits = {job: each for job, each in state.backfill_limits.items() if job != relation_id}
    return replace(state, backfill_limits=limits if limit is None else {**limits, relation_id: limit})


@contextmanager
def gone_if_cancelled(changes: TakesChanges, relation_id: int) -> Iterator[None]:
    """Has the job removed, between two epochs, if the block is left by an error.

    If the running epoch takes long, the client gets its answer first. That is safe: later changes are applied after the
    removal, and a server that restarts also removes unfinished jobs.
    """
    try:
        yield
    except BaseException:
        wait((changes.submit(lambda state: without_relation_id(state, relation_id)),), GONE_SECONDS)
        raise


@contextmanager
def all_gone_if_cancelled(changes: TakesChanges, relation_ids: Iterable[int]) -> Iterator[None]:
    """`gone_if_cancelled` for several jobs."""
    with ExitStack() as stack:
        for relation_id in relation_ids:
            stack.enter_context(gone_if_cancelled(changes, relation_id))
        yield
