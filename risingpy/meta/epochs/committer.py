"""Makes a readable epoch of a report: first the new state becomes durable, then it is published.

The order is what recovery depends on:

1. Every shard has committed its own transaction for the epoch, with an undo record. Nobody reads these rows yet.
2. The meta store's transaction is the commit point: epoch, log position and offsets become durable together.
3. The read view opens on all shards, and statements that wait for this epoch see it.
4. The log up to the epoch's position is deleted: no recovery can need it any more.

After a crash before step 2, every shard undoes the epoch, and its part of the log runs again. After step 2, no crash
loses anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from risingpy.executors.epoch.descriptor import graph_path
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.backfill_progress import BackfillProgress
from risingpy.meta.epochs.epoch_times import EpochClock, EpochPhase, EpochTimes
from risingpy.meta.epochs.failed_jobs import without_failed
from risingpy.meta.epochs.followers import Followers, changelogs_of
from risingpy.meta.epochs.graph_changes import NO_ROWS, LoggedRows
from risingpy.meta.epochs.next_epoch import NextEpoch, creating
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.recovered_jobs import with_started
from risingpy.meta.epochs.rejected_messages import RejectedMessages
from risingpy.meta.epochs.result import state_after
from risingpy.meta.epochs.runner import EpochReport, with_steps
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.epochs.work_since_start import WorkSinceStart
from risingpy.meta.of_graph import OfGraph
from risingpy.meta.own_pace.set_aside import with_position, with_rejoined, with_set_aside
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog, unique_keys_of
from risingpy.meta.writing.rows_of_change import RowsOfChange
from risingpy.plan.catalog import Catalog
from risingpy.plan.graph_codec import GraphWriter
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.engine.meta_store import MetaTransaction
from risingpy.storage.fault_points import reach
from risingpy.storage.journal.entries import EpochCommit

LOG = logging.getLogger(__name__)


class Committer:
    """For the barrier loop's thread; any thread may read `backfills`, `work`, `times` and `rejected`."""

    def __init__(
        self,
        data_dir: Path,
        durable: DurableState,
        published: PublishedState,
        waiters: Waiters,
        log: DmlLog,
        rejected: RejectedMessages,
    ) -> None:
        self._data_dir = data_dir
        self._durable = durable
        self._published = published
        self._waiters = waiters
        self._log = log
        self.backfills = BackfillProgress()
        self._graph_writer = GraphWriter()
        self.work = WorkSinceStart()
        self.times = EpochTimes()
        self.rejected = rejected
        self.followers = Followers()
        self.trimming = Trimming(waiters.wake)
        self._changelogs = OfGraph(lambda state: changelogs_of(state.jobs.values()))
        self._changed_logs: frozenset[int] = frozenset()  # by epochs that are not published yet
        self._followers_of_catalogs: tuple[Callable[[Catalog], None], ...] = ()
        self._told = published.state.catalog
        waiters.at_end(self.followers.wake_all)
        state, view = published.acquire_view()
        self.backfills.found(state, view)
        view.release()
        self._write_graph(published.state)

    def tell_of_catalogs(self, follow: Callable[[Catalog], None]) -> None:
        """Has `follow` called with the published catalog, and with each later one as soon as it is published."""
        self._followers_of_catalogs += (follow,)
        follow(self._published.state.catalog)

    def commit_epoch(self, epoch: NextEpoch, report: EpochReport, clock: EpochClock) -> None:
        """Makes the state after the epoch durable, which commits the epoch, and publishes it."""
        old = self._published.state
        steps = [report for result in epoch.completed.values() for report in result.done.reports]
        report = with_steps(report, steps) if steps else report
        new = state_after(old, epoch, report)
        self._note_backfills(new, report)
        rejected = self.rejected.noted(report.rejected)
        done = epoch.descriptor
        commit = EpochCommit(done.epoch, done.log_up_to, done.shards, report.deltas)

        def write(txn: MetaTransaction) -> None:
            rejected.write(txn)
            txn.commits(commit)

        self._durable.commit(old, new, write)
        self.trimming.done(epoch.descriptor.trim)
        self._trim_feeds(new, epoch.completed)
        self.work.add(report.work)
        self.rejected.keep(rejected)
        self._changed_logs |= self._changed_by(report, old)
        self._published.add(new)
        clock.done(EpochPhase.COMMIT)
        self.times.committed(epoch, clock)  # who waits for the epoch finds it in rw_epochs
        self.publish()
        self.times.published(clock)

    def publish(self) -> None:
        """Publishes the committed epoch if it is not yet published, and deletes the part of the log that it has."""
        published = self._published.publish()
        if published is not None:
            self._waiters.published()
            self.followers.wake(self._changed_logs)
            self._changed_logs = frozenset()
            self._log.committed(published.committed.lsn)
            self._tell()

    def commit_layout(
        self, old: MetaState, new: MetaState, also: Callable[[MetaTransaction], None], lay_out: Callable[[], None]
    ) -> None:
        """Makes the state on other shards durable, has `lay_out` take these, and publishes it: an epoch of its own."""
        self._write_graph(new)
        self._durable.commit(old, new, also)
        lay_out()
        self._published.add(new)
        self.publish()

    def commit_change(self, old: MetaState, new: MetaState, rows: LoggedRows = NO_ROWS) -> None:
        """Makes a changed graph or catalog of the same epoch durable, with the rows, and publishes it."""
        if new.graph_version != old.graph_version:
            self._write_graph(new)
            self.work.keep_only(new.graph())
        if rows.changes:
            self._commit_with_rows(old, new, rows)
        else:
            self._durable.commit(old, new, encoded=self._graph_writer.encoded)
        reach("change.publish")
        self._publish_change(new)

    def _publish_change(self, new: MetaState) -> None:
        self._published.replace(new)
        self.followers.wake_all()
        self._tell()

    def _commit_with_rows(self, old: MetaState, new: MetaState, rows: LoggedRows) -> None:
        """Makes a change and its rows durable in one transaction of the meta store; then the log gets the rows, too.

        If the log cannot be written after that, the change is there nevertheless, and the next start has its rows.
        """
        is_durable = False

        def commit(group: RowsOfChange) -> None:
            nonlocal is_durable
            self._durable.commit(old, new, group.write, encoded=self._graph_writer.encoded)
            is_durable = True
            try:
                reach("change.log")
            except OSError as error:
                raise disk_failure("cannot write the log", error) from error

        try:
            self._log.append(
                rows.changes, keys=rows.keys, unique_keys=unique_keys_of(new.catalog, rows.changes), first=commit
            )
        except BaseException:
            if is_durable:
                self._publish_change(new)
            raise

    def take_over(self, new: MetaState) -> None:
        """Publishes what another server has committed, and what this server's stores have now."""
        if new.committed.epoch > self._published.state.committed.epoch:
            self._published.add(new)
            self._published.publish()
            self._waiters.published()
        else:
            self._published.replace(new)
        self.followers.wake_all()
        self._tell()

    def set_aside(self, job_id: int, reason: str, *, level: int = logging.WARNING) -> bool:
        """Has a job go on in epochs of its own, since it took too long, mostly; False if it cannot."""
        old = self._published.state
        new = with_set_aside(old, job_id, reason)
        if new is None:
            return False
        LOG.log(level, "%s is set aside: %s", _name_of(old, job_id), reason)
        self.commit_change(old, new)
        return True

    def start_recovered(self) -> None:
        """Has the jobs run again that were to be recovered, and can start now. To be called between two epochs."""
        old = self._published.state
        new = with_started(old)
        if new is not old:
            self.commit_change(old, new)

    def rejoin(self, job_id: int) -> None:
        """Has a job that has caught up run with the others again. To be called between two epochs."""
        old = self._published.state
        LOG.info("%s has caught up", _name_of(old, job_id))
        self.commit_change(old, with_rejoined(old, job_id))

    def has_kept_changes(self, job_id: int, report: EpochReport) -> bool:
        """Whether an epoch, of this report, has changed what a job reads that is set aside."""
        state = self._published.state
        feeds = set(state.set_aside[job_id].feeds.values())
        return not feeds.isdisjoint(self._changed_by(report, state))

    def _changed_by(self, report: EpochReport, state: MetaState) -> frozenset[int]:
        """The tables of the changelogs that an epoch has added to."""
        changelogs = self._changelogs(state)
        return frozenset(changelogs[at] for work in report.work for at in changelogs.keys() & work.keys())

    def reached(self, positions: Mapping[int, int]) -> None:
        """Jobs that are set aside have looked at all changes up to these epochs: there was nothing for them."""
        if not positions:
            return
        state = self._published.state
        for job_id, position in positions.items():
            if job_id in state.set_aside:
                state = with_position(state, job_id, position)
        self._published.replace(state)  # not durable: after a crash they look again

    def _trim_feeds(self, state: MetaState, job_ids: Iterable[int]) -> None:
        """Has the changes deleted that jobs which are set aside have taken."""
        for job_id in job_ids:
            for subscription_id in state.set_aside[job_id].feeds.values():
                self.trimming.up_to(subscription_id, state.set_aside[job_id].position)

    def stop_job(self, failure: FragmentFailed) -> None:
        """Removes a failed job, and all that read it, from the graph. The other jobs continue."""
        old = self._published.state
        new, failures = without_failed(old, failure)
        LOG.error("%s failed: %s", _name_of(old, failure.job_id), failures.get(failure.job_id, failure.error))
        self._waiters.failed(failures)
        self.commit_change(old, new)

    def _tell(self) -> None:
        catalog = self._published.state.catalog
        if catalog is not self._told:
            self._told = catalog
            for follow in self._followers_of_catalogs:
                follow(catalog)

    def _note_backfills(self, new: MetaState, report: EpochReport) -> None:
        going_on = [relation.relation_id for relation in creating(new)]
        if going_on or self.backfills.jobs:
            self.backfills.read(going_on, {job: rows for job, (rows, _) in report.backfill.items()})

    def _write_graph(self, state: MetaState) -> None:
        try:
            reach("graph.write")
            graph_path(self._data_dir, state.graph_version).write_bytes(self._graph_writer.write(state.graph()))
            graph_path(self._data_dir, state.graph_version - 2).unlink(missing_ok=True)
        except OSError as error:
            raise disk_failure("cannot write the stream graph", error) from error


def _name_of(state: MetaState, job_id: int) -> str:
    """What messages call a job."""
    relation = state.catalog.relations.get(job_id)
    return f"job {job_id}" if relation is None else f'{relation.noun} "{relation.name}"'
