"""The barrier loop: one epoch after the other, and changes of the graph between them.

One thread owns the `MetaState`. It takes graph changes in the order they were submitted, then runs an epoch if
there is anything to do, commits it, opens the new read view and wakes whoever waits. An idle database sleeps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from pathlib import Path

from risingpy.errors import DiskFailure, QueryCanceled, SqlError, StatementTooComplex
from risingpy.executors.epoch.descriptor import graph_path, write_descriptor
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.failed_jobs import without_failed
from risingpy.meta.epochs.graph_changes import GraphChange, GraphChanges
from risingpy.meta.epochs.next_epoch import NextEpoch, creating, is_work_in, plan_epoch
from risingpy.meta.epochs.number import next_epoch, unix_milliseconds
from risingpy.meta.epochs.passing_time import PassingTime
from risingpy.meta.epochs.published_state import WAIT_SLICE_SECONDS, PublishedState
from risingpy.meta.epochs.result import is_through, state_after
from risingpy.meta.epochs.runner import EpochFailed, EpochReport, EpochRunner
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.work_since_start import WorkSinceStart
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.graph_codec import GraphWriter
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.fault_points import reach

LOG = logging.getLogger(__name__)

RETRIES = 20  # of an epoch whose engine failed, some three minutes, before the loop gives up
FIRST_PAUSE_SECONDS = 0.5  # between tries; doubles
LONGEST_PAUSE_SECONDS = 10.0
COMPACTION_PAUSE_SECONDS = 0.2  # without other work, before an epoch for the compaction alone


class BarrierLoop:
    """Owns the state; see the module's docstring. All public methods may be called from any thread."""

    def __init__(
        self,
        *,
        data_dir: Path,
        state: MetaState,
        states: DurableState,
        store: StateStore,
        runner: EpochRunner,
        sources: SourceOffsets,
    ) -> None:
        self._data_dir = data_dir
        self._graph_writer = GraphWriter()
        self._states = states
        self._runner = runner
        self._sources = sources
        self.published = PublishedState(state, store)
        self._changed = self.published.changed
        self._changes = GraphChanges()
        self._progress: dict[int, int] = {}
        self._failures: dict[int, SqlError] = {}
        self._last_tried = 0
        self._passing_time = PassingTime()
        self._idle = False
        self.work = WorkSinceStart()
        self._thread = threading.Thread(target=self._run, name="barriers", daemon=True)
        self.log: DmlLog
        self._write_graph(state)

    # What statements use

    @property
    def backfilled_rows(self) -> Mapping[int, int]:
        """Rows read so far, per job that is being created."""
        return dict(self._progress)

    def start(self, log: DmlLog) -> None:
        self.log = log
        self._thread.start()

    def stop(self) -> None:
        """Ends after the running epoch."""
        self.published.stop()
        self._runner.stop()
        self._thread.join(timeout=10)
        if not self._thread.is_alive():
            self._runner.close()
        self.published.close()

    def change(self, change: GraphChange, cancelled: threading.Event | None = None) -> MetaState:
        """Has `change` applied between two epochs, durably, and returns the state after it.

        QueryCanceled while it still waits for the running epoch: then it is not applied.
        """
        future = self.submit(change)
        while not future.done():
            if cancelled is not None and cancelled.is_set() and self._withdraw(future):
                raise QueryCanceled("canceling statement due to user request")
            wait((future,), None if cancelled is None else WAIT_SLICE_SECONDS)
        return future.result()

    def submit(self, change: GraphChange) -> Future[MetaState]:
        """As `change`, without waiting: it will be applied before every change that is submitted later."""
        with self._changed:
            self.published.refuse_if_down()
            future = self._changes.add(change)
            self._changed.notify_all()
        return future

    def _withdraw(self, future: Future[MetaState]) -> bool:
        with self._changed:
            return self._changes.withdraw(future)

    def failure_of(self, relation_id: int) -> SqlError | None:
        """Why a job failed, if it did."""
        return self._failures.get(relation_id)

    # The loop's own thread

    def _run(self) -> None:
        try:
            self._loop()
        except Exception as error:
            LOG.exception("the barrier loop failed")
            self._give_up(f"{type(error).__name__}: {error}")

    def _loop(self) -> None:
        failures = 0
        while True:
            state = self.published.state
            self._passing_time.follow(state.jobs, state.graph_version, state.committed.epoch, unix_milliseconds())
            if self._passing_time.is_to_look(unix_milliseconds()) and not self._has_work():
                self._look_at_passing_time()
            with self._changed:
                while not self.published.is_stopping and not self._has_work():
                    if self._passing_time.is_to_look(unix_milliseconds()):
                        break
                    due = self.published.cut_old_views()
                    if not self.published.state.compactions:
                        self._changed.wait(self._seconds_to_sleep(due))
                    elif not self._changed.wait(COMPACTION_PAUSE_SECONDS):
                        self._idle = True  # so there is time for some rows more
                        break
                if self.published.is_stopping:
                    self._changes.refuse("the database system is shutting down")
                    return
            try:
                self._publish()
                self._apply_changes()
                self._advance()
                self._idle = False
                failures = 0
            except (EpochFailed, DiskFailure, OSError, MemoryError) as error:
                failures += 1
                if self.published.is_stopping:
                    continue
                LOG.error("epoch failed (%d of %d): %s", failures, RETRIES, error)
                if failures >= RETRIES:
                    self._give_up(str(error))
                    return
                self._pause(min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS))

    def _look_at_passing_time(self) -> None:
        """Reads what the views hold, without the lock: whoever opens a view need not wait."""
        _, view = self.published.acquire_view()
        try:
            self._passing_time.look(view)
        finally:
            view.release()

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.published.is_stopping, seconds)

    def _seconds_to_sleep(self, due: float | None) -> float | None:
        """Until `due`, sources are to be looked at again, or time alone changes a view; None: until woken."""
        passing = self._passing_time.seconds_left(unix_milliseconds())
        pauses = due, self._sources.poll_seconds(self.published.state), passing
        return min((seconds for seconds in pauses if seconds is not None), default=None)

    def _has_work(self) -> bool:
        state = self.published.state
        return bool(
            self.published.is_unpublished
            or self._changes
            or self.log.last_lsn > state.committed.lsn
            or is_work_in(state)
            or self._passing_time.has_come(unix_milliseconds())
            or self._sources.available(state)
        )

    def _apply_changes(self) -> None:
        while True:
            with self._changed:
                taken = self._changes.take()
            if taken is None:
                return
            change, future = taken
            old = self.published.state
            try:
                new = change(old)
                self._commit(old, new)
            except SqlError as error:
                future.set_exception(error)
            except RecursionError:
                hint = "Create materialized views of parts of the query."
                future.set_exception(StatementTooComplex("stack depth limit exceeded", hint=hint))
            except Exception as error:
                LOG.exception("a schema change failed")
                future.set_exception(error)
            else:
                future.set_result(new)

    def _commit(self, old: MetaState, new: MetaState) -> None:
        if new.graph_version != old.graph_version:
            self._write_graph(new)
            self.work.keep_only(new.graph())
        self._states.commit(old, new)
        reach("change.publish")
        self.published.replace(new)

    def _advance(self) -> None:
        """Runs and commits one epoch, if there is anything for it."""
        shape = self._runner.shape
        passed = self._passing_time.has_come(unix_milliseconds())
        epoch = plan_epoch(
            self.published.state,
            self.log,
            self._sources,
            shape,
            number=self._next_epoch,
            idle=self._idle,
            passed=passed,
        )
        if epoch is None:
            return
        reach("epoch.describe")
        write_descriptor(self._data_dir, epoch.descriptor)
        try:
            report = self._runner.run(epoch.descriptor, epoch.depth)
        except FragmentFailed as failure:
            self._stop_job(failure)
            return
        if report.cpu_seconds is not None:
            shape.measured(epoch.rows, report.cpu_seconds)
        self._commit_epoch(epoch, report)

    def _next_epoch(self) -> int:
        """Beyond every epoch that was tried: a store refuses an older one than it has begun."""
        self._last_tried = next_epoch(max(self.published.state.committed.epoch, self._last_tried))
        return self._last_tried

    def _commit_epoch(self, epoch: NextEpoch, report: EpochReport) -> None:
        old = self.published.state
        new = state_after(old, epoch, report)
        for relation in creating(old):
            rows, _ = report.backfill.get(relation.relation_id, (0, True))
            self._progress[relation.relation_id] = self._progress.get(relation.relation_id, 0) + rows
            if is_through(relation.relation_id, report):
                self._progress.pop(relation.relation_id)
        self._states.commit(old, new)
        self.work.add(report.work)
        self.published.add(new)
        self._publish()

    def _publish(self) -> None:
        published = self.published.publish()
        if published is not None:
            self.log.committed(published.committed.lsn)

    def _stop_job(self, failure: FragmentFailed) -> None:
        """Takes a job that cannot go on, and what reads it, out of the graph; the others go on."""
        LOG.error("job %d failed: %s", failure.job_id, failure.error)
        old = self.published.state
        new, failures = without_failed(old, failure)
        self._failures.update(failures)
        self._commit(old, new)

    def _write_graph(self, state: MetaState) -> None:
        try:
            reach("graph.write")
            graph_path(self._data_dir, state.graph_version).write_bytes(self._graph_writer.write(state.graph()))
            graph_path(self._data_dir, state.graph_version - 2).unlink(missing_ok=True)
        except OSError as error:
            raise disk_failure("cannot write the stream graph", error) from error

    def _give_up(self, reason: str) -> None:
        self.published.give_up(reason)
        with self._changed:
            self._changes.refuse(f"the engine has stopped: {reason}")
