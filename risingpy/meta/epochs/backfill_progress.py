"""How far the jobs in creation are with the rows of their upstreams, and how fast they read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from risingpy.meta.epochs.next_epoch import creating
from risingpy.meta.state import MetaState
from risingpy.plan.graph import Job
from risingpy.plan.operators import TableScan
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

_SAMPLE_SECONDS = 0.5  # between two samples of a job's rows
_SAMPLES = 20  # of which the rate is: ten seconds
_ROW_COUNT = 3  # the position of a scan's number of rows in its progress table


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What a job in creation has read. `began`: when it began or, after a restart, went on (seconds since 1970).

    `samples`: (monotonic seconds, rows), the oldest first.
    """

    rows: int
    began: float
    samples: tuple[tuple[float, int], ...]

    def rows_per_second(self, now: float | None = None) -> float:
        """How fast it has read in the last seconds; 0 if that is not known yet."""
        (first, before), now = self.samples[0], time.monotonic() if now is None else now
        return (self.rows - before) / (now - first) if now - first > _SAMPLE_SECONDS / 2 else 0.0


class BackfillProgress:
    """The barrier loop's thread writes it; any thread reads `jobs`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.jobs: Mapping[int, JobProgress] = {}  # replaced as a whole, because other threads read it

    def found(self, state: MetaState, view: ReadView) -> None:
        """The server has started: jobs go on with what an earlier run has read."""
        going_on = [state.jobs[relation.relation_id] for relation in creating(state)]
        self.jobs = {job.job_id: self._at(rows) for job in going_on if (rows := _stored_rows(job, view))}

    def read(self, job_ids: Iterable[int], rows: Mapping[int, int]) -> None:
        """These jobs are still being created after an epoch in which they have read so many rows."""
        self.jobs = {job: self._after(self.jobs.get(job), rows.get(job, 0)) for job in job_ids}

    def _after(self, before: JobProgress | None, more: int) -> JobProgress:
        if before is None:
            return self._at(more)
        now, rows = self._clock(), before.rows + more
        samples = before.samples
        if now - samples[-1][0] >= _SAMPLE_SECONDS:
            samples = (*samples[-_SAMPLES:], (now, rows))
        return JobProgress(rows, before.began, samples)

    def _at(self, rows: int) -> JobProgress:
        return JobProgress(rows, time.time(), ((self._clock(), rows),))


def scans_of(job: Job) -> list[TableScan]:
    """The job's scans of upstreams."""
    nodes = (node for fragment in job.fragments for node in nodes_of_fragment(fragment.root))
    return [node for node in nodes if isinstance(node, TableScan)]


def _stored_rows(job: Job, view: ReadView) -> int:
    """The rows that the job's scans have read, as their progress tables say."""
    batches = (batch for scan in scans_of(job) for batch in StorageTable(scan.progress, view).scan([_ROW_COUNT]))
    return sum(pc.sum(batch.column(0)).as_py() or 0 for batch in batches)
