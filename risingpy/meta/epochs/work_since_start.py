"""The work of every running operator since the server started: what EXPLAIN ANALYZE shows."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from risingpy.plan.graph import StreamGraph
from risingpy.plan.operator_work import OperatorPosition, OperatorWork, WorkFigures


class WorkSinceStart:
    """Adds up the reports of committed epochs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._totals: dict[OperatorPosition, list[int]] = {}

    def add(self, work: Mapping[OperatorPosition, WorkFigures]) -> None:
        with self._guard:
            totals = self._totals
            for position, done in work.items():
                total = totals.get(position)
                if total is None:
                    totals[position] = list(done)
                else:  # a loop over the figures would take three times as long
                    rows_in, rows_out, nanoseconds, lookups, found = done
                    total[0] += rows_in
                    total[1] += rows_out
                    total[2] += nanoseconds
                    total[3] += lookups
                    total[4] += found

    def keep_only(self, graph: StreamGraph) -> None:
        """Forgets the operators of fragments that no longer run. Their ids are never used again."""
        running = {fragment.fragment_id for job in graph.jobs for fragment in job.fragments}
        with self._guard:
            self._totals = {at: work for at, work in self._totals.items() if at[0] in running}

    def totals(self) -> Mapping[OperatorPosition, OperatorWork]:
        """By operator; those that never had a row are missing."""
        with self._guard:
            return {position: OperatorWork(*total) for position, total in self._totals.items()}
