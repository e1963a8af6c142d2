"""Stops a job that has failed, and those that read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from risingpy.errors import OutOfMemory, SqlError
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.meta.durable_state import with_status, without_job, without_relation
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, JobStatus


def without_failed(state: MetaState, failure: FragmentFailed) -> tuple[MetaState, Mapping[int, SqlError]]:
    """`state` after a job has failed, and the error for each relation that is stopped.

    A relation that existed stays, with its rows, marked as failed. One that was being created is removed; one that was
    being recovered stays without rows.
    """
    new = state
    failures: dict[int, SqlError] = {}
    for relation in _with_readers(state, failure.job_id):
        if relation.relation_id not in new.catalog.relations:
            continue  # what was kept for a job that was set aside has gone with this job
        failures[relation.relation_id] = _as_sql_error(relation, failure)
        if relation.has_no_answer or (relation.relation_id == state.partial and not relation.is_being_created):
            new = with_status(without_job(new, relation.relation_id), relation.relation_id, JobStatus.UNRECOVERED)
        elif relation.is_being_created:
            new = without_relation(new, relation)
        else:
            new = with_status(without_job(new, relation.relation_id), relation.relation_id, JobStatus.FAILED)
    fresh = frozenset(job for job in new.fresh_jobs if job in new.jobs)
    return replace(new, graph_version=state.graph_version + 1, fresh_jobs=fresh), failures


def _with_readers(state: MetaState, relation_id: int) -> list[CreatedRelation]:
    """A relation and every job that reads it, directly or not; readers first."""
    found: list[CreatedRelation] = []
    waiting = [relation_id]
    while waiting:
        relation = state.catalog.relations.get(waiting.pop())
        if relation is not None and relation not in found:
            found.append(relation)
            waiting.extend(reader.relation_id for reader in state.catalog.dependents(relation.relation_id))
    return found[::-1]


def _as_sql_error(relation: CreatedRelation, failure: FragmentFailed) -> SqlError:
    if isinstance(failure.error, SqlError):
        return failure.error
    if isinstance(failure.error, MemoryError):
        hint = "Have less in memory at a time, or raise the server's --memory."
        return OutOfMemory(f'out of memory: {relation.noun} "{relation.name}" needs more than there is', hint=hint)
    return SqlError(f'{relation.noun} "{relation.name}" failed: {failure.error}')
