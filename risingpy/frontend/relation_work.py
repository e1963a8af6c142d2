"""What the jobs of relations have done since the server started, of their operators' figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from risingpy.plan.graph import Job
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.plan.operators import Dml, Source, StreamValues, TableScan
from risingpy.plan.traversal import nodes_of_fragment

_NONE = OperatorWork()


@dataclass(frozen=True, slots=True)
class RelationWork:
    """Changed rows that a job has read, and given, and the time of its operators on all shards, without commits.

    `of_sources`: the rows that it has read of each source, by the source's id.
    """

    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0
    of_sources: Mapping[int, int] = field(default_factory=dict)


def work_of_jobs(
    jobs: Iterable[Job], done: Mapping[OperatorPosition, OperatorWork]
) -> Iterable[tuple[int, RelationWork]]:
    """Each job's id, and its work."""
    worked: dict[int, dict[int, OperatorWork]] = {}
    for (fragment_id, place), work in done.items():
        worked.setdefault(fragment_id, {})[place] = work
    for job in jobs:
        yield job.job_id, _work_of(job, worked)


def _work_of(job: Job, worked: Mapping[int, Mapping[int, OperatorWork]]) -> RelationWork:
    rows_in = nanoseconds = 0
    of_sources: Counter[int] = Counter()
    for fragment in job.fragments:
        places = worked.get(fragment.fragment_id)
        if places is None:  # most jobs of an idle database have done nothing: their plans are not walked
            continue
        for place, node in enumerate(nodes_of_fragment(fragment.root)):
            work = places.get(place, _NONE)
            nanoseconds += work.nanoseconds
            if isinstance(node, Dml | TableScan | Source | StreamValues):
                rows_in += work.rows_out
            if isinstance(node, Source):
                of_sources[node.source_id] += work.rows_out
    last = worked.get(job.fragments[-1].fragment_id, {}).get(0, _NONE)
    return RelationWork(rows_in, last.rows_out, nanoseconds, of_sources)
