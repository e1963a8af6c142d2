"""Plans the next epoch: rows of the log and of sources, new jobs, dropped tables, time that has passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.relation.backfill import ROWS_PER_EPOCH as BACKFILL_ROWS
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.source_offsets import Offsets, SourceOffsets
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.catalog import CreatedRelation, Table

LARGEST_EPOCH_ROWS = 1 << 20  # bounds a task's memory; a single statement may be larger


@dataclass(frozen=True, slots=True)
class NextEpoch:
    """`rows`: about how many it has. `depth`: the stages of its graph. `offsets`: the sources' positions after it.

    `pushed`: the offsets of pushed sources that have rows in it.
    """

    descriptor: EpochDescriptor
    rows: int
    depth: int
    offsets: Offsets
    pushed: Mapping[int, str]


def creating(state: MetaState) -> list[CreatedRelation]:
    """The relations that still read their upstreams' snapshots. (A table's upstream is another system: see `feeds`.)"""
    return [r for r in state.catalog.relations.values() if r.is_being_created and not isinstance(r, Table)]


def is_work_in(state: MetaState) -> bool:
    """Whether the state itself asks for an epoch."""
    return bool(creating(state) or state.fresh_jobs or state.purge or not state.committed.settled)


def plan_epoch(
    state: MetaState,
    log: DmlLog,
    sources: SourceOffsets,
    trimming: Trimming,
    shape: EpochShape,
    *,
    number: Callable[[], int],
    idle: bool,
    passed: bool,
) -> NextEpoch | None:
    """The epoch after `state`; None if there is no work for it.

    `number` gives its number, which is its time. It is called last, so that none of the epoch's rows is later.
    `idle`: there is no other work, so there is time to rewrite rows without dropped columns. `passed`: a view changes
    because time has passed.
    """
    lsn, rows = log.next_epoch(LARGEST_EPOCH_ROWS)
    read = sources.next_ranges(state, LARGEST_EPOCH_ROWS)
    compacts = idle and state.compactions
    trims = trimming.seconds_left() == 0
    if not (lsn > state.committed.lsn or read.moves or is_work_in(state) or compacts or passed or trims):
        return None
    began = creating(state)
    # A job reads no snapshot in its first epoch.
    backfilling = sum(job.relation_id not in state.fresh_jobs for job in began)
    rows += read.rows + backfilling * state.shards * BACKFILL_ROWS
    depth = state.graph().depth
    descriptor = EpochDescriptor(
        epoch=number(),
        committed=state.committed.epoch,
        graph_version=state.graph_version,
        shards=state.shards,
        log_after=state.committed.lsn,
        log_up_to=lsn,
        splits=read.ranges,
        fresh_jobs=tuple(sorted(state.fresh_jobs)),
        purge=tuple(sorted(state.purge)),
        compact=tuple(sorted(state.compactions.items())),
        single_task=shape.is_one_task(rows, shards=state.shards, exchanges=depth - 1),
        watermarks=tuple(sorted(state.committed.watermarks.items())),
        backfilling=tuple(sorted(relation.relation_id for relation in began)),
        trim=trimming.due({job.table.table_id for job in state.jobs.values()}),
    )
    return NextEpoch(descriptor, rows, depth, read.offsets, log.offsets_up_to(lsn))
