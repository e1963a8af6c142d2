"""A transaction's changes of the schema: what they make of the state, seen by nobody else, until they are applied.

A draft is a list of changes, which are functions from state to state, and the state that they give. If other sessions
change the schema meanwhile, the list is applied again, to the newest state. So a draft sees what others commit, as its
transaction does. The commit is the same list, applied by the barrier loop between two epochs as one change.

Each time a change is applied it gives the same ids and versions: of ids that were reserved for it, and from the version
and the epoch that it saw first. So the ids that later changes, rows and statements have are right at the commit, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from risingpy.errors import SqlError
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.graph_changes import ComputeAgain, GraphChange, GraphChanges, LoggedRows
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import TableChange, refuse_stale
from risingpy.plan.catalog import Catalog, CreatedRelation, Table
from risingpy.storage.engine.read_views import ReadView

IDS = 64  # that are reserved at once: most transactions make a few objects

RelationName = tuple[int, str, str]
"""The database, the schema and the name."""

Hold = Callable[[Sequence[int], Sequence[RelationName]], None]
"""Locks relations, by their ids, and names, until the transaction ends. Both are sorted."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A change, and where its numbers begin: those of new objects, of the catalog's versions, and of the epoch."""

    change: GraphChange
    first_id: int
    version: int
    epoch: int

    def on(self, state: MetaState) -> tuple[MetaState, int]:
        """(`state` with the change made, the end of the ids that it has given)."""
        catalog, committed = state.catalog, state.committed
        if catalog.version != self.version:
            catalog = replace(catalog, version=self.version)
        before = replace(state, catalog=catalog, next_id=self.first_id, committed=replace(committed, epoch=self.epoch))
        after = self.change(before)
        version = max(state.catalog.version + 1, after.catalog.version)
        catalog = replace(after.catalog, version=version)
        next_id = max(state.next_id, after.next_id)
        return replace(after, catalog=catalog, next_id=next_id, committed=committed), after.next_id


class Draft:
    """Takes the place of `GraphChanges` and of `PublishedState` for one transaction. For its session's thread."""

    def __init__(self, published: PublishedState, changes: GraphChanges, hold: Hold) -> None:
        """`hold` waits for other transactions that have the objects, and raises an error if it may not wait."""
        self._published = published
        self._changes = changes
        self._hold = hold
        self._steps: list[_Step] = []
        self._base = self._state = published.state
        self._ids = range(0)  # reserved, and not given yet
        self._is_applying = False

    @property
    def state(self) -> MetaState:
        """The newest state, as it will be after the commit."""
        return self.over(self._published.state)

    def over(self, newest: MetaState) -> MetaState:
        """A published state, with the changes made.

        If they cannot be made any more, because of what others have changed, it is the last one on which they could:
        the commit will raise the error.
        A change that asks its session something while it is made again, as for its user, finds the last one, too.
        """
        base = self._base
        if newest is base or self._is_applying:
            return self._state
        if newest.catalog is base.catalog and newest.jobs is base.jobs:
            self._state = replace(self._state, committed=newest.committed, set_aside=newest.set_aside)
        else:
            try:
                self._state = self._applied(newest)
            except (SqlError, ComputeAgain):
                return self._state
        self._base = newest
        return self._state

    @property
    def is_empty(self) -> bool:
        return not self._steps

    def mark(self) -> int:
        """What `go_back` takes: how many changes there are."""
        return len(self._steps)

    def go_back(self, mark: int) -> None:
        """Forgets the changes after a mark."""
        del self._steps[mark:]
        self._base = self._published.state
        self._state = self._applied(self._base)

    # As `PublishedState`

    def acquire_view(self, relation_ids: Collection[int] = ()) -> tuple[MetaState, ReadView]:
        """The newest published rows, and the draft over their state. The caller releases the view."""
        state, view = self._published.acquire_view(relation_ids)
        return self.over(state), view

    def glance(self) -> tuple[MetaState, ReadView] | None:
        """None: a transaction reads in the long way."""
        return None

    def has_whole(self, relation_ids: Collection[int]) -> bool:
        return self._published.has_whole(relation_ids)

    # As `GraphChanges`

    def apply(self, change: GraphChange, cancelled: Cancelled = None) -> MetaState:
        """Makes one more change, and returns the state after it.

        Locks what it changes, and the names that it takes or gives up, until the transaction ends. Raises what `hold`
        raises, and what the change raises: then it is not made.
        """
        while True:
            before, published = self.state, self._published.state
            try:
                step, after, end = self._tried(change, before, cancelled)
            except ComputeAgain as again:
                again.compute()
                continue
            self._hold(sorted(_altered(before.catalog, after.catalog)), sorted(_names(before.catalog, after.catalog)))
            if self._published.state.catalog is not published.catalog:
                continue  # somebody has changed the schema since `before`, perhaps what this has just locked
            self._ids = range(end, self._ids.stop) if end > step.first_id else self._ids
            self._steps.append(step)
            self._state = after
            return after

    def submit(self, change: GraphChange) -> Future[MetaState]:
        """As `apply`; the change has been made when this returns."""
        future: Future[MetaState] = Future()
        future.set_result(self.apply(change))
        return future

    # The end of the transaction

    def commit(self, rows: LoggedRows, cancelled: Cancelled = None) -> MetaState:
        """Applies all changes as one, between two epochs, durably and together with the transaction's rows.

        Raises SqlError if a change, or a row, does not fit the schema as others have made it. Then nothing is applied.
        """

        def change(state: MetaState) -> MetaState:
            after = self._applied(state)
            for each in rows.changes:
                refuse_stale(after.catalog, each)
            return after

        return self._changes.apply(change, cancelled, rows)

    def kept(self, changes: Sequence[TableChange]) -> list[TableChange]:
        """Those of the transaction's rows whose tables it has not dropped, under the constraints that hold now.

        A change of constraints has looked at all rows of before, which only this transaction could write since.
        """
        kept, relations, published = [], self.state.catalog.relations, self._published.state.catalog.relations
        for each in changes:
            table = relations.get(each.table_id)
            if isinstance(table, Table):
                is_changed = table is not published.get(each.table_id)
                kept.append(replace(each, rules=table.rules) if is_changed else each)
        return kept

    def made(self) -> Iterator[CreatedRelation]:
        """The relations that are in the draft and not in the published state."""
        published = self._published.state.catalog.relations
        return (each for key, each in self.state.catalog.relations.items() if key not in published)

    def _applied(self, state: MetaState) -> MetaState:
        self._is_applying = True
        try:
            for step in self._steps:
                state, _ = step.on(state)
        finally:
            self._is_applying = False
        return state

    def _tried(self, change: GraphChange, before: MetaState, cancelled: Cancelled) -> tuple[_Step, MetaState, int]:
        """(The step, the state after it, the end of the ids that it gives), with ids that are reserved."""
        # Jobs run in the order of their ids. So an id is greater than those of all that its object may read.
        if self._ids.stop != self._published.state.next_id:
            self._ids = range(0)
        while True:
            first = self._ids.start if self._ids else before.next_id
            step = _Step(change, first, before.catalog.version, before.committed.epoch)
            after, end = step.on(before)
            if end == first or (self._ids and end <= self._ids.stop):
                return step, after, end
            self._ids = self._reserved(max(IDS, 2 * (end - first)), cancelled)

    def _reserved(self, count: int, cancelled: Cancelled) -> range:
        """The next ids of the catalog, which nobody else will get."""
        end = self._changes.apply(lambda state: replace(state, next_id=state.next_id + count), cancelled).next_id
        return range(end - count, end)


def _altered(before: Catalog, after: Catalog) -> Iterator[int]:
    """The ids of relations that are gone, or that statements of before the change do not fit any more."""
    for relation_id, relation in before.relations.items():
        now = after.relations.get(relation_id)
        if now is not relation and (now is None or _form(now) != _form(relation)):
            yield relation_id


def _form(relation: CreatedRelation) -> tuple[object, ...]:
    rules = relation.rules if isinstance(relation, Table) else 0
    return relation.schema_name, relation.name, relation.version, rules


def _names(before: Catalog, after: Catalog) -> Collection[RelationName]:
    """The names that are taken or given up."""
    if before.relations is after.relations:
        return ()
    return _all_names(before) ^ _all_names(after)


def _all_names(catalog: Catalog) -> set[RelationName]:
    return {(each.database_id, each.schema_name, each.name) for each in catalog.relations.values()}
