"""A change of the graph that is computed beside the barrier loop: while a view is planned, epochs go on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

from risingpy.errors import DuplicateRelation, SerializationFailure
from risingpy.meta.state import MetaState

T = TypeVar("T")


class PlannedAhead(Generic[T]):
    """What a change makes of `state`, to be applied to the state that the loop has by then.

    `change` adds relations and jobs; of the state it reads the catalog, the jobs and the next id, no more. Where these
    are others by then, it is computed again. So it is where a name is taken or a relation was changed: changes that
    wait for the loop may take that back.
    """

    def __init__(self, change: Callable[[MetaState], tuple[MetaState, T]], state: MetaState) -> None:
        self._change = change
        self._before = state
        self._made: tuple[MetaState, T] | None = None
        with suppress(DuplicateRelation, SerializationFailure):
            self._made = change(state)

    def on(self, state: MetaState) -> tuple[MetaState, T]:
        """`change(state)`."""
        before = self._before
        is_same = state.catalog is before.catalog and state.jobs is before.jobs and state.next_id == before.next_id
        if self._made is None or not is_same:
            return self._change(state)
        after, told = self._made
        changed = replace(
            state,
            catalog=after.catalog,
            jobs=after.jobs,
            graph_version=after.graph_version,
            fresh_jobs=state.fresh_jobs | (after.fresh_jobs - before.fresh_jobs),
            next_id=after.next_id,
        )
        return changed, told
