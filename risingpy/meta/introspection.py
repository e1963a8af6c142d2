"""Facts about the running database, for SHOW, EXPLAIN ANALYZE and the relations of rw_catalog. Read only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from risingpy.functions.evaluation.query_engines import QueryEngines
from risingpy.meta.epochs.backfill_progress import JobProgress, scans_of
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.epoch_times import EpochTimes
from risingpy.meta.epochs.number import milliseconds
from risingpy.meta.epochs.rejected_messages import KeptMessage
from risingpy.meta.epochs.source_offsets import FINISHED, SourceOffsets
from risingpy.meta.feeds.feeds import Feeds
from risingpy.meta.memory_use import MemoryUse, memory_use
from risingpy.meta.reads import Reads
from risingpy.meta.schema.system_parameters import shown_parameters
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.catalog import CreatedRelation, ExternalSource, Table
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.storage.engine.read_views import StateStore


@dataclass(frozen=True, slots=True)
class PinnedEpoch:
    """A committed epoch that has readers: their number, since when, and for how long there has been a newer epoch.

    `outdated_seconds` is 0 for the newest epoch, of which the server itself is a reader.
    """

    epoch: int
    holders: int
    age_seconds: float
    outdated_seconds: float | None


@dataclass(frozen=True, slots=True)
class SourceLag:
    """How far a job has read a split, and where this ends; None if it is not known yet.

    A source that has no splits has one line, whose split is empty. `rejected` are the messages that the job has left
    out of all splits. `failure`: why the source does not answer, or why a table that copies from it gets no more
    changes. A pushed source has a line for each table that copies
    from it, or one without a job.
    """

    source: ExternalSource
    job_id: int | None
    split: str
    position: int | None
    end: int | None
    rejected: int
    failure: str | None


@dataclass(frozen=True, slots=True)
class JobBehind:
    """A job that is set aside: since when (milliseconds since 1970), and why; up to which epoch its relation is.

    `seconds` lie between that epoch and the newest one.
    """

    relation: CreatedRelation
    since: int
    reason: str
    position: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JobInCreation:
    """A relation that reads the rows of its upstreams: how many of about how many (None: not known), how fast.

    `began`: seconds since 1970. `limit`: the most rows a second. `is_set_aside`: it runs in epochs of its own.
    """

    relation: CreatedRelation
    rows: int
    total: int | None
    rows_per_second: float
    began: float | None
    limit: int | None
    is_set_aside: bool

    @property
    def seconds_left(self) -> float | None:
        """About how long it will take; None if that is not known."""
        if self.total is None or not self.rows_per_second:
            return None
        return (self.total - self.rows) / self.rows_per_second


class Introspection:
    """Any thread may call these; nothing blocks."""

    def __init__(
        self,
        data_dir: Path,
        reads: Reads,
        store: StateStore,
        log: DmlLog,
        committer: Committer,
        sources: SourceOffsets,
        feeds: Feeds,
        query_engines: QueryEngines,
        seconds_behind: Callable[[], float | None],
    ) -> None:
        """`seconds_behind`: how long ago this server had everything, if another one leads."""
        self._data_dir = data_dir
        self._reads = reads
        self._store = store
        self._log = log
        self._committer = committer
        self._sources = sources
        self._feeds = feeds
        self._query_engines = query_engines
        self._seconds_behind = seconds_behind

    def parameters(self) -> Mapping[str, str]:
        """System parameters, for SHOW PARAMETERS."""
        behind = self._seconds_behind()
        return {
            **({} if behind is None else {"seconds_behind": f"{behind:.3f}"}),
            "data_directory": str(self._data_dir),
            **shown_parameters(self._reads.state),
            "committed_epoch": str(self._reads.committed_epoch),
            "data_bytes": str(self._store.size_bytes),
            "log_bytes": str(self._log.bytes_on_disk),
        }

    def ddl_progress(self) -> Iterator[JobInCreation]:
        """What is being created, with the rows that it has read so far."""
        state, read = self._reads.state, self._committer.backfills.jobs
        for relation in self._reads.catalog.relations.values():
            if relation.is_being_created:
                yield self._in_creation(state, relation, read.get(relation.relation_id))

    def _in_creation(self, state: MetaState, relation: CreatedRelation, read: JobProgress | None) -> JobInCreation:
        job = state.jobs.get(relation.relation_id)
        scans = [] if job is None else scans_of(job)
        rows = 0 if read is None else read.rows
        return JobInCreation(
            relation,
            rows,
            max(rows, sum(self._reads.table_rows(scan.upstream.table_id) for scan in scans)) if scans else None,
            0.0 if read is None else read.rows_per_second(),
            None if read is None else read.began,
            state.backfill_limits.get(relation.relation_id),
            relation.relation_id in state.set_aside,
        )

    def drops(self) -> Iterator[tuple[int, str, int]]:
        """The relations that were dropped and have rows left: id, statement, about how many rows."""
        for relation_id, dropped in self._reads.state.dropped.items():
            yield relation_id, dropped.statement, sum(self._reads.table_rows(table) for table in dropped.tables)

    def set_aside(self) -> Iterator[JobBehind]:
        """The jobs that run in epochs of their own, with how far they are behind."""
        state = self._reads.state
        for job_id, aside in state.set_aside.items():
            behind = (milliseconds(state.committed.epoch) - milliseconds(aside.position)) / 1000
            yield JobBehind(
                state.catalog.relations[job_id], aside.since, aside.reason, aside.position, max(behind, 0.0)
            )

    def operator_work(self) -> Mapping[OperatorPosition, OperatorWork]:
        """What each running operator has done since the server started."""
        return self._committer.work.totals()

    def memory(self) -> MemoryUse:
        """The memory of the server and of the processes that it has started."""
        return memory_use(*self._query_engines.memory())

    @property
    def epoch_times(self) -> EpochTimes:
        """How long epochs took since the server started."""
        return self._committer.times

    def pinned_epochs(self) -> Sequence[PinnedEpoch]:
        """The committed epochs that have readers, the oldest first."""
        return [PinnedEpoch(view.epoch, view.holders, view.age, view.outdated) for view in self._store.views()]

    def source_lags(self) -> Iterator[SourceLag]:
        """How far each job is behind each split of the sources that it reads."""
        state = self._reads.state
        for job_id, source, status in self._sources.status(state):
            read = state.committed.offsets.get(job_id, {}).get(source.relation_id, {})
            rejected = self._committer.rejected.count(job_id, source.relation_id)
            ends = {split: end.end for split, end in (status.ends or {}).items()}
            unfinished = [split for split, position in read.items() if position != FINISHED]
            for split in [*dict.fromkeys((*ends, *unfinished))] or [""]:
                position, end = read.get(split), ends.get(split)
                position = end if position == FINISHED else position
                yield SourceLag(source, job_id, split, position, end, rejected, status.failure)
        for source, fed in self._feeds.status():
            tables = (each for each in state.catalog.relations.values() if isinstance(each, Table))
            readers = [table for table in tables if table.pushed_by == source.relation_id]
            for table in readers:
                rejected = self._committer.rejected.count(table.relation_id, source.relation_id)
                split, job_id = "" if table.upstream is None else table.upstream.name, table.relation_id
                failure = fed.failure or fed.of_tables.get(job_id)
                yield SourceLag(source, job_id, split, fed.position, fed.end, rejected, failure)
            if not readers:
                yield SourceLag(source, None, "", fed.position, fed.end, 0, fed.failure)

    def rejected_messages(self) -> Sequence[KeptMessage]:
        """The last messages of each source that did not decode, since the server started."""
        return self._committer.rejected.kept()

    def job_errors(self) -> Mapping[int, int]:
        """Per relation, how many expressions failed and became NULL."""
        return dict(self._reads.state.errors)
