"""The work of every running operator since the server started: what EXPLAIN ANALYZE shows."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from risingpy.plan.graph import StreamGraph
from risingpy.plan.operator_work import OperatorPosition, OperatorWork, WorkFigures, added

WAITING_REPORTS = 64


class WorkSinceStart:
    """Adds up the reports of committed epochs. Safe to use from several threads.

    Reports wait until there are some, or somebody asks for the sums: between other work each figure would take three
    times as long to add, and the epoch's clients would wait for it.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: list[Mapping[OperatorPosition, WorkFigures]] = []
        self._totals: dict[OperatorPosition, WorkFigures] = {}

    def add(self, work: Iterable[Mapping[OperatorPosition, WorkFigures]]) -> None:
        with self._guard:
            self._waiting += work
            if len(self._waiting) >= WAITING_REPORTS:
                self._add_up()

    def keep_only(self, graph: StreamGraph) -> None:
        """Forgets the operators of fragments that no longer run. Their ids are never used again."""
        running = {fragment.fragment_id for job in graph.jobs for fragment in job.fragments}
        with self._guard:
            self._add_up()
            self._totals = {at: work for at, work in self._totals.items() if at[0] in running}

    def totals(self) -> Mapping[OperatorPosition, OperatorWork]:
        """By operator; those that never had a row are missing."""
        with self._guard:
            self._add_up()
            return {position: OperatorWork(*total) for position, total in self._totals.items()}

    def _add_up(self) -> None:
        totals = self._totals
        for work in self._waiting:
            for position, done in work.items():
                total = totals.get(position)
                totals[position] = done if total is None else added(total, done)
        self._waiting.clear()
