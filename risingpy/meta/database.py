"""The database as sessions see it: the catalog, reads at committed epochs, durable writes, schema changes.

Everything here may be called from any thread. What blocks takes a `cancelled` event and raises QueryCanceled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from risingpy.executors.expression.query_engines import QueryEngines
from risingpy.executors.operator_work import OperatorPosition, OperatorWork
from risingpy.meta import ddl, schema_change
from risingpy.meta.backup import back_up
from risingpy.meta.barriers import BarrierLoop
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.dml_log import DmlLog, TableChange, refuse_stale
from risingpy.meta.epoch_runner import EpochRunner
from risingpy.meta.graph_changes import GraphChange
from risingpy.meta.identity_counters import IdentityCounters
from risingpy.meta.indexes import NewIndex, add_index
from risingpy.meta.internal_tables import internal_tables
from risingpy.meta.new_jobs import gone_if_cancelled, wait_for_job
from risingpy.meta.opening import open_directory
from risingpy.meta.planned_ahead import PlannedAhead
from risingpy.meta.schema_change import NewName, TableReplacement
from risingpy.meta.source_offsets import SourceOffsets, reached
from risingpy.meta.state import MetaState
from risingpy.meta.state_store import RowIds
from risingpy.meta.system_parameters import shown_parameters
from risingpy.meta.table_locks import LockMode, TableLocks
from risingpy.optimizer.catalog import Catalog, JobStatus, Relation
from risingpy.storage.log_spill import Spill
from risingpy.storage.state_store import ReadView
from risingpy.storage.write_ahead_log import log_directory


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
        self._states = opened.states
        self._initial = opened.state
        self._store = opened.store
        self._row_ids = RowIds(self._meta_store)
        self._row_id_guard = threading.Lock()
        self.identity_counters = IdentityCounters(self._meta_store, data_dir)
        self.query_engines = QueryEngines(data_dir)
        self.locks = TableLocks()
        self._sources = SourceOffsets()
        self._loop: BarrierLoop
        self._catalog: tuple[Catalog, Catalog] | None = None  # the state's, and the same with internal tables

    def start(self, runner: EpochRunner) -> None:
        """Starts the barrier loop, whose first epoch waits until `runner` has been started too."""
        self._loop = BarrierLoop(
            data_dir=self.data_dir,
            state=self._initial,
            states=self._states,
            store=self._store,
            runner=runner,
            sources=self._sources,
        )
        self._log = DmlLog(log_directory(self.data_dir), self._initial.committed.lsn, self._loop.wake)
        self._left_behind = self._log.last_lsn
        self._loop.start(self._log)

    def close(self) -> None:
        """Stops after the running epoch and gives the directory free."""
        self._loop.stop()
        self.query_engines.close()
        self.identity_counters.close()
        self._log.close()
        self._store.close()
        self._meta_store.close()

    # State and reads

    @property
    def state(self) -> MetaState:
        return self._loop.state

    @property
    def catalog(self) -> Catalog:
        return self._readable(self._loop.state)

    @property
    def committed_epoch(self) -> int:
        return self._loop.state.committed.epoch

    @property
    def initial_epoch(self) -> int:
        """The committed epoch with which the directory was opened."""
        return self._initial.committed.epoch

    @property
    def fatal(self) -> str | None:
        """Why the barrier loop has given up, if it has."""
        return self._loop.fatal

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
        state, view = self._loop.acquire_view()
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
        _, view = self._loop.acquire_view()
        try:
            return view.rows_of(table_id)
        finally:
            view.release()

    def wait_for_lsn(self, lsn: int, cancelled: Cancelled = None) -> None:
        """Waits until the epoch that holds the log up to `lsn` is committed and readable."""
        self._loop.wait_until(lambda state: state.committed.lsn >= lsn, cancelled)

    def flush(self, cancelled: Cancelled = None) -> int:
        """Waits until everything that was logged, and that the sources had, is in every view; returns the epoch."""
        lsn = self._log.last_lsn
        target = self._sources.newest(self.state)
        self._loop.wake()
        state = self._loop.wait_until(
            lambda state: state.committed.lsn >= lsn and reached(state.committed.offsets, target), cancelled
        )
        return self._settled(state, cancelled).committed.epoch

    def _settled(self, state: MetaState, cancelled: Cancelled) -> MetaState:
        """Waits until watermarks that the state has reached have let go what they held back."""
        if state.committed.settled:
            return state
        return self._loop.wait_until(lambda later: later.committed.epoch > state.committed.epoch, cancelled)

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

    # Schema changes: see ddl.py

    def create_table(self, table: ddl.NewTable, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates a table; False if it exists and `if_not_exists`."""
        return self._create(
            table.schema_name, table.name, if_not_exists, lambda state: ddl.add_table(state, table), cancelled
        )

    def create_view(
        self, view: ddl.NewView, *, if_not_exists: bool = False, or_replace: bool = False, cancelled: Cancelled = None
    ) -> bool:
        """Creates a plain view; False if it exists and `if_not_exists`."""

        def add(state: MetaState) -> MetaState:
            return ddl.add_view(state, view, or_replace=or_replace)

        return self._create(view.schema_name, view.name, if_not_exists, add, cancelled)

    def create_source(self, source: ddl.NewSource, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates an external source; False if it exists and `if_not_exists`."""
        return self._create(
            source.schema_name, source.name, if_not_exists, lambda state: ddl.add_source(state, source), cancelled
        )

    def create_materialized_view(
        self, view: ddl.NewMaterializedView, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> tuple[bool, tuple[str, ...]]:
        """Creates a view and returns when it has its upstreams' rows: (created, notices).

        Cancelled, or failing, it leaves nothing behind.
        """
        made: list[tuple[int, tuple[str, ...]]] = []
        planned = PlannedAhead(
            lambda state: ddl.add_materialized_view(state, view, self.table_rows, check_of(cancelled)),
            self.state,
        )

        def add(state: MetaState) -> MetaState:
            after, told = planned.on(state)
            made.append(told)
            return after

        if not self._create(view.schema_name, view.name, if_not_exists, add, cancelled):
            return False, ()
        relation_id, notices = made[0]
        with gone_if_cancelled(self._loop, relation_id):
            wait_for_job(self._loop, relation_id, cancelled)
            # A source has no snapshot to backfill from: its rows so far come with the view's first epochs.
            target = {job: ends for job, ends in self._sources.newest(self.state).items() if job == relation_id}
            self._settled(
                self._loop.wait_until(lambda state: reached(state.committed.offsets, target), cancelled), cancelled
            )
        return True, notices

    def create_index(self, index: NewIndex, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates an index and returns when it has all rows; False if it exists and `if_not_exists`."""
        made: list[int] = []

        def add(state: MetaState) -> MetaState:
            after, index_id = add_index(state, index)
            made.append(index_id)
            return after

        created = self._create(index.relation.schema_name, index.name, if_not_exists, add, cancelled)
        if created:
            with gone_if_cancelled(self._loop, made[0]):
                wait_for_job(self._loop, made[0], cancelled)
        return created

    def drop(
        self,
        names: Sequence[ddl.DropTarget],
        *,
        if_exists: bool,
        cascade: bool,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        """Drops relations; returns notices. Raises DependentObjectsStillExist if others need them."""
        tables = {relation.relation_id for relation in ddl.drop_targets(self.state, names)}
        with self.locks.held(tables, LockMode.ALONE, cancelled, process_id=process_id):
            return self._notices_of(
                lambda state: ddl.drop_relations(state, names, if_exists=if_exists, cascade=cascade), cancelled
            )

    def replace_table(self, change: TableReplacement, cancelled: Cancelled = None) -> tuple[str, ...]:
        """ALTER TABLE: the table in its new form; returns notices. The caller holds `table_lock`, and has waited.

        Raises SerializationFailure if the table was altered since the change was planned.
        """
        return self._notices_of(lambda state: schema_change.replace_table(state, change), cancelled)

    def rename(self, change: NewName, cancelled: Cancelled = None) -> None:
        """Gives a relation another name or schema."""
        self._loop.change(lambda state: schema_change.rename(state, change), cancelled)

    def change(self, change: GraphChange, cancelled: Cancelled = None) -> None:
        """Applies a change of another module's between two epochs (`function_ddl`, `system_parameters`)."""
        self._loop.change(change, cancelled)

    def create_schema(self, name: str, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates a schema; False if it exists and `if_not_exists`."""
        created = True

        def add(state: MetaState) -> MetaState:
            nonlocal created
            created = not (if_not_exists and name in state.catalog.schemas)
            return ddl.add_schema(state, name) if created else state

        self._loop.change(add, cancelled)
        return created

    def backup(self, target: Path, cancelled: Cancelled = None) -> int:
        """Copies the database, as it is at one committed epoch, to a new directory; returns the epoch."""

        def change(between_epochs: GraphChange) -> MetaState:
            return self._loop.change(between_epochs, cancelled)

        return back_up(target, self.data_dir, change, self._store, self._meta_store, check_of(cancelled))

    def drop_schema(
        self,
        name: str,
        *,
        if_exists: bool,
        cascade: bool,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        """Drops a schema; returns notices."""
        relations = self.state.catalog.relations.values()
        tables = {each.relation_id for each in relations if cascade and each.schema_name == name}
        with self.locks.held(tables, LockMode.ALONE, cancelled, process_id=process_id):
            return self._notices_of(
                lambda state: ddl.drop_schema(state, name, if_exists=if_exists, cascade=cascade), cancelled
            )

    def _notices_of(
        self,
        change: Callable[[MetaState], tuple[MetaState, Sequence[str]]],
        cancelled: Cancelled = None,
    ) -> tuple[str, ...]:
        """Has `change` applied between two epochs, and returns its notices."""
        notices: Sequence[str] = ()

        def apply(state: MetaState) -> MetaState:
            nonlocal notices
            after, notices = change(state)
            return after

        self._loop.change(apply, cancelled)
        return tuple(notices)

    def _create(
        self,
        schema_name: str,
        name: str,
        if_not_exists: bool,
        change: GraphChange,
        cancelled: Cancelled = None,
    ) -> bool:
        created = True

        def add(state: MetaState) -> MetaState:
            nonlocal created
            created = not (if_not_exists and state.catalog.find(name, schema_name, ()) is not None)
            return change(state) if created else state

        self._loop.change(add, cancelled)
        return created

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
        rows = self._loop.backfilled_rows
        for relation in self.catalog.relations.values():
            if relation.status is JobStatus.CREATING:
                yield relation, rows.get(relation.relation_id, 0)

    def operator_work(self) -> Mapping[OperatorPosition, OperatorWork]:
        """What each running operator has done since the server started."""
        return self._loop.work.totals()

    def read_views(self) -> Sequence[ReadView]:
        """The committed epochs that somebody reads, the oldest first."""
        return self._store.views()

    def job_errors(self) -> Mapping[int, int]:
        """Per relation, how many expressions failed and became NULL."""
        return dict(self.state.errors)
