"""Finds the jobs that made an epoch too long although each of them took no more than a job may.

A watch ends the work of a single job that takes too long. Three that each stay just below their allowance make
everybody wait for three allowances. Their time is known when the epoch has ended: the costliest ones are left out of
the next epochs, until the rest fits. Many cheap jobs are no reason: none of them would be missed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from risingpy.meta.epochs.next_epoch import JOB_SECONDS_PER_ROW
from risingpy.meta.epochs.runner import EpochReport
from risingpy.plan.graph import StreamGraph

EPOCH_SHARE = 0.5  # of a job's allowance on one shard, which all jobs together may take of an epoch with few rows
LEAST_SECONDS = 0.1
MOST_FACTOR = 3.0  # storing its rows takes about as long as a job itself; more is the start of a process, for example
COSTLY_SHARE = 0.25  # of what an epoch may take: a job that takes less is not to blame


def allowed_seconds(job_seconds: float, rows: int, halvings: float) -> float:
    """The CPU seconds that an epoch with so many rows may take, on all shards; infinite if a job may take any time.

    `job_seconds` is what one job may take on a shard; `halvings`: see `Strictness`.
    """
    if not job_seconds:
        return math.inf
    whole = job_seconds * EPOCH_SHARE
    return max(whole / math.exp2(halvings), min(whole, LEAST_SECONDS)) + JOB_SECONDS_PER_ROW * rows


def too_costly(report: EpochReport, graph: StreamGraph, allowed: float) -> Iterator[tuple[int, float]]:
    """The jobs to leave out, and the CPU seconds of each, the costliest first. `allowed`: of the whole epoch.

    What the epoch took beside its operators, such as storing what they wrote, counts in proportion, but within limits.
    """
    left = report.cpu_seconds or 0.0
    if left <= allowed:
        return
    work = work_of_jobs(report, graph)
    per_nanosecond = min(left / max(sum(work.values()), 1), MOST_FACTOR * 1e-9)
    for job_id, nanoseconds in sorted(work.items(), key=lambda each: -each[1]):
        seconds = nanoseconds * per_nanosecond
        if left <= allowed or seconds < allowed * COSTLY_SHARE:
            return
        yield job_id, seconds
        left -= seconds


def work_of_jobs(report: EpochReport, graph: StreamGraph) -> Mapping[int, int]:
    """The nanoseconds that each job's operators took."""
    job_of = {fragment.fragment_id: job.job_id for job in graph.jobs for fragment in job.fragments}
    work: defaultdict[int, int] = defaultdict(int)
    for (fragment_id, _), (_, _, nanoseconds, _, _) in chain.from_iterable(each.items() for each in report.work):
        if fragment_id in job_of:
            work[job_of[fragment_id]] += nanoseconds
    return work
