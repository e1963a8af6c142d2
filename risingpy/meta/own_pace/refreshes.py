"""Materialized views WITH (refresh_interval_sec = …): once created, their jobs are set aside, and work at intervals.

So what is written between two refreshes costs them nothing but its place in the changelogs that are kept for them, and
a row that changes ten times is one change. Reads do not wait for them: such a view is as of its last refresh.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, MaterializedView


def reason_of(seconds: int) -> str:
    """Why such a job is set aside, as SHOW JOBS says it."""
    return f"it is refreshed every {seconds} s"


class RefreshedViews:
    """Finds views that are to be refreshed at intervals. For one thread."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._seconds: dict[int, int] = {}

    def to_set_aside(self, state: MetaState) -> dict[int, int]:
        """The jobs of those that run with the others, with their seconds.

        While a view is created it does run with them: to start a process takes longer than most views do.
        """
        if state.catalog is not self._catalog:
            self._catalog = state.catalog
            created = (r for r in state.catalog.relations.values() if isinstance(r, MaterializedView))
            self._seconds = {
                view.relation_id: view.refresh_seconds
                for view in created
                if view.refresh_seconds is not None and not view.is_being_created
            }
        return {
            job_id: seconds
            for job_id, seconds in self._seconds.items()
            if job_id in state.jobs and job_id not in state.set_aside
        }


class RefreshCommand:
    """REFRESH MATERIALIZED VIEW. Any thread may call it."""

    def __init__(self, changes: GraphChanges, waiters: Waiters) -> None:
        self._changes = changes
        self._waiters = waiters

    def run(self, relation_id: int, cancelled: Cancelled = None) -> None:
        """Returns when the view has all that was committed before. If it is cancelled, the refresh goes on."""
        epoch = 0

        def want(state: MetaState) -> MetaState:
            nonlocal epoch
            aside, epoch = state.set_aside.get(relation_id), state.committed.epoch
            if aside is None:  # it follows what it reads, or has stopped
                return state
            return replace(state, set_aside={**state.set_aside, relation_id: replace(aside, wanted=epoch)})

        def has_come(state: MetaState) -> bool:
            aside = state.set_aside.get(relation_id)
            return aside is None or aside.position >= epoch

        self._changes.apply(want, cancelled)
        self._waiters.until(has_come, cancelled)
