"""A change of the graph that is computed beside the barrier loop: while a view is planned, epochs go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from risingpy.meta.state import MetaState

T = TypeVar("T")


class PlannedAhead(Generic[T]):
    """What a change makes of `state`, to be applied to the state that the loop has by then.

    `change` adds relations and jobs; of the state it reads the catalog, the jobs and the next id, no more. Where these
    are others by then, it is computed again.
    """

    def __init__(self, change: Callable[[MetaState], tuple[MetaState, T]], state: MetaState) -> None:
        self._change = change
        self._before = state
        self._after, self._told = change(state)

    def on(self, state: MetaState) -> tuple[MetaState, T]:
        """`change(state)`."""
        before, after = self._before, self._after
        if not (state.catalog is before.catalog and state.jobs is before.jobs and state.next_id == before.next_id):
            return self._change(state)
        changed = replace(
            state,
            catalog=after.catalog,
            jobs=after.jobs,
            graph_version=after.graph_version,
            fresh_jobs=state.fresh_jobs | (after.fresh_jobs - before.fresh_jobs),
            next_id=after.next_id,
        )
        return changed, self._told
