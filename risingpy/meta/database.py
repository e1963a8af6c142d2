"""The database: the server opens it, and sessions use its parts.

`Database` itself only opens, holds and closes the parts:

    reads          the newest committed state, and waiting for a later one
    writes         the log, the locks of tables, ids of rows
    ddl            CREATE, ALTER and DROP
    changelogs     what followed relations and sinks have changed, epoch by epoch
    sinks          their delivery to other systems
    subscriptions  what subscriptions have kept for clients
    vector_indexes  the graphs that find the rows nearest to a vector
    sessions       who the clients are, what each runs, and how long statements took
    vault          seals and opens secrets
    introspection  facts about the running database, for SHOW and system relations
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

from risingpy.connectors.pushed import AlteredOriginal
from risingpy.connectors.secrets.vault import Vault, default_key_file
from risingpy.errors import SqlError
from risingpy.functions.evaluation.query_engines import MOST_QUERIES, QueryEngines
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.changelogs.reader import ChangelogReader
from risingpy.meta.durable_state import RowIds
from risingpy.meta.epochs.barrier_loop import PATIENT, BarrierLoop, EpochRetries
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.graph_changes import GraphChange, GraphChanges, TakesChanges
from risingpy.meta.epochs.published_state import PublishedState, ReadableState
from risingpy.meta.epochs.rejected_messages import RejectedMessages
from risingpy.meta.epochs.rescaling import Rescaling
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.meta.epochs.scheduler import EpochScheduler
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.feeds.feeds import Feeds
from risingpy.meta.following.followed_state import FollowedState
from risingpy.meta.following.following_loop import FollowingLoop
from risingpy.meta.introspection import Introspection
from risingpy.meta.own_pace.jobs import OwnPaceJobs
from risingpy.meta.own_pace.refreshes import RefreshCommand
from risingpy.meta.reads import Reads
from risingpy.meta.recovery.backup import back_up
from risingpy.meta.recovery.opening import OpenedDirectory, open_directory, open_followed
from risingpy.meta.schema.altered_copy import alter_copy
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.meta.schema.drafts.draft import Draft, Hold
from risingpy.meta.schema.drafts.drafted_commands import DraftedCommands
from risingpy.meta.schema.recovering import RecoverCommand
from risingpy.meta.schema.sinks import with_failed_sink
from risingpy.meta.schema.system_parameters import with_parallelism
from risingpy.meta.sessions import Sessions
from risingpy.meta.sinks.delivered_epochs import DeliveredEpochs
from risingpy.meta.sinks.deliveries import SinkDeliveries
from risingpy.meta.sinks.delivery import DeliveryTools
from risingpy.meta.state import MetaState
from risingpy.meta.subscriptions.deleted_epochs import DeletedEpochs
from risingpy.meta.subscriptions.reader import SubscriptionReader
from risingpy.meta.subscriptions.retention import SubscriptionRetention
from risingpy.meta.vector_indexes.graphs import VectorIndexes
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.meta.writing.rows_of_change import rows_of_last_change
from risingpy.meta.writing.sequence_counters import SequenceCounters
from risingpy.meta.writing.table_locks import TableLocks
from risingpy.meta.writing.writes import Writes
from risingpy.plan.catalog import DEFAULT_DATABASE_ID
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.log.write_ahead_log import log_directory
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning


class Database:
    """One data directory, which this process has opened for writing.

    All sessions' threads share it; only the server calls `start` and `close`. `query_engines` are DuckDB's, one per
    session.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        parallelism: int,
        tuning: StoreTuning = DEFAULT_TUNING,
        key_file: Path | None = None,
        state_uri: str | None = None,
        followed_uri: str | None = None,
        most_queries: int = MOST_QUERIES,
    ) -> None:
        """Recovers the directory: undoes changes that were not committed, and finds the log's pending rows.

        `parallelism` is the number of shards of a new directory; an old one keeps its own. `key_file` has the key of
        secrets; it is made when it is needed (None: beside the directory). With a `state_uri`, the database is there,
        and the directory is a cache of it; so it is with a `followed_uri`, for `start_following`: another server leads.
        Raises DataDirectoryInUse if another server has it, IoError if a file is damaged.
        """
        self.vault = Vault(default_key_file(data_dir) if key_file is None else key_file)
        opened = _opened(data_dir, parallelism, self.vault, tuning, state_uri, followed_uri)
        self._shared = shared = opened.shared
        self._followed, self._states = opened.followed, opened.states
        self.data_dir, self.initial_epoch = data_dir, opened.state.committed.epoch
        self.query_engines = QueryEngines(data_dir, most=most_queries)
        self._meta_store, self._store = opened.meta_store, opened.store
        refuse = _refuse_nobody if shared is None else shared.refuse_unconfirmed
        self._published = PublishedState(opened.state, opened.store, refuse)
        self._compactor = None if shared is None else shared.compactor(self._acquire_view)
        self._waiters = Waiters(self._published)
        self._sources = SourceOffsets(self.vault, self._waiters.wake)
        self._changes = GraphChanges(self._waiters)
        self._log = self._open_log(opened, tuning)
        rejected = RejectedMessages(opened.meta_store)
        self._feeds = Feeds(self._published, self._waiters, self._log, rejected, self.vault, self._alter_copy)
        self._committer = Committer(data_dir, opened.states, self._published, self._waiters, self._log, rejected)
        self._rescaling = Rescaling(self._published, self._committer, self._store, shared)
        self.changelogs = ChangelogReader(self._published, self._waiters, self._committer.followers)
        self.reads = Reads(self._published, self._waiters, self._log, self._sources, self._feeds)
        self._delivered = DeliveredEpochs(opened.meta_store)
        self.sinks = self._open_sinks()
        self.subscriptions, self._retention, self.vector_indexes = self._open_subscriptions()
        self._sequences = SequenceCounters(opened.meta_store)
        self.sessions = Sessions()
        self._loop: BarrierLoop | FollowingLoop | None = None
        self.database_id = DEFAULT_DATABASE_ID
        self._seen: dict[int, Database] = {DEFAULT_DATABASE_ID: self}
        self.writes = self._open_writes()
        self.ddl = self._open_ddl(SchemaCommands, self._published, self._changes)
        self.recovery = RecoverCommand(self._changes, self._waiters)
        self.introspection = self._open_introspection()

    @property
    def refreshes(self) -> RefreshCommand:
        """REFRESH MATERIALIZED VIEW."""
        return RefreshCommand(self._changes, self._waiters)

    def start(self, runner: EpochRunner, retries: EpochRetries = PATIENT) -> None:
        """Starts the barrier loop and `runner`. The first epoch waits until the runner has started."""
        self._loop = BarrierLoop(
            data_dir=self.data_dir,
            published=self._published,
            waiters=self._waiters,
            changes=self._changes,
            scheduler=EpochScheduler(self._log, self._sources, self._committer.trimming),
            committer=self._committer,
            runner=runner,
            own_pace=OwnPaceJobs(self.data_dir, self._published.state, self._waiters.wake),
            rescaling=self._rescaling,
            retries=retries,
        )
        self._loop.start()
        if self._compactor is not None:
            self._compactor.start()
        self._delivered.keep_only(self._published.state.catalog.relations.keys())
        self._sequences.keep_only(self._published.state.catalog)
        self._committer.tell_of_catalogs(
            lambda catalog: self._committer.rejected.keep_only({*catalog.relations, *catalog.sources})
        )
        for follow in (self._feeds.follow, self.sinks.follow, self._retention.follow, self.vector_indexes.follow):
            self._committer.tell_of_catalogs(follow)

    def start_following(self) -> None:
        """Starts to take over what the server that leads commits."""
        assert self._followed is not None
        self._loop = FollowingLoop(
            self._followed, self._meta_store, self._states, self._published, self._committer, self._store
        )
        self._loop.start()

    @property
    def shards(self) -> int:
        """How many there are."""
        return self._store.shards

    @property
    def followed(self) -> FollowedState | None:
        """The shared storage that this server only reads, if another one leads it."""
        return self._followed

    @property
    def seconds_behind(self) -> float | None:
        """How long ago this server had all that the leader had committed; None if no other one leads."""
        return self._loop.seconds_behind if isinstance(self._loop, FollowingLoop) else None

    def seen_from(self, database_id: int) -> Database:
        """The same, as sessions of another of its databases see it: names of relations are those of that one."""
        known = self._seen.get(database_id)
        if known is not None:
            return known
        seen = copy.copy(self)
        seen.database_id = database_id
        seen.reads, seen.ddl = self.reads.seen_from(database_id), self.ddl.seen_from(database_id)
        return self._seen.setdefault(database_id, seen)

    def draft(self, hold: Hold) -> Draft:
        """A draft of changes of the schema, for one transaction; `hold` locks what it changes."""
        return Draft(self._published, self._changes, hold)

    def drafted(self, draft: Draft) -> Database:
        """The same, as the session of a draft sees it: CREATE, ALTER and DROP change the draft alone."""
        seen = copy.copy(self)
        seen.reads = self.reads.on_draft(draft)
        seen.ddl = self._open_ddl(DraftedCommands, draft, draft).seen_from(self.database_id)
        seen.ddl.jobs = self.ddl.jobs
        return seen

    def until_created(self, relation_ids: Sequence[int], cancelled: Cancelled = None) -> None:
        """Waits until new jobs have their upstreams' rows. Raises the error of one that has failed."""
        self._waiters.until_all_created(relation_ids, cancelled)

    def rescale(self, shards: int, cancelled: Cancelled = None) -> bool:
        """Has the state moved to a number of shards. False if that has to wait: for a job in creation, or a start."""
        self._rescaling.try_again()
        self.ddl.change(lambda state: with_parallelism(state, shards), cancelled)
        state = self._waiters.until(lambda state: not self._rescaling.is_due(state), cancelled)
        return not state.wanted_shards

    @property
    def stalled(self) -> str | None:
        """Why epochs have failed for minutes; None if they get on. The barrier loop goes on trying."""
        return self._waiters.stalled

    @property
    def is_shared(self) -> bool:
        """Whether the database is in shared storage, and the directory a cache of it."""
        return self._shared is not None

    @property
    def shared_place(self) -> tuple[str, str, ObjectStore] | None:
        """Of a database in shared storage: its URI, its mark, and its objects."""
        shared = self._shared
        return None if shared is None else (shared.uri, shared.cluster, shared.objects)

    @property
    def lost(self) -> SqlError | None:
        """Why this process may not go on with the database: another one leads. Only where the state is shared."""
        if isinstance(self._loop, FollowingLoop):
            return self._loop.lost
        return None if self._shared is None else self._shared.lost

    def backup(self, target: Path, cancelled: Cancelled = None) -> int:
        """Copies the database, as it is at one committed epoch, to a new directory; returns the epoch."""

        def change(between_epochs: GraphChange) -> MetaState:
            return self._changes.apply(between_epochs, cancelled)

        return back_up(
            target,
            self.data_dir,
            change,
            self._store,
            self._meta_store,
            lambda: self._log.last_lsn,
            check_of(cancelled),
        )

    def close(self) -> None:
        """Stops after the running epoch and the running deliveries, and releases the directory."""
        if self._compactor is not None:
            self._compactor.close()
        self.writes.group_commit.close()
        self.sinks.close()
        self._feeds.close()
        self._retention.close()
        self.vector_indexes.close()
        if self._loop is not None and not self._loop.stop():
            return  # its thread still uses the stores: the process's end releases them
        self._sources.close()
        self._published.close()
        self.query_engines.close()
        try:
            self._sequences.close()
        except SqlError:
            if self.lost is None and self._followed is None:
                raise
        self._log.close()
        self._store.close()
        self._meta_store.close()
        if self._shared is not None:
            self._shared.close()

    def _acquire_view(self) -> ReadView:
        return self._published.acquire_view()[1]

    def _open_introspection(self) -> Introspection:
        return Introspection(
            self.data_dir,
            self.reads,
            self._store,
            self._log,
            self._committer,
            self._sources,
            self._feeds,
            self.query_engines,
            lambda: self.seconds_behind,
        )

    def _open_log(self, opened: OpenedDirectory, tuning: StoreTuning) -> DmlLog:
        of_change = rows_of_last_change(opened.meta_store) if opened.followed is None else None
        truth = opened.shared or opened.followed
        return DmlLog(
            *(log_directory(self.data_dir), opened.state.committed.lsn, self._waiters.wake, tuning, truth),
            of_change=of_change,
        )

    def _open_writes(self) -> Writes:
        return Writes(
            self._published,
            self._log,
            locks=TableLocks(),
            row_ids=RowIds(self._meta_store),
            sequences=self._sequences,
            until_lsn=self.reads.wait_for_lsn,
        )

    def _open_sinks(self) -> SinkDeliveries:
        trimming, size = self._committer.trimming, self.reads.table_bytes
        tools = DeliveryTools(self.changelogs, self._delivered, trimming, self.vault, size, self._give_up)
        return SinkDeliveries(tools, lambda: self.reads.catalog)

    def _open_ddl(
        self, commands: type[SchemaCommands], published: ReadableState, changes: TakesChanges
    ) -> SchemaCommands:
        return commands(
            published=published,
            waiters=self._waiters,
            changes=changes,
            locks=self.writes.locks,
            source_offsets=self._sources,
            feeds=self._feeds,
            vault=self.vault,
            table_rows=self.reads.table_rows,
        )

    def _open_subscriptions(self) -> tuple[SubscriptionReader, SubscriptionRetention, VectorIndexes]:
        deleted = DeletedEpochs(self._meta_store)
        trimming, size, wake = self._committer.trimming, self.reads.table_bytes, self._waiters.wake
        retention = SubscriptionRetention(self._published, deleted, trimming, size, wake)
        reader = SubscriptionReader(self._published, self.changelogs, deleted)
        indexes = VectorIndexes(self._published, self.changelogs, reader, trimming, lambda: self.ddl)
        return reader, retention, indexes

    def _alter_copy(self, altered: AlteredOriginal, cancelled: Cancelled) -> str | None:
        with self.writes.table_lock(altered.table_id, cancelled):
            self._waiters.until_lsn(self._log.last_lsn, cancelled)
            return alter_copy(self._changes, altered, cancelled)

    def _give_up(self, sink_id: int, reason: str) -> None:
        self._changes.submit(lambda state: with_failed_sink(state, sink_id, reason))


def _opened(
    data_dir: Path, parallelism: int, vault: Vault, tuning: StoreTuning, state_uri: str | None, followed_uri: str | None
) -> OpenedDirectory:
    if followed_uri is not None:
        return open_followed(data_dir, vault, followed_uri, tuning)
    return open_directory(data_dir, parallelism, vault, tuning, state_uri)


def _refuse_nobody() -> None:
    """Nobody else can have gone on with a database that lies in its directory."""
