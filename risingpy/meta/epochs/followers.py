"""Wakes those who wait for a changelog's next changes: only they wake at a commit, not all who follow anything."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from risingpy.plan.graph import Job
from risingpy.plan.operator_work import OperatorPosition
from risingpy.plan.operators import Changelog


class Followers:
    """Events of waiting threads, by the changelog's table. Any thread may call these."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._events: defaultdict[int, set[threading.Event]] = defaultdict(set)

    @contextmanager
    def told(self, table_id: int) -> Iterator[threading.Event]:
        """An event that is set when a published epoch has changes for the changelog, the graph changes, or the end
        comes. It may be set for nothing."""
        event = threading.Event()
        with self._guard:
            self._events[table_id].add(event)
        try:
            yield event
        finally:
            with self._guard:
                self._events[table_id].discard(event)
                if not self._events[table_id]:
                    del self._events[table_id]

    def wake(self, table_ids: Collection[int]) -> None:
        """An epoch with changes for these changelogs is published."""
        if table_ids:
            with self._guard:
                events = [event for table_id in table_ids for event in self._events.get(table_id, ())]
            for event in events:
                event.set()

    def wake_all(self) -> None:
        """The graph has changed, or no epoch will follow."""
        with self._guard:
            table_ids = list(self._events)
        self.wake(table_ids)


def changelogs_of(jobs: Iterable[Job]) -> Mapping[OperatorPosition, int]:
    """The tables of the jobs' changelogs, by the operators that write them."""
    return {
        (fragment.fragment_id, 0): fragment.root.table.table_id
        for job in jobs
        for fragment in job.fragments
        if isinstance(fragment.root, Changelog)
    }
