"""The database as sessions see it: the catalog, reads at committed epochs, durable writes.

Schema changes are in `schema_commands.py`.

Everything here may be called from any thread. What blocks takes a `cancelled` event and raises QueryCanceled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from risingpy.functions.evaluation.query_engines import QueryEngines
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.durable_state import RowIds
from risingpy.meta.epochs.barrier_loop import BarrierLoop
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.graph_changes import GraphChange, GraphChanges
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.meta.epochs.scheduler import EpochScheduler
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.recovery.backup import back_up
from risingpy.meta.recovery.opening import open_directory
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.meta.schema.internal_tables import internal_tables
from risingpy.meta.schema.system_parameters import shown_parameters
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog, TableChange, refuse_stale
from risingpy.meta.writing.identity_counters import IdentityCounters
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import Catalog, JobStatus, Relation
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.log.spill import Spill
from risingpy.storage.log.write_ahead_log import log_directory


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalog and the read view of one committed state. Release the view when done."""

    catalog: Catalog
    view: ReadView


class Database:
    """One data directory, opened for writing by this process."""

    def __init__(self, data_dir: Path, *, parallelism: int) -> None:
        """Recovers the directory: undoes what was not committed, finds the log's pending rows.

        `parallelism` is the number of shards of a new directory; an old one keeps its own.
        Raises DataDirectoryInUse if another server has it, IoError if a file is damaged.
        """
        opened = open_directory(data_dir, parallelism)
        self.data_dir = data_dir
        self._meta_store = opened.meta_store
        self._initial = opened.state
        self._store = opened.store
        self._row_ids = RowIds(self._meta_store)
        self._row_id_guard = threading.Lock()
        self.identity_counters = IdentityCounters(self._meta_store, data_dir)
        self.query_engines = QueryEngines(data_dir)
        self.locks = TableLocks()
        self._sources = SourceOffsets()
        self._published = PublishedState(self._initial, self._store)
        self._waiters = Waiters(self._published)
        self._changes = GraphChanges(self._waiters)
        self._log = DmlLog(log_directory(data_dir), self._initial.committed.lsn, self._waiters.wake)
        self._left_behind = self._log.last_lsn
        self._committer = Committer(data_dir, opened.states, self._published, self._waiters, self._log)
        self._loop: BarrierLoop | None = None
        self.ddl = SchemaCommands(
            published=self._published,
            waiters=self._waiters,
            changes=self._changes,
            locks=self.locks,
            sources=self._sources,
            table_rows=self.table_rows,
        )
        self._catalog: tuple[Catalog, Catalog] | None = None  # the state's, and the same with internal tables

    def start(self, runner: EpochRunner) -> None:
        """Starts the barrier loop, whose first epoch waits until `runner` has been started too."""
        self._loop = BarrierLoop(
            data_dir=self.data_dir,
            published=self._published,
            waiters=self._waiters,
            changes=self._changes,
            scheduler=EpochScheduler(self._log, self._sources),
            committer=self._committer,
            runner=runner,
        )
        self._loop.start()

    def close(self) -> None:
        """Stops after the running epoch and gives the directory free."""
        if self._loop is not None:
            self._loop.stop()
        self._published.close()
        self.query_engines.close()
        self.identity_counters.close()
        self._log.close()
        self._store.close()
        self._meta_store.close()

    # State and reads

    @property
    def state(self) -> MetaState:
        return self._published.state

    @property
    def catalog(self) -> Catalog:
        return self._readable(self._published.state)

    @property
    def committed_epoch(self) -> int:
        return self._published.state.committed.epoch

    @property
    def initial_epoch(self) -> int:
        """The committed epoch with which the directory was opened."""
        return self._initial.committed.epoch

    @property
    def fatal(self) -> str | None:
        """Why the barrier loop has given up, if it has."""
        return self._waiters.fatal

    @property
    def shards(self) -> int:
        return self._initial.shards

    @property
    def last_lsn(self) -> int:
        """The position of the last logged change."""
        return self._log.last_lsn

    @property
    def lsn_of_earlier_runs(self) -> int:
        """Where the log ended when the server started; 0 once the epochs have it all.

        A client that comes back after a crash must find what was acknowledged to it, so a session's reads wait for this
        as for its own writes.
        """
        return self._left_behind if self.state.committed.lsn < self._left_behind else 0

    def snapshot(self) -> Snapshot:
        """The newest catalog together with its view, acquired: the caller releases the view."""
        state, view = self._published.acquire_view()
        return Snapshot(self._readable(state), view)

    def _readable(self, state: MetaState) -> Catalog:
        """The state's catalog with the internal tables in it."""
        known = self._catalog  # one pair, replaced whole: other threads may do the same at once
        if known is None or known[0] is not state.catalog:
            known = state.catalog, replace(state.catalog, internal_tables=internal_tables(state))
            self._catalog = known
        return known[1]

    def table_rows(self, table_id: int) -> int:
        """How many rows a table or view has in the newest committed epoch."""
        _, view = self._published.acquire_view()
        try:
            return view.rows_of(table_id)
        finally:
            view.release()

    def wait_for_lsn(self, lsn: int, cancelled: Cancelled = None) -> None:
        """Waits until the epoch that holds the log up to `lsn` is committed and readable."""
        self._waiters.until_lsn(lsn, cancelled)

    def flush(self, cancelled: Cancelled = None) -> int:
        """Waits until everything that was logged, and that the sources had, is in every view; returns the epoch."""
        lsn = self._log.last_lsn
        target = self._sources.newest(self.state)
        self._waiters.wake()
        return self._waiters.until_read(lsn, target, cancelled).committed.epoch

    # Writes

    def table_lock(
        self, table_id: int, cancelled: Cancelled = None, *, process_id: int = 0
    ) -> AbstractContextManager[None]:
        """Holds a table alone: for statements that read before they write. Reentrant in a thread."""
        return self.locks.held((table_id,), LockMode.ALONE, cancelled, process_id=process_id)

    def next_row_ids(self, count: int) -> int:
        """The first of `count` consecutive fresh values for `_row_id`."""
        with self._row_id_guard:
            return self._row_ids.take(count)

    def new_spill(self) -> Spill:
        """A file for rows that are to be written together and are too many for memory."""
        return self._log.spill()

    def write(self, changes: Sequence[TableChange], cancelled: Cancelled = None, *, process_id: int = 0) -> int:
        """Makes the changes durable as one atomic group; returns the lsn to wait for to read them.

        Raises SerializationFailure if a table's definition changed since the statement was planned.
        """
        tables = {change.table_id for change in changes}
        with self.locks.held(tables, LockMode.SHARED, cancelled, process_id=process_id):
            for change in changes:
                refuse_stale(self.catalog, change)
            return self._log.append(changes)

    def backup(self, target: Path, cancelled: Cancelled = None) -> int:
        """Copies the database, as it is at one committed epoch, to a new directory; returns the epoch."""

        def change(between_epochs: GraphChange) -> MetaState:
            return self._changes.apply(between_epochs, cancelled)

        return back_up(target, self.data_dir, change, self._store, self._meta_store, check_of(cancelled))

    # What SHOW and rw_catalog tell

    def parameters(self) -> Mapping[str, str]:
        """System parameters, for SHOW PARAMETERS."""
        return {
            "data_directory": str(self.data_dir),
            **shown_parameters(self.state),
            "committed_epoch": str(self.committed_epoch),
            "data_bytes": str(self._store.size_bytes),
            "log_bytes": str(self._log.bytes_on_disk),
        }

    def ddl_progress(self) -> Iterator[tuple[Relation, int]]:
        """The views that are being created, with the rows that they have read so far."""
        rows = self._committer.backfilled_rows
        for relation in self.catalog.relations.values():
            if relation.status is JobStatus.CREATING:
                yield relation, rows.get(relation.relation_id, 0)

    def operator_work(self) -> Mapping[OperatorPosition, OperatorWork]:
        """What each running operator has done since the server started."""
        return self._committer.work.totals()

    def read_views(self) -> Sequence[ReadView]:
        """The committed epochs that somebody reads, the oldest first."""
        return self._store.views()

    def job_errors(self) -> Mapping[int, int]:
        """Per relation, how many expressions failed and became NULL."""
        return dict(self.state.errors)
