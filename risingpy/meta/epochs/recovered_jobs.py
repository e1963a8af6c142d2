"""Starts jobs that have failed again (see `meta/schema/recovering.py`): each as soon as it can."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from risingpy.connectors.targets.engine_options import has_snapshot
from risingpy.meta.durable_state import with_status
from risingpy.meta.sinks.into_tables import with_sinks_connected
from risingpy.meta.state import MetaState
from risingpy.optimizer.stream.sink_inputs import staged
from risingpy.plan.catalog import JobStatus, Sink, View
from risingpy.plan.set_aside import own_tables


def startable(state: MetaState) -> list[int]:
    """The jobs that can start now: nothing is left of their rows, and what they read has all of its own."""
    if not state.stopped:
        return []
    return [job_id for job_id in sorted(state.stopped) if _is_startable(state, job_id)]


def with_started(state: MetaState) -> MetaState:
    """`state` in which the jobs run that can start."""
    ready = startable(state)
    if not ready:
        return state
    jobs = dict(sorted({**state.jobs, **{job_id: state.stopped[job_id] for job_id in ready}}.items()))
    after = replace(
        state,
        jobs=staged(jobs),
        stopped={job_id: job for job_id, job in state.stopped.items() if job_id not in ready},
        fresh_jobs=state.fresh_jobs | set(ready),
        graph_version=state.graph_version + 1,
    )
    for job_id in ready:
        relation = state.catalog.relations[job_id]
        if isinstance(relation, Sink) and not has_snapshot(relation.options):
            after = with_recovered(after, job_id)
    return with_sinks_connected(after)


def with_recovered(state: MetaState, relation_id: int) -> MetaState:
    """`state` in which a relation has all of its rows; so have the views that read nothing that is still recovered."""
    state = with_status(state, relation_id, JobStatus.CREATED)
    for view in state.catalog.relations.values():
        if isinstance(view, View) and view.status is JobStatus.RECOVERING and _has_answers(state, view.depends_on):
            state = with_recovered(state, view.relation_id)
    return state


def _is_startable(state: MetaState, job_id: int) -> bool:
    relation, job = state.catalog.relations[job_id], state.stopped[job_id]
    if relation.has_stopped or own_tables(job) & state.purge:
        return False
    read = {table_id for fragment in job.fragments for table_id in fragment.upstream_tables}
    return read <= state.jobs.keys() and _has_answers(state, read)


def _has_answers(state: MetaState, relation_ids: Collection[int]) -> bool:
    relations = [state.catalog.relations.get(each) for each in relation_ids]
    return all(
        each is None or not (each.has_no_answer or each.is_being_created or each.has_stopped) for each in relations
    )
