"""The interface of an engine: it runs one epoch on all shards, and reports how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.source_reading import Rejected
from risingpy.executors.epoch.stage_runner import StageReport
from risingpy.executors.epoch.task import Purged
from risingpy.meta.epochs.shape import EpochShape
from risingpy.plan.operator_work import OperatorPosition, WorkFigures
from risingpy.plan.recursion.loops import Stages
from risingpy.storage.journal.entries import Delta


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The reports of an epoch's tasks, summed over shards and stages.

    `errors`: per job, expressions that failed and became NULL. `backfill`: per job in creation, the rows read from its
    upstreams in this epoch, and whether all of its scans have finished on all shards.
    `purged`: dropped tables with no rows left on any shard, and tables whose compaction is finished.
    `cpu_seconds`: of all tasks, None if not known. `work`: of the operators that had rows, for each task's stages and
    shards: few ask for their sums. `watermarks`: by id, the greatest value in the rows. `rejected`: messages of sources
    that did not decode. `deltas`: see `StageReport`. `repetitions`: how often loops were gone through again.
    """

    errors: Mapping[int, int] = field(default_factory=dict)
    backfill: Mapping[int, tuple[int, bool]] = field(default_factory=dict)
    purged: frozenset[int] = frozenset()
    cpu_seconds: float | None = None
    work: tuple[Mapping[OperatorPosition, WorkFigures], ...] = ()
    watermarks: Mapping[int, int] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
    deltas: tuple[Delta, ...] = ()
    repetitions: int = 0

    def is_through(self, job_id: int) -> bool:
        """Whether a job in creation has all rows of its upstreams, because it has read the last one or has no scans."""
        return self.backfill[job_id][1] if job_id in self.backfill else True


class EpochRunner(Protocol):
    """Runs epochs. `run` may be called as soon as `start` has returned; it waits for the engine if it must.

    `is_warm`: the engine has started. `shape` decides, for each epoch, whether it is one task.
    """

    shape: EpochShape

    def start(self) -> None: ...

    @property
    def is_warm(self) -> bool: ...

    @property
    def cores(self) -> int | None:
        """How many tasks can run at a time; None while the engine does not know."""
        ...

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        """Runs the epoch on a graph with these stages; every shard's state is durable when it returns.

        Raises FragmentFailed if a job's own computation fails, SourceFailed if the system behind a source does not
        answer, EpochFailed if the engine fails.
        """
        ...

    def stop(self) -> None:
        """Gives up a running epoch."""

    def close(self) -> None:
        """Releases everything that this process has open; called while no epoch runs. A later `run` opens it again."""


def combined(reports: Iterable[StageReport], purged: Purged, cpu_seconds: float | None = None) -> EpochReport:
    """The report of an epoch from those of its tasks."""
    errors: Counter[int] = Counter()
    backfill: dict[int, tuple[int, bool]] = {}
    work: list[Mapping[OperatorPosition, WorkFigures]] = []
    watermarks: Mapping[int, int] = {}
    rejected: list[Rejected] = []
    repetitions = 0
    deltas = list(purged.deltas)  # first: the epoch's own rows may be under the same keys
    for report in reports:
        deltas += report.deltas
        repetitions = max(repetitions, report.repetition)
        rejected += report.rejected
        errors.update(report.errors)
        watermarks = with_reached(watermarks, report.watermarks)
        for job_id, (rows, finished) in report.backfill.items():
            known_rows, known_finished = backfill.get(job_id, (0, True))
            backfill[job_id] = (known_rows + rows, known_finished and finished)
        if report.work:
            work.append(report.work)
    return EpochReport(
        errors=dict(errors),
        backfill=backfill,
        purged=purged.tables,
        cpu_seconds=cpu_seconds,
        work=tuple(work),
        watermarks=watermarks,
        rejected=tuple(rejected),
        deltas=tuple(deltas),
        repetitions=repetitions,
    )


def with_steps(report: EpochReport, steps: Iterable[StageReport]) -> EpochReport:
    """The report of an epoch that takes over what these report."""
    other = combined(steps, Purged(frozenset()))
    return replace(
        report,
        errors=Counter(report.errors) + Counter(other.errors),
        backfill={**report.backfill, **other.backfill},
        work=report.work + other.work,
        watermarks=with_reached(report.watermarks, other.watermarks),
    )


def with_reached(watermarks: Mapping[int, int], reached: Mapping[int, int]) -> Mapping[int, int]:
    """The watermarks after an epoch that has reached these values; a watermark never falls."""
    if all(watermarks.get(key, value - 1) >= value for key, value in reached.items()):
        return watermarks
    return {key: max(m[key] for m in (watermarks, reached) if key in m) for key in watermarks.keys() | reached.keys()}


class EpochFailed(Exception):
    """The engine could not run the epoch. Nothing is committed; the epoch may be tried again."""
