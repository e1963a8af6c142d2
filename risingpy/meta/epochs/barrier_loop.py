"""The barrier loop: one epoch after the other, and changes of the graph between them.

One thread owns the `MetaState`. It applies graph changes in the order in which they were submitted. Then it runs an
epoch if there is work, commits it, opens the new read view and wakes all waiting statements. An idle database sleeps.
An epoch that fails is tried again, for as long as the server runs: reads of what is committed need no epoch.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from risingpy.errors import CannotConnectNow, DiskFailure, OutOfMemory, SqlError, StatementTooComplex
from risingpy.executors.epoch.job_watch import JobTookTooLong
from risingpy.executors.epoch.source_reading import SourceFailed
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.spark.loop_time import ExchangesCostMore
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.costly_jobs import allowed_seconds, too_costly
from risingpy.meta.epochs.epoch_times import EpochPhase
from risingpy.meta.epochs.graph_changes import ComputeAgain, GraphChanges, SubmittedChange
from risingpy.meta.epochs.next_epoch import NextEpoch
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.rescaling import Rescaling
from risingpy.meta.epochs.rest import Rest
from risingpy.meta.epochs.runner import EpochFailed, EpochReport, EpochRunner
from risingpy.meta.epochs.scheduler import EpochScheduler
from risingpy.meta.epochs.strictness import WARY_HALVINGS, Strictness
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.own_pace.jobs import OwnPaceJobs
from risingpy.meta.own_pace.refreshes import RefreshedViews, reason_of
from risingpy.plan.plain_jobs import is_plain
from risingpy.storage.fault_points import reach

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EpochRetries:
    """How soon an epoch whose engine failed is tried again. After `tries` failures in a row, by default some three
    minutes, nobody should wait for it any more: statements that do are refused until an epoch runs.
    """

    tries: int = 20
    first_pause: float = 0.5  # seconds between the first two tries; each pause is twice as long as the one before
    longest_pause: float = 10.0  # seconds

    def pause_after(self, failures: int) -> float:
        """Seconds to wait after that many failures in a row, at least one."""
        return min(self.first_pause * 2.0 ** min(failures - 1, 64), self.longest_pause)


PATIENT = EpochRetries()
TOLD_SECONDS = 10.0  # of an epoch that still runs when the database is to close
LONGEST_STOP_SECONDS = 120.0  # then the process ends under it: nothing acknowledged is lost by that
_TRIES_WITHOUT_MEMORY = 5  # about eight seconds: a statement may hold the memory meanwhile


class BarrierLoop:
    """The loop's thread. `Database` calls `start` and `stop` once each."""

    def __init__(
        self,
        *,
        data_dir: Path,
        published: PublishedState,
        waiters: Waiters,
        changes: GraphChanges,
        scheduler: EpochScheduler,
        committer: Committer,
        runner: EpochRunner,
        own_pace: OwnPaceJobs,
        rescaling: Rescaling,
        retries: EpochRetries,
    ) -> None:
        self._data_dir = data_dir
        self._published = published
        self._waiters = waiters
        self._changed = waiters.changed
        self._changes = changes
        self._scheduler = scheduler
        self._committer = committer
        self._runner = runner
        self._own_pace = own_pace
        self._rescaling = rescaling
        self._retries = retries
        self._rest = Rest(waiters)
        self._jobs_without_memory = 0  # how often in a row
        self._strictness = Strictness()
        self._was_long = False  # the last epoch, by costly jobs
        self._refreshed = RefreshedViews()
        self._thread = threading.Thread(target=self._run, name="barriers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Ends after the running epoch. False if that takes too long: its thread still uses the stores then."""
        self._waiters.stop()
        self._runner.stop()
        self._thread.join(TOLD_SECONDS)
        if self._thread.is_alive():
            LOG.warning("an epoch is still running, the database closes when it ends")
            self._thread.join(LONGEST_STOP_SECONDS)
        self._own_pace.close()
        if self._thread.is_alive():
            return False
        self._runner.close()
        return True

    # The loop's own thread

    def _run(self) -> None:
        failures = 0
        while not self._waiters.is_stopping:
            try:
                if self._sleep_until_due():
                    self._committer.publish()
                    if self._published.state.partial is None:
                        self._apply_changes()
                    self._rescale()
                    self._run_epoch()
                    self._gets_on(failures)
                    failures = 0
            except Exception as error:
                failures += 1
                self._failed(error, failures)
        self._changes.refuse(self._waiters.why_stopping)

    def _gets_on(self, failures: int) -> None:
        self._committer.times.rest()
        if failures:
            LOG.info("epochs get on again after %d failures", failures)
            self._waiters.stall(None)

    def _failed(self, error: Exception, failures: int) -> None:
        """Tells of a failure, and pauses before the next try. A change of the schema ends the pause: it may help."""
        is_defect = not isinstance(error, EpochFailed | DiskFailure | OSError | MemoryError)
        reason = (f"{type(error).__name__}: {error}" if is_defect else str(error)) or type(error).__name__
        self._committer.times.rest(failure=reason)
        if self._waiters.is_stopping:
            return
        if isinstance(error, CannotConnectNow):  # another server leads: no epoch of this one will count again
            self._waiters.stop(error.message)
            return
        patience = self._retries.tries
        if failures < patience or failures % patience == 0:  # every three minutes in the long run
            LOG.error("epoch failed (try %d): %s", failures, reason, exc_info=is_defect and failures == 1)
        if failures >= patience:
            if failures == patience:
                LOG.error(
                    "epochs cannot run: what waits for one is refused, reads of committed rows go on; still trying"
                )
            self._waiters.stall(reason)
        self._pause(failures)

    def _sleep_until_due(self) -> bool:
        """Returns when there is something to do; False if the database is closed."""
        scheduler = self._scheduler
        scheduler.follow(self._published.state)
        while True:
            # Reading tables takes some milliseconds, so it is done without the lock: sessions may open views meanwhile.
            if scheduler.is_to_look() and not self._has_work():
                self._look_at_passing_time()
            with self._changed:
                while not (self._waiters.is_stopping or self._has_work() or scheduler.is_to_look()):
                    rest = self._rest.seconds_left(scheduler.pending_rows)
                    if rest > 0 and scheduler.is_due(self._published.state):
                        # Every write notifies: what ends the rest is looked at, and not all that may be due.
                        self._changed.wait_for(self._ends_rest, rest)
                        continue
                    due = _first(self._published.cut_old_views(), self._own_pace.seconds_left())
                    state = self._published.state
                    woken = self._changed.wait(scheduler.seconds_to_sleep(state, due))
                    if not woken and scheduler.slept_through(state):
                        return not self._waiters.is_stopping
                if self._waiters.is_stopping:
                    return False
                if self._has_work():
                    return True

    def _ends_rest(self) -> bool:
        return self._waiters.are_waiting or self._waiters.is_stopping or bool(self._changes)

    def _has_work(self) -> bool:
        state = self._published.state
        if self._published.is_unpublished or self._changes:
            return True
        if self._own_pace.is_due(state) or self._rescaling.is_due(state) or self._refreshed.to_set_aside(state):
            return True
        if not self._scheduler.is_due(state):
            return False
        rests = self._rest.seconds_left(self._scheduler.pending_rows) > 0
        return not rests or self._scheduler.is_due_without_rows(state)

    def _look_at_passing_time(self) -> None:
        _, view = self._published.acquire_view()
        try:
            self._scheduler.look(view)
        finally:
            view.release()

    def _apply_changes(self) -> None:
        while (taken := self._changes.take()) is not None:
            known = self._published.state.jobs.keys()
            self._apply(taken)
            self._set_aside_unknown(known)

    def _apply(self, submitted: SubmittedChange) -> None:
        """Applies a change. An error goes to the statement that submitted it, and the loop continues."""
        old, future = self._published.state, submitted.future
        try:
            new = submitted.change(old)
            self._committer.commit_change(old, new, submitted.rows)
        except (SqlError, ComputeAgain) as error:
            future.set_exception(error)
        except RecursionError:
            hint = "Create materialized views of parts of the query."
            future.set_exception(StatementTooComplex("stack depth limit exceeded", hint=hint))
        except Exception as error:
            LOG.exception("a schema change failed")
            future.set_exception(error)
        else:
            future.set_result(new)

    def _set_aside_unknown(self, known: Collection[int]) -> None:
        """While one job after the other spoils epochs, a new one whose rows may take any time begins by itself."""
        if self._strictness.halvings < WARY_HALVINGS:
            return
        state = self._published.state
        for job_id in state.jobs.keys() - known:
            if not is_plain(state.jobs[job_id]):
                self._committer.set_aside(job_id, "it is new, and other jobs have spoilt epochs in the last seconds")

    def _rescale(self) -> None:
        """Moves the state to the number of shards that is wanted. Whoever has old ones open lets go of them before."""
        if self._rescaling.is_due(self._published.state):
            self._own_pace.begin_anew()
            self._runner.close()
            self._rescaling.run()
            self._waiters.wake()

    def _run_epoch(self) -> None:
        """Runs and commits one epoch, if there is anything for it."""
        self._committer.start_recovered()
        for job_id, seconds in self._refreshed.to_set_aside(self._published.state).items():
            self._committer.set_aside(job_id, reason_of(seconds), level=logging.INFO)
        joining = self._direct_own_pace()
        shape = self._runner.shape
        clock = self._committer.times.begin()
        state = self._published.state
        # No change of the schema finds a relation that is partly stored: a new reader of it would, for example.
        handed_over = self._own_pace.finished(state, whole=bool(self._changes))
        closed, halvings = joining is not None, self._strictness.halvings
        epoch = self._scheduler.next_epoch(state, shape, handed_over, closed=closed, halvings=halvings)
        if epoch is not None:
            reach("epoch.describe")
            clock.done(EpochPhase.PLAN)
            try:
                report = self._runner.run(epoch.descriptor, epoch.stages)
            except FragmentFailed as failure:
                self._deal_with(failure)
            except ExchangesCostMore:
                LOG.info("an epoch of %d rows is run as one task: a recursion's exchanges cost too much", epoch.rows)
                shape.repeated_too_often(epoch.rows)
            except SourceFailed as failure:
                self._scheduler.source_failed(failure)
            else:
                clock.done(EpochPhase.RUN)
                if report.cpu_seconds is not None:
                    shape.measured(epoch.rows, report.cpu_seconds, report.repetitions)
                self._scheduler.ran(epoch, state, report, clock)
                self._jobs_without_memory = 0
                self._committer.commit_epoch(epoch, report, clock)
                self._rest.ran(epoch, sum(clock.phases.values()))
                self._own_pace.taken_over(handed_over, state.job_epoch_seconds / math.exp2(halvings))
                self._set_aside_costly(epoch, report, halvings)
                if joining is not None and not self._committer.has_kept_changes(joining, report):
                    self._committer.rejoin(joining)
        self._scheduler.done()

    def _pause(self, failures: int) -> None:
        shortest, seconds = self._retries.pause_after(1), self._retries.pause_after(failures)
        with self._changed:
            self._changed.wait_for(lambda: self._waiters.is_stopping, shortest)
            self._changed.wait_for(lambda: self._waiters.is_stopping or bool(self._changes), seconds - shortest)

    def _deal_with(self, failure: FragmentFailed) -> None:
        """A job that was too much for an epoch of all goes on by itself if it can; another one stops.

        Memory may lack for somebody else's sake: a job that cannot be set aside, such as a table's, is tried again.
        """
        self._strictness.spoilt()
        too_much = isinstance(failure.error, JobTookTooLong | OutOfMemory | MemoryError)
        if too_much and self._committer.set_aside(failure.job_id, str(failure.error)):
            return
        if isinstance(failure.error, MemoryError) and self._jobs_without_memory < _TRIES_WITHOUT_MEMORY:
            self._jobs_without_memory += 1
            raise EpochFailed("the process is out of memory") from failure
        self._committer.stop_job(failure)

    def _set_aside_costly(self, epoch: NextEpoch, report: EpochReport, halvings: float) -> None:
        """Jobs that made a committed epoch too long, each within what a job may take, are not in the next one."""
        state = self._published.state
        allowed = allowed_seconds(state.job_epoch_seconds, epoch.rows, halvings)
        costly = list(too_costly(report, state.graph(), allowed))
        was_long, self._was_long = self._was_long, bool(costly)
        if not (halvings or was_long):
            return  # once may be the start of a process, or a shard's state that it had to load
        for job_id, seconds in costly:
            reason = f"it took {seconds * 1000:.0f} ms of CPU time of an epoch that was too long"
            if self._committer.set_aside(job_id, reason):
                self._strictness.spoilt()

    def _direct_own_pace(self) -> int | None:
        """Looks after the jobs that are set aside, between two epochs. Returns one that may join the others.

        If it has something to hand over, it may as soon as an epoch has taken that over and has no changes of its own.
        """
        own_pace = self._own_pace
        own_pace.follow(self._published.state)
        while (failure := own_pace.failure(self._published.state)) is not None:
            self._committer.stop_job(failure)
            own_pace.follow(self._published.state)
        self._committer.reached(own_pace.unchanged())
        joining = own_pace.start_steps(self._published.state)
        self._committer.reached(own_pace.unchanged())
        if joining is not None and not own_pace.has_results(joining):
            if self._published.state.set_aside[joining].position == self._published.state.committed.epoch:
                self._committer.rejoin(joining)
                own_pace.follow(self._published.state)
            return None
        return joining


def _first(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)
