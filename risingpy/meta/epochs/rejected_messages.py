"""The messages of sources that did not decode, since the server started: counted, and the last ones kept."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from risingpy.executors.epoch.source_reading import Rejected, RejectedMessage

KEPT = 1_000  # messages of a source


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A bad message, and when an epoch met it first."""

    source_id: int
    message: RejectedMessage
    time: datetime


class RejectedMessages:
    """Adds up the reports of committed epochs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._counts: dict[tuple[int, int], int] = {}
        self._kept: dict[int, deque[KeptMessage]] = {}

    def add(self, rejected: Iterable[Rejected]) -> None:
        with self._guard:
            for found in rejected:
                of_job = found.job_id, found.source_id
                self._counts[of_job] = self._counts.get(of_job, 0) + found.count
                self._keep(found)

    def count(self, job_id: int, source_id: int) -> int:
        """How many messages of a source a job has left out."""
        with self._guard:
            return self._counts.get((job_id, source_id), 0)

    def kept(self) -> Sequence[KeptMessage]:
        """The last bad messages of every source, each once, however many views met it."""
        with self._guard:
            return [message for kept in self._kept.values() for message in kept]

    def _keep(self, found: Rejected) -> None:
        kept = self._kept.setdefault(found.source_id, deque(maxlen=KEPT))
        known = {(each.message.split, each.message.position) for each in kept}
        now = datetime.now(UTC)
        for sample in found.samples:
            if (sample.split, sample.position) not in known:
                kept.append(KeptMessage(found.source_id, sample, now))
