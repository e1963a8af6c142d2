"""Everything the meta service knows, as one immutable value that is replaced at barriers.

`MetaState` is what a commit makes durable: the catalog, the running jobs, the committed epoch with the log
position and the sources' offsets, the dropped tables whose rows are still to be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from risingpy.plan.catalog import Catalog, ExternalSource
from risingpy.plan.graph import Job, StreamGraph

FIRST_USER_ID = 16384  # as PostgreSQL: lower ids are the system's own
OLD_SNAPSHOT_SECONDS = 3 * 3600.0  # what RisingWave allows a pinned version


@dataclass(frozen=True, slots=True)
class CommittedEpoch:
    """The last committed epoch: log records up to `lsn` are in it, and what each job has read of its sources.

    `offsets`: by job, by source, by split, the position up to which the job has the rows. `watermarks`: by id, what has
    been reached; the next epoch works with it. Not `settled`: some job holds rows back that this lets go.
    """

    epoch: int = 0
    lsn: int = 0
    offsets: Mapping[int, Mapping[int, Mapping[str, int]]] = field(default_factory=dict)
    watermarks: Mapping[int, int] = field(default_factory=dict)
    settled: bool = True


@dataclass(frozen=True, slots=True)
class MetaState:
    """The meta service's state after a commit.

    `graph_version` grows with every change of `jobs`. `fresh_jobs` have not run an epoch yet. `purge` are ids of
    dropped tables with rows left. `compactions`: tables that lost columns which stored rows may still have, with the
    version at which that was. `errors` counts, per relation, expressions that failed and became NULL.
    `wanted_shards` is what the next start is to rescale to (0: as it is). `old_snapshot_threshold`: seconds for which
    an outdated epoch may be read (None: for ever).
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
    old_snapshot_threshold: float | None = OLD_SNAPSHOT_SECONDS

    def graph(self) -> StreamGraph:
        """The stream graph of all running jobs."""
        sources = tuple(r for r in self.catalog.relations.values() if isinstance(r, ExternalSource))
        return StreamGraph(self.graph_version, self.shards, tuple(self.jobs.values()), sources)


class IdAllocator:
    """Hands out catalog-wide unique ids from a state's counter; `next_id` is what the new state keeps."""

    def __init__(self, next_id: int) -> None:
        self.next_id = next_id

    def __call__(self) -> int:
        self.next_id += 1
        return self.next_id - 1
