"""A job leaves the epochs that all share, goes on in epochs of its own, and joins the others again.

When it leaves, the changes of each table that it reads are kept for it, in the changelog of a subscription of its own,
from the very epoch on that it did not finish. So nothing is lost in between: the job's state is as of its `position`,
and the changelogs have what came after.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.executors.own_pace.messages import InputChangelog, Step
from risingpy.meta.durable_state import without_feeds
from risingpy.meta.epochs.number import unix_milliseconds
from risingpy.meta.own_pace import pace
from risingpy.meta.schema.subscriptions import add_subscription, kept_for_job
from risingpy.meta.state import MetaState, SetAside
from risingpy.plan.catalog import FollowedRelation, MaterializedView, Subscription, Table
from risingpy.plan.graph import StreamGraph
from risingpy.plan.joins import TemporalJoin
from risingpy.plan.set_aside import can_be_set_aside, tables_read
from risingpy.plan.traversal import nodes_of_fragment


def with_set_aside(state: MetaState, job_id: int, reason: str) -> MetaState | None:
    """`state` in which the job runs in epochs of its own, from the committed epoch on; None if it cannot."""
    job = state.jobs.get(job_id)
    if job is None or not can_be_set_aside(job):
        return None
    followed = [_stored_in(state, table_id) for table_id in tables_read(job)]
    feeds: dict[int, int] = {}
    new = state
    for relation in followed:
        if relation is None:
            return None
        new, subscription = add_subscription(new, kept_for_job(relation, job_id))
        feeds[relation.table.table_id] = subscription.relation_id
    aside = SetAside(state.committed.epoch, feeds, unix_milliseconds(), reason, state.committed.watermarks)
    return replace(new, set_aside={**new.set_aside, job_id: aside}, graph_version=new.graph_version + 1)


def with_rejoined(state: MetaState, job_id: int) -> MetaState:
    """`state` in which a job that has everything up to the committed epoch runs with the others again."""
    awaits = bool(state.jobs[job_id].awaits)  # watermarks that have moved meanwhile may release rows
    new = without_feeds(state, job_id)
    return replace(new, committed=replace(new.committed, settled=new.committed.settled and not awaits))


def with_position(state: MetaState, job_id: int, position: int) -> MetaState:
    """`state` in which the job has everything up to `position`."""
    moved = replace(state.set_aside[job_id], position=position)
    return replace(state, set_aside={**state.set_aside, job_id: moved})


def next_step(
    state: MetaState, job_id: int, *, number: int, most_rows: int, memory: int, store: Path, output: Path
) -> Step:
    """The next step of a job that is set aside: see `Step` for what it has besides the job."""
    aside, job = state.set_aside[job_id], state.jobs[job_id]
    feeds = []
    for table_id, subscription_id in aside.feeds.items():
        relation, subscription = _stored_in(state, table_id), state.catalog.relations[subscription_id]
        assert relation is not None and isinstance(subscription, Subscription)
        types = tuple(column.type for column in relation.columns)
        feeds.append(InputChangelog(table_id, types, relation.table.distribution, subscription.table))
    relation_of_job = state.catalog.relations[job_id]
    return Step(
        number=number,
        graph=StreamGraph(aside.since, state.shards, (job,)),
        epoch=state.committed.epoch,
        position=aside.position,
        feeds=tuple(feeds),
        fresh=job_id in state.fresh_jobs,
        backfilling=relation_of_job.is_being_created,
        watermarks=tuple(sorted(aside.watermarks.items())),
        most_rows=most_rows,
        memory=memory,
        store=store,
        output=output,
        piece_bytes=pace.PIECE_BYTES,
    )


def may_be_partial(state: MetaState, job_id: int) -> bool:
    """Whether epochs may take a job's results over in pieces: no other job reads the rows that its relation has.

    Those that read its changes get them with the last piece.
    """
    for reader in state.catalog.dependents(job_id):
        job = state.jobs.get(reader.relation_id)
        fragments = () if job is None else job.fragments
        nodes = (node for fragment in fragments for node in nodes_of_fragment(fragment.root))
        if reader.is_being_created or any(isinstance(node, TemporalJoin) for node in nodes):
            return False
    return True


def refuse_alter(state: MetaState, table: FollowedRelation) -> None:
    """Raises 55006 if a job that is set aside still has to read changes of the table in its present form."""
    for job_id, aside in state.set_aside.items():
        if table.table.table_id in aside.feeds:
            reader = state.catalog.relations[job_id]
            reason = f'{reader.noun} "{reader.name}" is behind, and reads its changes'
            hint = "SHOW JOBS says how far it is behind. Wait for it, or drop it."
            if state.refresh_seconds(job_id) is not None:
                hint = "It is refreshed at intervals. Drop it, and create it again afterwards."
            raise SqlError(f'cannot alter {table.noun} "{table.name}": {reason}', sqlstate="55006", hint=hint)


def _stored_in(state: MetaState, table_id: int) -> FollowedRelation | None:
    """The table or materialized view whose rows the table has."""
    relation = state.catalog.relations.get(table_id)
    if isinstance(relation, Table | MaterializedView) and relation.table.table_id == table_id:
        return relation
    return None
