"""The meta service's state, as one immutable value that is replaced between epochs.

A commit makes a `MetaState` durable: the catalog, the running jobs, the committed epoch with the log position and the
sources' offsets, and the dropped tables whose rows are still to be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from risingpy.plan.catalog import Catalog, MaterializedView
from risingpy.plan.graph import Job, StreamGraph

FIRST_USER_ID = 16384  # as in PostgreSQL: lower ids are the system's own
OLD_SNAPSHOT_SECONDS = 3 * 3600.0  # RisingWave's limit for a pinned version
JOB_EPOCH_SECONDS = 1.0  # of CPU time, for what a job does on a shard in an epoch with few rows


@dataclass(frozen=True, slots=True)
class CommittedEpoch:
    """The last committed epoch. It has all log records up to `lsn`.

    `offsets`: by job, source and split, the position up to which the job has the rows. `watermarks`: by id, the values
    that the next epoch works with. If it is not `settled`, the next epoch emits rows that these watermarks release.
    `pushed`: by pushed source, the offset up to which the epoch has the rows, if the log does not say a later one.
    """

    epoch: int = 0
    lsn: int = 0
    offsets: Mapping[int, Mapping[int, Mapping[str, int]]] = field(default_factory=dict)
    watermarks: Mapping[int, int] = field(default_factory=dict)
    settled: bool = True
    pushed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taking:
    """Shared epochs have the first `pieces` of the results in a directory."""

    directory: str
    pieces: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A job that runs in epochs of its own. Its relation is as of the epoch `position`.

    `feeds`: by table that it reads, the subscription that keeps the table's changes for it. `since`: when it was set
    aside, in milliseconds since 1970, and `reason` why. `watermarks` are those that it works with. `taking`: some
    of the rows of its next epoch are stored already, and others are not. `wanted`: the epoch up to which a view that is
    refreshed at intervals is to go at once (0: none).
    """

    position: int
    feeds: Mapping[int, int]
    since: int
    reason: str
    watermarks: Mapping[int, int] = field(default_factory=dict)
    taking: Taking | None = None
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """A relation that was dropped, and the ids of the tables whose rows are still to be deleted."""

    statement: str
    tables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetaState:
    """The meta service's state after a commit.

    `graph_version` grows with every change of `jobs`. `fresh_jobs` have not run an epoch yet. `purge` are ids of
    dropped tables with rows left. `compactions`: tables whose stored rows may still have dropped columns, with the
    version at which these were dropped. `errors` counts, per relation, expressions that failed and became NULL.
    `wanted_shards` is the number of shards that the state is to be moved to (0: none); with
    `adaptive_parallelism`, the engine's cores say so. `old_snapshot_threshold`: for how many seconds an outdated epoch
    may be read (None: for ever). `job_epoch_seconds`: after how much CPU time in an
    epoch a job is set aside (0: never). `set_aside`: the jobs in epochs of their own. `stopped`: the jobs that have
    failed, which can be started again. `dropped`, by id: relations that have rows left. `backfill_limits`: how many
    rows a second jobs in creation may read of their upstreams (0: none), for those that are limited.
    """

    catalog: Catalog = field(default_factory=Catalog)
    jobs: Mapping[int, Job] = field(default_factory=dict)
    shards: int = 1
    graph_version: int = 0
    committed: CommittedEpoch = field(default_factory=CommittedEpoch)
    fresh_jobs: frozenset[int] = frozenset()
    purge: frozenset[int] = frozenset()
    compactions: Mapping[int, int] = field(default_factory=dict)
    errors: Mapping[int, int] = field(default_factory=dict)
    next_id: int = FIRST_USER_ID
    wanted_shards: int = 0
    adaptive_parallelism: bool = False
    old_snapshot_threshold: float | None = OLD_SNAPSHOT_SECONDS
    job_epoch_seconds: float = JOB_EPOCH_SECONDS
    set_aside: Mapping[int, SetAside] = field(default_factory=dict)
    stopped: Mapping[int, Job] = field(default_factory=dict)
    dropped: Mapping[int, Dropped] = field(default_factory=dict)
    backfill_limits: Mapping[int, int] = field(default_factory=dict)

    @property
    def partial(self) -> int | None:
        """The job whose results are partly stored: its relation can only be read as it was before. At most one."""
        return next((job_id for job_id, aside in self.set_aside.items() if aside.taking is not None), None)

    def refresh_seconds(self, job_id: int) -> int | None:
        """At which intervals the job follows what it reads; None: in every epoch, or as fast as it can."""
        view = self.catalog.relations.get(job_id)
        return view.refresh_seconds if isinstance(view, MaterializedView) else None

    @property
    def behind(self) -> frozenset[int]:
        """The jobs that are set aside because they are slow: strict reads wait for them, and for no refresh."""
        return frozenset(job_id for job_id in self.set_aside if self.refresh_seconds(job_id) is None)

    def graph(self) -> StreamGraph:
        """The stream graph of all running jobs."""
        sources = tuple(self.catalog.sources.values())
        jobs = tuple(self.jobs.values())
        return StreamGraph(self.graph_version, self.shards, jobs, sources, tuple(sorted(self.set_aside)))


class IdAllocator:
    """Hands out catalog-wide unique ids from a state's counter; `next_id` is what the new state keeps."""

    def __init__(self, next_id: int) -> None:
        self.next_id = next_id

    def __call__(self) -> int:
        self.next_id += 1
        return self.next_id - 1
