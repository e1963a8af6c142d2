"""Decides when the next epoch is due, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.executors.epoch.source_reading import SourceFailed
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.backfill_budget import BackfillBudget
from risingpy.meta.epochs.costly_jobs import work_of_jobs
from risingpy.meta.epochs.epoch_times import EpochClock, EpochPhase
from risingpy.meta.epochs.next_epoch import NextEpoch, is_work_in, plan_epoch, starting_ids
from risingpy.meta.epochs.number import next_epoch, unix_milliseconds
from risingpy.meta.epochs.passing_time import PassingTime
from risingpy.meta.epochs.runner import EpochReport
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.of_graph import OfGraph
from risingpy.meta.own_pace.pace import StepResult
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.recursion.loops import Stages
from risingpy.storage.engine.read_views import ReadView

COMPACTION_PAUSE_SECONDS = 0.2  # an epoch only for the compaction waits until there is no other work for so long


class EpochScheduler:
    """Checks the log, the sources, the state and the clock, and never waits. For the barrier loop's thread.

    `now` returns the time in milliseconds since 1970.
    """

    def __init__(
        self, log: DmlLog, sources: SourceOffsets, trimming: Trimming, now: Callable[[], int] = unix_milliseconds
    ) -> None:
        self._log = log
        self._sources = sources
        self._trimming = trimming
        self._now = now
        self.budget = BackfillBudget()
        self._passing_time = PassingTime()
        self._stages = OfGraph(lambda state: Stages.of(state.graph()))
        self._last_tried = 0
        self._idle = False

    def follow(self, state: MetaState) -> None:
        """Tells the scheduler of the newest state."""
        jobs = {job_id: job for job_id, job in state.jobs.items() if job_id not in state.set_aside}
        self._passing_time.follow(jobs, state.graph_version, state.committed.epoch, self._now())

    def is_due(self, state: MetaState) -> bool:
        """Whether there is work for an epoch; a compaction alone can wait."""
        return self._log.last_lsn > state.committed.lsn or self.is_due_without_rows(state)

    def pending_rows(self) -> int:
        """How many rows of the log wait for an epoch."""
        return self._log.pending_rows

    def is_due_without_rows(self, state: MetaState) -> bool:
        """The same, had the log no rows."""
        return bool(
            is_work_in(state, self.budget)
            or self._passing_time.has_come(self._now())
            or self._sources.available(state)
            or self._trimming.seconds_left() == 0
        )

    def is_to_look(self) -> bool:
        """Whether it is time to call `look`."""
        return self._passing_time.is_to_look(self._now())

    def look(self, view: ReadView) -> None:
        """Finds out, from the newest epoch's view, when time alone changes a view next. Takes some milliseconds."""
        self._passing_time.look(view)

    def seconds_to_sleep(self, state: MetaState, otherwise: float | None) -> float | None:
        """How long nothing becomes due unless `wake` is called; None: for ever. At most `otherwise`."""
        if state.compactions:
            return COMPACTION_PAUSE_SECONDS
        passing, trimming = self._passing_time.seconds_left(self._now()), self._trimming.seconds_left()
        limits = state.backfill_limits
        limited = self.budget.seconds_left(starting_ids(state), limits) if limits else None
        pauses = limited, otherwise, self._sources.pause_seconds(state), passing, trimming
        return min((seconds for seconds in pauses if seconds is not None), default=None)

    def slept_through(self, state: MetaState) -> bool:
        """Called after the loop has slept undisturbed; returns whether there is now time for some compaction."""
        self._idle = bool(state.compactions)
        return self._idle

    def next_epoch(
        self,
        state: MetaState,
        shape: EpochShape,
        handed_over: Mapping[int, StepResult] = MappingProxyType({}),
        *,
        closed: bool = False,
        halvings: float = 0.0,
    ) -> NextEpoch | None:
        """The epoch after `state`; None if there is no work for it. See `plan_epoch`."""
        return plan_epoch(
            state,
            self._log,
            self._sources,
            self._trimming,
            self.budget,
            shape,
            stages=self._stages(state),
            number=lambda: self._next_number(state),
            idle=self._idle,
            passed=self._passing_time.has_come(self._now()),
            handed_over=handed_over,
            closed=closed,
            halvings=halvings,
        )

    def source_failed(self, failure: SourceFailed) -> None:
        """Called when a task could not read a source: the next epochs are planned without it for a while."""
        self._sources.failed(failure)

    def ran(self, epoch: NextEpoch, state: MetaState, report: EpochReport, clock: EpochClock) -> None:
        """Called when an epoch has run that was planned after `state`."""
        granted = dict(epoch.descriptor.snapshot_rows)
        work = work_of_jobs(report, state.graph()) if len(granted) > 1 else {}
        self.budget.measured(granted, clock.phases[EpochPhase.RUN], work)

    def done(self) -> None:
        """Called when the last planned epoch is committed, or none was planned."""
        self._idle = False

    def _next_number(self, state: MetaState) -> int:
        """A number greater than those of all epochs that were tried: a shard refuses one older than its last."""
        self._last_tried = next_epoch(max(state.committed.epoch, self._last_tried))
        return self._last_tried
