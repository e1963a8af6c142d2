"""A change of the graph that is computed outside the barrier loop: epochs continue while a view is planned."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

from risingpy.errors import DuplicateRelation, SerializationFailure
from risingpy.meta.epochs.graph_changes import ComputeAgain, GraphChange
from risingpy.meta.state import MetaState

T = TypeVar("T")

CHEAP_SECONDS = 0.02  # all views wait so long at the most while a change is computed in the loop
MOST_TRIES = 4  # to find the loop in the state that a costly change was computed on


class PlannedAhead(Generic[T]):
    """The result of `change` on `state`, computed early, and applied later to the loop's state of that time.

    `change` adds relations and jobs; it only reads the catalog, the jobs and the next id. If these have changed by
    then, it is computed again: in the loop if that is cheap, else by the statement, which comes again. It is also
    computed again if it raised an error, because a name was taken or a relation had changed: changes that wait for the
    loop may remove the reason.
    """

    def __init__(self, change: Callable[[MetaState], tuple[MetaState, T]], state: MetaState) -> None:
        self._change = change
        self._tries = 0
        self._compute(state)

    def _compute(self, state: MetaState) -> None:
        began = time.perf_counter()
        self._before = state
        self._made: tuple[MetaState, T] | None = None
        self._tries += 1
        with suppress(DuplicateRelation, SerializationFailure):
            self._made = self._change(state)
        self._seconds = time.perf_counter() - began

    def on(self, state: MetaState) -> tuple[MetaState, T]:
        """`change(state)`, for the loop. Raises ComputeAgain if that would take too long here."""
        if self._made is None or not self._is_of(state):
            if self._seconds > CHEAP_SECONDS and self._tries < MOST_TRIES:
                raise ComputeAgain(lambda: self._compute(state))
            return self._change(state)
        return self._applied(self._made, state)

    def by_statement(self, state: MetaState) -> tuple[MetaState, T]:
        """`change(state)`, for the statement's own thread, which has time."""
        if self._made is None or not self._is_of(state):
            return self._change(state)
        return self._applied(self._made, state)

    def _is_of(self, state: MetaState) -> bool:
        before = self._before
        return state.catalog is before.catalog and state.jobs is before.jobs and state.next_id == before.next_id

    def _applied(self, made: tuple[MetaState, T], state: MetaState) -> tuple[MetaState, T]:
        after, told = made
        changed = replace(
            state,
            catalog=after.catalog,
            jobs=after.jobs,
            graph_version=after.graph_version,
            fresh_jobs=state.fresh_jobs | (after.fresh_jobs - self._before.fresh_jobs),
            next_id=after.next_id,
        )
        return changed, told


def planned_ahead(change: GraphChange, state: MetaState) -> GraphChange:
    """A change that is computed now, and is applied later."""
    planned = PlannedAhead(lambda state: (change(state), None), state)
    return lambda later: planned.on(later)[0]
