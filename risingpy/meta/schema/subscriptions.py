"""CREATE and ALTER SUBSCRIPTION, and ALTER of what one follows, as functions from state to state."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from risingpy.errors import SerializationFailure
from risingpy.meta.schema.relations import check_new_name, check_unchanged, with_job
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.stream.changelog import plan_followed
from risingpy.optimizer.stream.fragments import cut
from risingpy.plan.catalog import Catalog, CreatedRelation, FollowedForm, FollowedRelation, Subscription
from risingpy.plan.graph import Job

TEMPORARY_SECONDS = 3600  # how far a SUBSCRIBE of a relation without a subscription may fall back


@dataclass(frozen=True, slots=True)
class Retention:
    """How long changes are kept: so many seconds, and so many bytes of them (None: any number)."""

    seconds: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """CREATE SUBSCRIPTION: what it follows, as it was bound, and how long it keeps changes."""

    schema_name: str
    name: str
    relation: FollowedRelation
    retention: Retention
    definition: str
    is_temporary: bool = False
    kept_for: int | None = None


def kept_for_job(relation: FollowedRelation, job_id: int) -> NewSubscription:
    """One for a job that is set aside: its changes are kept until the job has them."""
    name = f"__kept_for_{job_id}_{relation.relation_id}"
    kept = Retention(TEMPORARY_SECONDS)
    return NewSubscription(relation.schema_name, name, relation, kept, "", is_temporary=True, kept_for=job_id)


def temporary_subscription(relation: FollowedRelation) -> NewSubscription:
    """One for a single reader of the relation."""
    name = f"__subscribe_{uuid.uuid4().hex[:12]}"
    kept = Retention(TEMPORARY_SECONDS)
    return NewSubscription(relation.schema_name, name, relation, kept, definition="", is_temporary=True)


def subscriptions_of(catalog: Catalog, relation: CreatedRelation) -> list[Subscription]:
    """The subscriptions that follow the relation, in the order in which they were created."""
    return [each for each in catalog.dependents(relation.relation_id) if isinstance(each, Subscription)]


def add_subscription(state: MetaState, subscription: NewSubscription) -> tuple[MetaState, Subscription]:
    """(`state` with the subscription and its job, the subscription). It keeps the changes of every later epoch."""
    if not subscription.is_temporary:  # the others have names that nothing else has
        check_new_name(state, subscription.schema_name, subscription.name)
    check_unchanged(state, (subscription.relation,))
    relation = state.catalog.relations[subscription.relation.relation_id]
    assert isinstance(relation, FollowedRelation)
    allocate = IdAllocator(state.next_id)
    table_id = allocate()
    planned = plan_followed(relation, table_id=table_id, name=subscription.name, allocate=allocate)
    added = Subscription(
        relation_id=table_id,
        schema_name=subscription.schema_name,
        database_id=relation.database_id if subscription.is_temporary else state.catalog.database_id,
        name=subscription.name,
        columns=planned.columns,
        definition=subscription.definition,
        table=planned.table,
        stream_key=planned.stream_key,
        append_only=planned.append_only,
        version=state.catalog.version + 1,
        followed=relation.relation_id,
        retention_seconds=subscription.retention.seconds,
        retention_bytes=subscription.retention.bytes,
        is_temporary=subscription.is_temporary,
        kept_for=subscription.kept_for,
        forms=(FollowedForm(state.committed.epoch, planned.columns, tuple(relation.stream_key)),),
    )
    return with_job(state, added, planned, allocate), added


def with_retention(state: MetaState, subscription_id: int, retention: Retention, definition: str) -> MetaState:
    """`state` with another retention of a subscription, which its new `definition` says too."""
    subscription = state.catalog.relations.get(subscription_id)
    if not isinstance(subscription, Subscription):
        raise SerializationFailure("the subscription was dropped meanwhile", hint="Run the statement again.")
    changed = replace(
        subscription,
        retention_seconds=retention.seconds,
        retention_bytes=retention.bytes,
        definition=definition,
    )
    relations = {**state.catalog.relations, subscription_id: changed}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))


def subscription_of_altered(
    state: MetaState, subscription: Subscription, followed: FollowedRelation, allocate: IdAllocator
) -> tuple[Subscription, Job | None]:
    """A subscription to its table's new form, and its job (None if it has stopped). Kept changes stay as they are."""
    job = state.jobs.get(subscription.relation_id)
    if job is None:
        return subscription, None
    (progress,) = job.state_tables
    planned = plan_followed(
        followed,
        table_id=subscription.relation_id,
        name=subscription.name,
        allocate=lambda: progress.table_id,
    )
    form = FollowedForm(state.committed.epoch, planned.columns, tuple(followed.stream_key))
    # Two ALTERs without an epoch between them: nothing has changed in the first one's form.
    earlier = tuple(each for each in subscription.forms if each.after_epoch < form.after_epoch)
    changed = replace(
        subscription,
        columns=planned.columns,
        table=planned.table,
        stream_key=planned.stream_key,
        append_only=planned.append_only,
        forms=(*earlier, form),
    )
    return changed, cut(subscription.relation_id, planned, state.graph(), allocate)
