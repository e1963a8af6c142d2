"""The barrier loop: one epoch after the other, and changes of the graph between them.

One thread owns the `MetaState`. It takes graph changes in the order they were submitted, then runs an epoch if
there is anything to do, commits it, opens the new read view and wakes whoever waits. An idle database sleeps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path

from risingpy.errors import CannotConnectNow, DiskFailure, QueryCanceled, SqlError, StatementTooComplex
from risingpy.executors.epoch_descriptor import EpochDescriptor, graph_path, write_descriptor
from risingpy.executors.stage_runner import FragmentFailed
from risingpy.executors.table_scan import ROWS_PER_EPOCH as BACKFILL_ROWS
from risingpy.meta.dml_log import DmlLog
from risingpy.meta.epoch_runner import EpochFailed, EpochReport, EpochRunner, with_reached
from risingpy.meta.epochs import next_epoch, unix_milliseconds
from risingpy.meta.failed_jobs import without_failed
from risingpy.meta.graph_changes import GraphChange, GraphChanges
from risingpy.meta.passing_time import PassingTime
from risingpy.meta.source_offsets import Offsets, SourceOffsets
from risingpy.meta.state import CommittedEpoch, MetaState
from risingpy.meta.state_store import MetaStateStore, with_status
from risingpy.meta.work_since_start import WorkSinceStart
from risingpy.optimizer.catalog import JobStatus, Relation
from risingpy.optimizer.graph_codec import encode_graph
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.fault_points import reach
from risingpy.storage.state_store import ReadView, StateStore

LOG = logging.getLogger(__name__)

LARGEST_EPOCH_ROWS = 1 << 20  # bounds a task's memory; a single statement may be larger
RETRIES = 20  # of an epoch whose engine failed, some three minutes, before the loop gives up
FIRST_PAUSE_SECONDS = 0.5  # between tries; doubles
LONGEST_PAUSE_SECONDS = 10.0
WAIT_SLICE_SECONDS = 0.1  # how often a waiting statement looks whether it was cancelled
COMPACTION_PAUSE_SECONDS = 0.2  # without other work, before an epoch for the compaction alone


class BarrierLoop:
    """Owns the state; see the module's docstring. All public methods may be called from any thread."""

    def __init__(
        self,
        *,
        data_dir: Path,
        state: MetaState,
        states: MetaStateStore,
        store: StateStore,
        runner: EpochRunner,
        sources: SourceOffsets,
    ) -> None:
        self._data_dir = data_dir
        self._states = states
        self._store = store
        self._runner = runner
        self._sources = sources
        self._changed = threading.Condition()
        self._state = state
        self._changes = GraphChanges()
        self._view = store.open_read_view(state.committed.epoch)
        self._unpublished: MetaState | None = None  # committed, and no view of it is open yet
        self._progress: dict[int, int] = {}
        self._failures: dict[int, SqlError] = {}
        self._last_tried = 0
        self._passing_time = PassingTime()
        self._idle = False
        self._stopping = False
        self._fatal: str | None = None
        self.work = WorkSinceStart()
        self._thread = threading.Thread(target=self._run, name="barriers", daemon=True)
        self.log: DmlLog
        self._write_graph(state)

    # What statements use

    @property
    def state(self) -> MetaState:
        return self._state

    @property
    def backfilled_rows(self) -> Mapping[int, int]:
        """Rows read so far, per job that is being created."""
        return dict(self._progress)

    @property
    def fatal(self) -> str | None:
        """Why the loop has given up, if it has."""
        return self._fatal

    def start(self, log: DmlLog) -> None:
        self.log = log
        self._thread.start()

    def stop(self) -> None:
        """Ends after the running epoch."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._runner.stop()
        self._thread.join(timeout=10)
        if not self._thread.is_alive():
            self._runner.close()
        self._view.release()

    def wake(self) -> None:
        """There is something to do."""
        with self._changed:
            self._changed.notify_all()

    def acquire_view(self) -> tuple[MetaState, ReadView]:
        """The newest committed state and its read view, which the caller releases."""
        with self._changed:
            self._view.acquire()
            return self._state, self._view

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
            self._refuse_if_down()
            future = self._changes.add(change)
            self._changed.notify_all()
        return future

    def _withdraw(self, future: Future[MetaState]) -> bool:
        with self._changed:
            return self._changes.withdraw(future)

    def wait_until(self, reached: Callable[[MetaState], bool], cancelled: threading.Event | None = None) -> MetaState:
        """Waits for a committed state for which `reached` holds."""
        with self._changed:
            while not reached(self._state):
                self._refuse_if_down()
                if cancelled is not None and cancelled.is_set():
                    raise QueryCanceled("canceling statement due to user request")
                self._changed.wait(WAIT_SLICE_SECONDS)
            return self._state

    def failure_of(self, relation_id: int) -> SqlError | None:
        """Why a job failed, if it did."""
        return self._failures.get(relation_id)

    def _refuse_if_down(self) -> None:
        if self._fatal is not None:
            raise CannotConnectNow(f"the engine has stopped: {self._fatal}", hint="See the server's log.")
        if self._stopping:
            raise CannotConnectNow("the database system is shutting down")

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
            state = self._state
            self._passing_time.follow(state.jobs, state.graph_version, state.committed.epoch, unix_milliseconds())
            if self._passing_time.is_to_look(unix_milliseconds()) and not self._has_work():
                self._passing_time.look(self._view)  # without the lock: whoever opens a view need not wait
            with self._changed:
                while not self._stopping and not self._has_work():
                    if self._passing_time.is_to_look(unix_milliseconds()):
                        break
                    due = self._cut_old_views()
                    if not self._state.compactions:
                        self._changed.wait(self._seconds_to_sleep(due))
                    elif not self._changed.wait(COMPACTION_PAUSE_SECONDS):
                        self._idle = True  # so there is time for some rows more
                        break
                if self._stopping:
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
                if self._stopping:
                    continue
                LOG.error("epoch failed (%d of %d): %s", failures, RETRIES, error)
                if failures >= RETRIES:
                    self._give_up(str(error))
                    return
                self._pause(min(FIRST_PAUSE_SECONDS * 2 ** (failures - 1), LONGEST_PAUSE_SECONDS))

    def _cut_old_views(self) -> float | None:
        """Ends what is read for too long; returns in how many seconds to look again."""
        limit = self._state.old_snapshot_threshold
        return None if limit is None else self._store.cut_views(limit)

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)

    def _seconds_to_sleep(self, due: float | None) -> float | None:
        """Until `due`, sources are to be looked at again, or time alone changes a view; None: until woken."""
        passing = self._passing_time.seconds_left(unix_milliseconds())
        pauses = due, self._sources.poll_seconds(self._state), passing
        return min((seconds for seconds in pauses if seconds is not None), default=None)

    def _has_work(self) -> bool:
        state = self._state
        return bool(
            self._unpublished
            or self._changes
            or self.log.last_lsn > state.committed.lsn
            or self._creating(state)
            or state.fresh_jobs
            or state.purge
            or self._passing_time.has_come(unix_milliseconds())
            or not state.committed.settled
            or self._sources.available(state)
        )

    @staticmethod
    def _creating(state: MetaState) -> list[Relation]:
        return [r for r in state.catalog.relations.values() if r.status is JobStatus.CREATING]

    def _apply_changes(self) -> None:
        while True:
            with self._changed:
                taken = self._changes.take()
            if taken is None:
                return
            change, future = taken
            old = self._state
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
        with self._changed:
            self._state = new
            self._changed.notify_all()

    def _advance(self) -> None:
        """Runs and commits one epoch, if there is anything for it."""
        state = self._state
        lsn, rows = self.log.next_epoch(LARGEST_EPOCH_ROWS)
        splits, offsets, source_rows = self._sources.next_ranges(state, LARGEST_EPOCH_ROWS)
        creating = self._creating(state)
        cleaning = state.purge or (self._idle and state.compactions)
        passed = self._passing_time.has_come(unix_milliseconds())
        waiting = passed or not state.committed.settled
        if not (lsn > state.committed.lsn or splits or creating or state.fresh_jobs or cleaning or waiting):
            return
        # A job reads no snapshot in its first epoch.
        backfilling = sum(job.relation_id not in state.fresh_jobs for job in creating)
        rows += source_rows + backfilling * state.shards * BACKFILL_ROWS
        depth = state.graph().depth
        descriptor = EpochDescriptor(
            epoch=self._next_epoch(),
            committed=state.committed.epoch,
            graph_version=state.graph_version,
            shards=state.shards,
            log_after=state.committed.lsn,
            log_up_to=lsn,
            splits=splits,
            fresh_jobs=tuple(sorted(state.fresh_jobs)),
            purge=tuple(sorted(state.purge)),
            compact=tuple(sorted(state.compactions.items())),
            single_task=self._runner.shape.is_one_task(rows, shards=state.shards, exchanges=depth - 1),
            watermarks=tuple(sorted(state.committed.watermarks.items())),
            backfilling=tuple(sorted(relation.relation_id for relation in creating)),
        )
        reach("epoch.describe")
        write_descriptor(self._data_dir, descriptor)
        try:
            report = self._runner.run(descriptor, depth)
        except FragmentFailed as failure:
            self._stop_job(failure)
            return
        if report.cpu_seconds is not None:
            self._runner.shape.measured(rows, report.cpu_seconds)
        self._commit_epoch(descriptor, report, offsets)

    def _next_epoch(self) -> int:
        """Beyond every epoch that was tried: a store refuses an older one than it has begun."""
        self._last_tried = next_epoch(max(self._state.committed.epoch, self._last_tried))
        return self._last_tried

    def _commit_epoch(self, descriptor: EpochDescriptor, report: EpochReport, offsets: Offsets) -> None:
        old = self._state
        watermarks = _running(old, with_reached(old.committed.watermarks, report.watermarks))
        moved = {key for key, value in watermarks.items() if old.committed.watermarks.get(key) != value}
        new = replace(
            old,
            committed=CommittedEpoch(
                descriptor.epoch, descriptor.log_up_to, offsets, watermarks, settled=not _awaits(old, moved)
            ),
            fresh_jobs=frozenset(),
            purge=old.purge - report.purged,
            compactions={k: v for k, v in old.compactions.items() if k not in report.purged},
            errors=_added(old.errors, report.errors),
        )
        for relation in self._creating(old):
            rows, finished = report.backfill.get(relation.relation_id, (0, True))
            self._progress[relation.relation_id] = self._progress.get(relation.relation_id, 0) + rows
            if finished:
                new = with_status(new, relation.relation_id, JobStatus.CREATED)
                if old.jobs[relation.relation_id].awaits:  # watermarks count for it from now on
                    new = replace(new, committed=replace(new.committed, settled=False))
                self._progress.pop(relation.relation_id, None)
        self._states.commit(old, new)
        self.work.add(report.work)
        self._unpublished = new
        self._publish()

    def _publish(self) -> None:
        """Lets an epoch that is durable be read. If that fails it is tried again, and the epoch stays committed."""
        new = self._unpublished
        if new is None:
            return
        reach("epoch.publish")
        view = self._store.open_read_view(new.committed.epoch)
        with self._changed:
            self._state, self._unpublished = new, None
            previous, self._view = self._view, view
            self._changed.notify_all()
        previous.mark_outdated()
        previous.release()
        self._cut_old_views()
        self.log.committed(new.committed.lsn)

    def _stop_job(self, failure: FragmentFailed) -> None:
        """Takes a job that cannot go on, and what reads it, out of the graph; the others go on."""
        LOG.error("job %d failed: %s", failure.job_id, failure.error)
        old = self._state
        new, failures = without_failed(old, failure)
        self._failures.update(failures)
        self._commit(old, new)

    def _write_graph(self, state: MetaState) -> None:
        try:
            reach("graph.write")
            graph_path(self._data_dir, state.graph_version).write_bytes(encode_graph(state.graph()))
            graph_path(self._data_dir, state.graph_version - 2).unlink(missing_ok=True)
        except OSError as error:
            raise disk_failure("cannot write the stream graph", error) from error

    def _give_up(self, reason: str) -> None:
        with self._changed:
            self._fatal = reason
            self._changes.refuse(f"the engine has stopped: {reason}")
            self._changed.notify_all()


def _running(state: MetaState, watermarks: Mapping[int, int]) -> Mapping[int, int]:
    """The watermarks that a job still makes."""
    made = {watermark for job in state.jobs.values() for watermark in job.watermarks}
    return watermarks if watermarks.keys() <= made else {k: v for k, v in watermarks.items() if k in made}


def _awaits(state: MetaState, moved: set[int]) -> bool:
    """Whether a job holds rows back for one of the watermarks."""
    return bool(moved) and any(moved.intersection(job.awaits) for job in state.jobs.values())


def _added(counts: Mapping[int, int], more: Mapping[int, int]) -> Mapping[int, int]:
    if not more:
        return counts
    return {key: counts.get(key, 0) + more.get(key, 0) for key in counts.keys() | more.keys()}
