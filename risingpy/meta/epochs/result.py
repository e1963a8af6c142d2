"""The state after an epoch, from what its tasks reported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from risingpy.meta.epochs.next_epoch import NextEpoch, creating
from risingpy.meta.epochs.recovered_jobs import with_recovered
from risingpy.meta.epochs.runner import EpochReport, with_reached
from risingpy.meta.own_pace.pace import StepResult
from risingpy.meta.state import CommittedEpoch, Dropped, MetaState, SetAside, Taking
from risingpy.plan.catalog import CreatedRelation, MaterializedView
from risingpy.plan.set_aside import tables_read


def state_after(old: MetaState, epoch: NextEpoch, report: EpochReport) -> MetaState:
    """`old` with the epoch committed. Jobs that have finished their backfill are created; purged tables are gone."""
    watermarks = _running(old, with_reached(old.committed.watermarks, report.watermarks))
    moved = {key for key, value in watermarks.items() if old.committed.watermarks.get(key) != value}
    new = replace(
        old,
        committed=CommittedEpoch(
            epoch.descriptor.epoch,
            epoch.descriptor.log_up_to,
            epoch.offsets,
            watermarks,
            settled=not _awaits(old, moved),
            pushed={k: v for k, v in {**old.committed.pushed, **epoch.pushed}.items() if k in old.catalog.sources},
        ),
        fresh_jobs=frozenset(job for job in old.fresh_jobs if job in old.set_aside and job not in epoch.completed),
        purge=old.purge - report.purged,
        dropped=_with_rows_left(old, report.purged),
        compactions={k: v for k, v in old.compactions.items() if k not in report.purged},
        errors=_added(old.errors, report.errors),
        set_aside={job: _after_step(aside, epoch.handed_over.get(job)) for job, aside in old.set_aside.items()},
    )
    reading = {*dict(epoch.descriptor.snapshot_rows), *epoch.descriptor.fresh_jobs, *epoch.completed}
    for relation in creating(old):
        ran = relation.relation_id in reading  # nothing is known of one that pauses
        if not (ran and report.is_through(relation.relation_id) and _inputs_are_created(new, relation)):
            continue
        new = with_recovered(new, relation.relation_id)
        if old.jobs[relation.relation_id].awaits:  # from now on watermarks apply to it
            new = replace(new, committed=replace(new.committed, settled=False))
    return _without_old_limits(new)


def _inputs_are_created(state: MetaState, relation: CreatedRelation) -> bool:
    """Whether the views that a relation reads have all of their rows. One transaction may make a view and one over it.

    A table is not waited for: it is created when its unique indexes are.
    """
    relations = state.catalog.relations
    read = (relations.get(table_id) for table_id in tables_read(state.jobs[relation.relation_id]))
    return not any(isinstance(each, MaterializedView) and each.is_being_created for each in read)


def _without_old_limits(state: MetaState) -> MetaState:
    """`state` without limits of jobs that are created."""
    if not state.backfill_limits:
        return state
    left = {relation.relation_id for relation in creating(state)}
    return replace(state, backfill_limits={k: v for k, v in state.backfill_limits.items() if k in left})


def _with_rows_left(old: MetaState, purged: Collection[int]) -> Mapping[int, Dropped]:
    """What was dropped, and still has rows."""
    if not (old.dropped and purged):
        return old.dropped
    left = old.purge.difference(purged)
    return {key: each for key, each in old.dropped.items() if not left.isdisjoint(each.tables)}


def _after_step(aside: SetAside, result: StepResult | None) -> SetAside:
    if result is None:
        return aside
    if not result.pieces.are_last:
        return replace(aside, taking=Taking(result.directory.name, result.pieces.after))
    return replace(aside, position=result.done.up_to, taking=None)


def _running(state: MetaState, watermarks: Mapping[int, int]) -> Mapping[int, int]:
    """The watermarks that some job still produces."""
    if not watermarks:
        return watermarks
    made = {watermark for job in state.jobs.values() for watermark in job.watermarks}
    return watermarks if watermarks.keys() <= made else {k: v for k, v in watermarks.items() if k in made}


def _awaits(state: MetaState, moved: set[int]) -> bool:
    """Whether a job holds rows back for one of the watermarks."""
    return bool(moved) and any(moved.intersection(job.awaits) for job in state.jobs.values())


def _added(counts: Mapping[int, int], more: Mapping[int, int]) -> Mapping[int, int]:
    if not more:
        return counts
    return {key: counts.get(key, 0) + more.get(key, 0) for key in counts.keys() | more.keys()}
