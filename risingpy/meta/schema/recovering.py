"""RECOVER: relations whose jobs have failed are made anew, as functions from state to state, and the command.

A failed job is kept in `MetaState.stopped`. To recover it, epochs delete what it has stored; then it runs again with
all that it reads, as after its CREATE. Nothing that it had can be trusted: the epoch in which it failed never reached
it. Its readers have failed with it, and start after it, in turn. All of this is durable, so it goes on after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import QueryCanceled, SqlError
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.durable_state import with_status, without_job, without_relation
from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, JobStatus, RecoverableRelation, Sink, View
from risingpy.plan.set_aside import own_tables

_GONE = "55000"


@dataclass(frozen=True, slots=True)
class Recovered:
    """The ids of what a RECOVER starts again, what is read before what reads it; notices about what it leaves."""

    relation_ids: tuple[int, ...] = ()
    notices: tuple[str, ...] = ()


def recover(state: MetaState, roots: Sequence[CreatedRelation]) -> tuple[MetaState, Recovered]:
    """`state` in which the relations, and all that read them and have failed, are to start again.

    Raises SqlError (55000) if one of `roots` has not failed, or cannot start.
    """
    return _recovered(state, roots, must_start=roots)


def recover_all(
    state: MetaState, may: Callable[[CreatedRelation], bool], database_id: int
) -> tuple[MetaState, Recovered]:
    """`recover` of everything in a database that has failed, and that the client `may` start again."""
    own = state.catalog.seen_from(database_id).own_relations
    failed = [each for each in own if each.has_stopped and may(each)]
    return _recovered(state, failed, must_start=())


def _recovered(
    state: MetaState, roots: Sequence[CreatedRelation], must_start: Sequence[CreatedRelation]
) -> tuple[MetaState, Recovered]:
    started: list[int] = []
    notices: list[str] = []
    for relation in reversed(with_all_readers(state, roots)):
        obstacle = _obstacle(state, relation)
        if obstacle is not None and relation in must_start:
            raise obstacle
        if isinstance(relation, View):
            if relation.has_stopped and _failed_upstream(state, relation) is None:
                state = with_status(state, relation.relation_id, JobStatus.RECOVERING)
        elif obstacle is None:
            state = _begun(state, relation)
            started.append(relation.relation_id)
        elif relation.has_stopped:
            notices.append(f'{relation.noun} "{relation.name}" is left as it is: {obstacle}')
    return replace(state, graph_version=state.graph_version + 1), Recovered(tuple(started), tuple(notices))


def without_recovery(state: MetaState, relation_ids: Collection[int]) -> MetaState:
    """`state` in which those of the relations that are still being recovered stay without rows."""
    unfinished = [
        relation
        for relation_id in relation_ids
        if (relation := state.catalog.relations.get(relation_id)) is not None
        and (relation.is_being_created and relation.has_no_answer)
    ]
    for relation in with_all_readers(state, unfinished):
        if relation.has_no_answer:
            stopped = without_job(state, relation.relation_id)
            state = with_status(stopped, relation.relation_id, JobStatus.UNRECOVERED)
    return replace(state, graph_version=state.graph_version + 1)


def with_partial_made_anew(state: MetaState) -> MetaState:
    """`state` in which a relation that is partly stored, and its readers, are to start again."""
    relation = None if state.partial is None else state.catalog.relations[state.partial]
    if relation is None:
        return state
    for each in with_all_readers(state, [relation]):
        if each.is_being_created and not each.has_no_answer:
            state = without_relation(state, each)
        else:
            state = with_status(without_job(state, each.relation_id), each.relation_id, JobStatus.FAILED)
    failed = state.catalog.relations.get(relation.relation_id)
    return state if failed is None else recover(state, [failed])[0]


class RecoverCommand:
    """Any thread may call it."""

    def __init__(self, changes: GraphChanges, waiters: Waiters) -> None:
        self._changes = changes
        self._waiters = waiters

    def run(self, change: Callable[[MetaState], tuple[MetaState, Recovered]], cancelled: Cancelled = None) -> Recovered:
        """Applies `recover` or `recover_all`, and returns when all have their rows. Raises the first error of a job.

        If it is cancelled, what has not recovered until then has failed again. If the server stops, it goes on later.
        """
        made = Recovered()

        def apply(state: MetaState) -> MetaState:
            nonlocal made
            after, made = change(state)
            return after

        self._changes.apply(apply, cancelled)
        try:
            for relation_id in made.relation_ids:
                self._waiters.until_recovered(relation_id, cancelled)
        except QueryCanceled:
            self._changes.submit(lambda state: without_recovery(state, made.relation_ids))
            raise
        return made


def _obstacle(state: MetaState, relation: CreatedRelation) -> SqlError | None:
    """Why a relation cannot start again; None if it can."""
    if relation.is_being_created and relation.has_no_answer:
        return SqlError(f'{relation.noun} "{relation.name}" is being recovered', sqlstate=_GONE)
    if not relation.has_stopped:
        return SqlError(f'{relation.noun} "{relation.name}" has not failed', sqlstate=_GONE)
    if not isinstance(relation, RecoverableRelation):
        hint = "Materialized views, indexes and sinks can be made anew from what they read."
        return SqlError(f'cannot recover {relation.noun} "{relation.name}"', sqlstate=_GONE, hint=hint)
    needed = _failed_upstream(state, relation)
    if needed is not None:
        hint = f"RECOVER {needed.noun.upper()} {needed.name} starts its readers, too."
        message = f'cannot recover {relation.noun} "{relation.name}": {needed.noun} "{needed.name}" has failed'
        return SqlError(message, sqlstate=_GONE, hint=hint)
    if relation.relation_id not in state.stopped:
        message = f'cannot recover {relation.noun} "{relation.name}": it failed under an earlier version of RisingPy'
        return SqlError(message, sqlstate=_GONE, hint=f"DROP the {relation.noun} and create it again.")
    return None


def _failed_upstream(state: MetaState, relation: CreatedRelation) -> CreatedRelation | None:
    """What the relation reads, or writes to, that has failed, too."""
    read = (state.catalog.relations.get(each) for each in relation.depends_on)
    return next((each for each in read if each is not None and each.has_stopped), None)


def _begun(state: MetaState, relation: CreatedRelation) -> MetaState:
    if isinstance(relation, Sink):
        relations = {**state.catalog.relations, relation.relation_id: replace(relation, failure=None)}
        state = replace(state, catalog=replace(state.catalog, relations=relations))
    purge = state.purge | own_tables(state.stopped[relation.relation_id])
    return with_status(replace(state, purge=purge), relation.relation_id, JobStatus.RECOVERING)
