"""Plans the next epoch: rows of the log and of sources, new jobs, dropped tables, time that has passed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from risingpy.executors.epoch.descriptor import LEAST_JOB_SECONDS, EpochDescriptor, TakenOver
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.backfill_budget import BackfillBudget
from risingpy.meta.epochs.recovered_jobs import startable
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.source_offsets import NextRanges, Offsets, SourceOffsets
from risingpy.meta.own_pace.pace import StepResult
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.catalog import CreatedRelation, Table
from risingpy.plan.plain_jobs import is_plain
from risingpy.plan.recursion.loops import Stages

JOB_SECONDS_PER_ROW = 10e-6  # so much more CPU time a job may take for each row of the epoch: ten times a plain view's
LARGEST_EPOCH_ROWS = 1 << 20  # bounds a task's memory; a single statement may be larger


@dataclass(frozen=True, slots=True)
class NextEpoch:
    """`rows`: about how many it has. `stages`: those of its graph. `offsets`: the sources' positions after it.

    `pushed`: the offsets of pushed sources that have rows in it. `handed_over`: see `plan_epoch`.
    """

    descriptor: EpochDescriptor
    rows: int
    stages: Stages
    offsets: Offsets
    pushed: Mapping[int, str]
    handed_over: Mapping[int, StepResult] = field(default_factory=dict)

    @property
    def completed(self) -> Mapping[int, StepResult]:
        """Of `handed_over`, what it takes the last piece of."""
        return {job_id: result for job_id, result in self.handed_over.items() if result.pieces.are_last}


def creating(state: MetaState) -> list[CreatedRelation]:
    """The relations that still read their upstreams' snapshots. (A table's upstream is another system: see `feeds`.)"""
    unready = state.catalog.being_created
    return [each for each in unready if each.relation_id in state.jobs and not isinstance(each, Table)]


def starting(state: MetaState) -> list[CreatedRelation]:
    """Those of `creating` that read their snapshots in the epochs that all share."""
    return [relation for relation in creating(state) if relation.relation_id not in state.set_aside]


def starting_ids(state: MetaState) -> list[int]:
    """The ids of `starting`."""
    return [relation.relation_id for relation in starting(state)]


def is_work_in(state: MetaState, budget: BackfillBudget) -> bool:
    """Whether the state itself asks for an epoch."""
    fresh = any(job not in state.set_aside for job in state.fresh_jobs)
    reads = budget.may_read(starting_ids(state), state.backfill_limits)
    return bool(reads or fresh or state.purge or not state.committed.settled or startable(state))


def _nothing(state: MetaState) -> NextRanges:
    return NextRanges((), state.committed.offsets, 0, moves=False)


def _job_seconds(state: MetaState, rows: int, halvings: float) -> float:
    """What a job may take of an epoch with so many rows; 0: any time.

    `halvings`: see `Strictness`. Jobs that spoil an epoch one after the other make others wait for two allowances.
    """
    whole = state.job_epoch_seconds
    if not whole:
        return 0.0
    return max(whole / math.exp2(halvings), min(whole, LEAST_JOB_SECONDS)) + JOB_SECONDS_PER_ROW * rows


def _granted(state: MetaState, budget: BackfillBudget, *, has_rows: bool) -> Mapping[int, int]:
    return budget.rows(
        starting_ids(state),
        state.backfill_limits,
        shards=state.shards,
        has_rows=has_rows,
        plain=lambda job: is_plain(state.jobs[job]),
    )


def _taken_over(results: Mapping[int, StepResult]) -> tuple[TakenOver, ...]:
    return tuple(TakenOver(job_id, str(each.directory), each.pieces) for job_id, each in sorted(results.items()))


def plan_epoch(
    state: MetaState,
    log: DmlLog,
    sources: SourceOffsets,
    trimming: Trimming,
    budget: BackfillBudget,
    shape: EpochShape,
    *,
    stages: Stages,
    number: Callable[[], int],
    idle: bool,
    passed: bool,
    handed_over: Mapping[int, StepResult],
    closed: bool,
    halvings: float,
) -> NextEpoch | None:
    """The epoch after `state`; None if there is no work for it.

    `stages`: of its graph. `number`, called last, gives its number, its time. `idle`: there is time to rewrite rows
    without dropped columns. `passed`: a view changes because time has passed. `handed_over`: by job, what it takes over
    from the job's own epochs. With `closed` it takes nothing else. `halvings`: how often its jobs' time is halved.
    """
    lsn, rows = (state.committed.lsn, 0) if closed else log.next_epoch(LARGEST_EPOCH_ROWS)
    read = _nothing(state) if closed else sources.next_ranges(state, LARGEST_EPOCH_ROWS)
    is_due = passed or (idle and state.compactions) or is_work_in(state, budget) or trimming.seconds_left() == 0
    if not (is_due or handed_over or lsn > state.committed.lsn or read.moves):
        return None
    granted = _granted(state, budget, has_rows=rows + read.rows > 0)
    rows += read.rows + sum(granted.values()) * state.shards
    descriptor = EpochDescriptor(
        epoch=number(),
        committed=state.committed.epoch,
        graph_version=state.graph_version,
        shards=state.shards,
        log_after=state.committed.lsn,
        log_up_to=lsn,
        splits=read.ranges,
        fresh_jobs=tuple(sorted(state.fresh_jobs - state.set_aside.keys())),
        purge=tuple(sorted(state.purge)),
        compact=tuple(sorted(state.compactions.items())),
        single_task=shape.is_one_task(rows, shards=state.shards, stages=stages),
        watermarks=tuple(sorted(state.committed.watermarks.items())),
        backfilling=tuple(sorted(starting_ids(state))),
        snapshot_rows=tuple(sorted(granted.items())),
        trim=trimming.due(lambda: {job.table.table_id for job in state.jobs.values()}),
        job_seconds=_job_seconds(state, rows, halvings),
        rows=rows,
        handed_over=_taken_over(handed_over),
    )
    return NextEpoch(descriptor, rows, stages, read.offsets, log.offsets_up_to(lsn), handed_over)
