"""The schema commands of statements: each is applied between two epochs, waited for, and undone if it is cancelled.

The other modules of this folder compute the changed states, one for each kind of object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import CannotConnectNow
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.epochs.graph_changes import GraphChange, NoticedChange, TakesChanges
from risingpy.meta.epochs.published_state import ReadableState
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.feeds.feeds import Feeds
from risingpy.meta.schema import alter, primary_key, relations, sinks, sources, subscriptions, tables
from risingpy.meta.schema.alter import NewName, TableReplacement
from risingpy.meta.schema.altered_table import replace_altered
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.jobs.created_jobs import (
    FOREGROUND,
    CreatedJobs,
    Creation,
    all_gone_if_cancelled,
    gone_if_cancelled,
    with_limit,
)
from risingpy.meta.schema.jobs.replacing import beside, with_replaced
from risingpy.meta.schema.jobs.views_of_copy import Copies
from risingpy.meta.schema.named_changes import NamedChanges
from risingpy.meta.schema.owners import owning
from risingpy.meta.schema.planned_ahead import PlannedAhead, planned_ahead
from risingpy.meta.schema.primary_key import NewKey
from risingpy.meta.schema.secrets import HiddenTarget, drop_hidden
from risingpy.meta.state import MetaState
from risingpy.meta.writing.table_locks import LockMode, TableLocks
from risingpy.plan.catalog import (
    Catalog,
    FollowedRelation,
    Relation,
    Sink,
    Subscription,
    Table,
)


class SchemaCommands(NamedChanges):
    """Any thread may call these. Methods that block take a `cancelled` event and raise QueryCanceled.

    What they create belongs to the bootstrap superuser and the default database, but for `owned_by` and `seen_from`.
    """

    def __init__(
        self,
        *,
        published: ReadableState,
        waiters: Waiters,
        changes: TakesChanges,
        locks: TableLocks,
        source_offsets: SourceOffsets,
        feeds: Feeds,
        vault: Vault,
        table_rows: Callable[[int], int],
    ) -> None:
        super().__init__(published, changes)
        self._waiters = waiters
        self._locks = locks
        self._source_offsets = source_offsets
        self._feeds = feeds
        self._vault = vault
        self._table_rows = table_rows  # how many rows a relation has now
        self.jobs = CreatedJobs(changes, waiters)

    def create_table(self, table: tables.NewTable, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates a table; False if it exists and `if_not_exists`.

        One that copies another has all its rows then. A source that feeds it must answer. A failed one is gone.
        """
        if table.source is not None and not (if_not_exists and self._exists(table)):
            sources.check_reachable(self._state.catalog, self._vault, table.source.stored)
        made: list[int] = []

        def add(state: MetaState) -> MetaState:
            after, table_id = tables.add_table(state, table)
            made.append(table_id)
            return after

        if not self._create(table.schema_name, table.name, if_not_exists, add, cancelled):
            return False
        self._take_in(made[-1], cancelled)
        if table.uniques:
            with gone_if_cancelled(self._changes, made[-1]):
                self._until_keyed(made[-1], cancelled)
                self._apply(lambda state: tables.with_created(state, made[-1]), cancelled)
        return True

    def create_filled_table(
        self,
        table: tables.NewTable,
        fill: Callable[[Table], int],
        *,
        if_not_exists: bool = False,
        cancelled: Cancelled = None,
    ) -> bool:
        """As `create_table`, with the rows that `fill` writes; it returns the lsn of the last one."""
        made: list[int] = []

        def add(state: MetaState) -> MetaState:
            after, table_id = tables.add_table(state, table)
            made.append(table_id)
            return after

        if not self._create(table.schema_name, table.name, if_not_exists, add, cancelled):
            return False
        with gone_if_cancelled(self._changes, made[-1]):
            created = self._state.catalog.relations[made[-1]]
            assert isinstance(created, Table)
            self._waiters.until_lsn(fill(created), cancelled)
            self._apply(lambda state: tables.with_created(state, made[-1]), cancelled)
        return True

    def _exists(self, new: tables.NewTable | sources.NewSource | sinks.NewSink) -> bool:
        return self._state.catalog.find(new.name, new.schema_name, ()) is not None

    def _take_in(self, table_id: int, cancelled: Cancelled) -> None:
        """Waits until a new table that a pushed source fills has the first rows; only then can it be read."""
        source_id = tables.pushing_source(self._state, table_id)
        if source_id is None:
            return
        with gone_if_cancelled(self._changes, table_id):
            lsn = self._feeds.until_taken_in(source_id, table_id, cancelled)
            self._waiters.until_lsn(lsn, cancelled)
            self._apply(lambda state: tables.with_created(state, table_id), cancelled)

    def create_view(
        self,
        view: relations.NewView,
        *,
        if_not_exists: bool = False,
        or_replace: bool = False,
        cancelled: Cancelled = None,
    ) -> bool:
        """Creates a plain view; False if it exists and `if_not_exists`."""
        add = partial(relations.add_view, view=view, or_replace=or_replace)
        return self._create(view.schema_name, view.name, if_not_exists, add, cancelled)

    def create_source(
        self, source: sources.NewSource, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> bool:
        """Creates an external source, if the other side answers; False if it exists and `if_not_exists`."""
        if not (if_not_exists and self._exists(source)):
            sources.check_reachable(self._state.catalog, self._vault, source.stored)
        return self._create(
            source.schema_name, source.name, if_not_exists, lambda state: sources.add_source(state, source), cancelled
        )

    def create_materialized_view(
        self,
        view: relations.NewMaterializedView,
        *,
        if_not_exists: bool = False,
        creation: Creation = FOREGROUND,
        replaced: int | None = None,
        cancelled: Cancelled = None,
    ) -> tuple[bool, tuple[str, ...]]:
        """Creates a view and returns when it has its upstreams' rows: (created, notices).

        Then it takes the place of the view with the id `replaced`. If it is cancelled or fails, nothing of it remains.
        """
        name, view = view.name, view if replaced is None else beside(view)
        made: list[tuple[int, tuple[str, ...]]] = []
        planned = PlannedAhead(
            lambda state: relations.add_materialized_view(state, view, self._table_rows, check_of(cancelled)),
            self._state,
        )

        def add(state: MetaState) -> MetaState:
            after, told = planned.on(state)
            made.append(told)
            return with_limit(after, told[0], creation.limit)

        if not self._create(view.schema_name, view.name, if_not_exists, add, cancelled):
            return False, ()
        relation_id, notices = made[-1]

        def read_sources() -> None:
            # A source has no snapshot: the view's first epochs read its existing rows.
            target = self._source_offsets.newest(self._state, relation_id)
            self._waiters.until_read(0, target, cancelled, self._source_offsets.answers)

            if replaced is not None:
                self._apply_allowed(lambda state: with_replaced(state, replaced, relation_id, name), cancelled)

        self._until_created(relation_id, creation, cancelled, read_sources)
        return True, notices

    def create_sink(
        self,
        sink: sinks.NewSink,
        *,
        if_not_exists: bool = False,
        creation: Creation = FOREGROUND,
        cancelled: Cancelled = None,
    ) -> bool:
        """Creates a sink, if the other side takes it, and returns when it has its query's rows.

        False if it exists and `if_not_exists`. If it is cancelled or fails, nothing of it remains, and nothing was
        delivered.
        """
        if if_not_exists and self._exists(sink):
            return False
        made: list[Sink] = []
        rows, check = self._table_rows, check_of(cancelled)
        planned = PlannedAhead(lambda state: sinks.add_sink(state, sink, rows, check), self._state)
        relation = planned.by_statement(self._state)[1]
        if relation.into is None:
            sinks.sink_target(self._state.catalog, relation, self._vault).check()

        def add(state: MetaState) -> MetaState:
            after, relation = planned.on(state)
            made.append(relation)
            return with_limit(after, relation.relation_id, creation.limit)

        if not self._create(sink.schema_name, sink.name, if_not_exists, add, cancelled):
            return False
        self._until_created(made[-1].relation_id, creation, cancelled)
        return True

    def create_subscription(
        self, subscription: subscriptions.NewSubscription, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> bool:
        """Creates a subscription; False if it exists and `if_not_exists`. It has the changes of all later epochs."""

        def add(state: MetaState) -> MetaState:
            return subscriptions.add_subscription(state, subscription)[0]

        return self._create(subscription.schema_name, subscription.name, if_not_exists, add, cancelled)

    def create_temporary_subscription(self, relation: FollowedRelation, cancelled: Cancelled = None) -> Subscription:
        """Keeps a relation's changes for one reader, until `drop_unused` or a restart."""
        made: list[Subscription] = []
        wanted = subscriptions.temporary_subscription(relation)

        def add(state: MetaState) -> MetaState:
            after, added = subscriptions.add_subscription(state, wanted)
            made.append(added)
            return after

        self._apply(add, cancelled)
        return made[-1]

    def drop_unused(self, relation_id: int) -> None:
        """Drops a relation that no other session knows, soon. It may be gone already."""
        with suppress(CannotConnectNow):  # the next start drops it
            self._changes.submit(lambda state: relations.without_relation_id(state, relation_id))

    def create_index(
        self,
        index: NewIndex,
        *,
        if_not_exists: bool = False,
        creation: Creation = FOREGROUND,
        cancelled: Cancelled = None,
    ) -> bool:
        """Creates an index and returns when it has all rows; False if it exists and `if_not_exists`."""
        made: list[int] = []

        def add(state: MetaState) -> MetaState:
            after, index_id = add_index(state, index)
            made.append(index_id)
            return with_limit(after, index_id, creation.limit)

        created = self._create(index.relation.schema_name, index.name, if_not_exists, add, cancelled)
        if created:
            self._until_created(made[-1], creation, cancelled)
        return created

    def drop(
        self,
        names: Sequence[relations.DropTarget],
        *,
        if_exists: bool,
        cascade: bool,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        """Drops relations; returns notices. Raises DependentObjectsStillExist if others need them."""
        return self.drop_all(
            lambda catalog: relations.drop_targets(catalog, names),
            lambda state: relations.drop_relations(state, names, if_exists=if_exists, cascade=cascade),
            cancelled=cancelled,
            process_id=process_id,
        )

    def replace_table(self, change: TableReplacement, cancelled: Cancelled = None) -> tuple[str, ...]:
        """ALTER TABLE: replaces the table by its new form; returns notices.

        The caller holds `table_lock`, and has waited until epochs have all of the table's logged rows.

        Raises SerializationFailure if the table was altered since the change was planned.
        """
        notices = self._notices_of(lambda state: replace_altered(state, change), cancelled)
        if change.keys.remade:
            self._until_indexed(change.relation.relation_id)
        else:
            self._until_keyed(change.relation.relation_id, cancelled)
        return notices

    def _until_created(
        self, relation_id: int, creation: Creation, cancelled: Cancelled, then: Callable[[], None] | None = None
    ) -> None:
        """See `CreatedJobs.until_created`."""
        self.jobs.until_created(relation_id, creation, cancelled, then)

    def _until_keyed(self, table_id: int, cancelled: Cancelled) -> None:
        """Waits until a table's new unique indexes have all rows. If it is cancelled or fails, they are gone."""
        made = [i.relation_id for i in self._state.catalog.unique_indexes_of(table_id) if i.is_being_created]
        with all_gone_if_cancelled(self._changes, made):
            self._waiters.until_all_created(made, cancelled)

    def _until_indexed(self, table_id: int) -> None:
        """Waits until all indexes of a table have its rows. Nothing ends it: the table has its new form already."""
        self._waiters.until_all_created([each.relation_id for each in self._state.catalog.indexes_of(table_id)])

    def add_primary_key(self, change: NewKey, fill: Callable[[Table], int], cancelled: Cancelled = None) -> None:
        """Puts a copy of the table, under the key, in its place, and copies of the materialized views that read it.

        `fill` writes the table's rows to the copy, and returns the lsn of the last one. The caller holds `table_lock`,
        and has waited until epochs have all of the table's logged rows. If it is cancelled or fails, or the server is
        stopped, the table and its views are as they were.
        """
        made: list[Copies] = []
        planned = PlannedAhead(lambda state: primary_key.add_copies(state, change, self._table_rows), self._state)

        def add(state: MetaState) -> MetaState:
            after, copies = planned.on(state)
            made.append(copies)
            return after

        self._apply_allowed(add, cancelled)
        copies = [new for _, new in made[-1]]
        with all_gone_if_cancelled(self._changes, copies):
            copy = self._state.catalog.relations[copies[0]]
            assert isinstance(copy, Table)
            self._waiters.until_lsn(fill(copy), cancelled)
            self._waiters.until_all_created(copies[1:], cancelled)
            for view in copies[1:]:  # see `create_materialized_view`
                target = self._source_offsets.newest(self._state, view)
                self._waiters.until_read(0, target, cancelled, self._source_offsets.answers)
            self._apply(lambda state: primary_key.put_in_place(state, change, made[-1]), cancelled)
        # Nothing undoes the key any more, nor ends a unique index: it goes on after a restart, too.
        catalog = self._state.catalog
        self._waiters.until_all_created([i.relation_id for each in copies for i in catalog.indexes_of(each)])

    def rename(self, change: NewName, cancelled: Cancelled = None) -> None:
        """Gives a relation another name or schema."""
        self._apply_allowed(planned_ahead(lambda state: alter.rename(state, change), self._state), cancelled)

    def swap(self, other_id: int, change: NewName, cancelled: Cancelled = None) -> None:
        """Exchanges the names of two relations."""
        self._apply_allowed(planned_ahead(lambda state: alter.swap(state, other_id, change), self._state), cancelled)

    def change(self, change: GraphChange, cancelled: Cancelled = None) -> None:
        """Applies a change of another module (`functions`, `roles`, …) between two epochs."""
        self._apply_allowed(owning(change, self.owner), cancelled)

    def change_soon(self, change: GraphChange) -> None:
        """A change of what is in all databases, for which nobody waits. It is applied before all that come later."""
        self._changes.submit(change)

    def drop_hidden(
        self, targets: Sequence[HiddenTarget], *, if_exists: bool, cascade: bool, cancelled: Cancelled = None
    ) -> tuple[str, ...]:
        """Drops secrets or connections; returns notices. Raises DependentObjectsStillExist if others need them."""
        notices = self._notices_of(
            lambda state: drop_hidden(state, targets, if_exists=if_exists, cascade=cascade), cancelled
        )
        self._feeds.until_forgotten()
        return notices

    def drop_all(
        self,
        locked: Callable[[Catalog], Iterable[Relation]],
        change: NoticedChange,
        *,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        """Applies a change that drops many objects, with the locks of the relations among them; returns notices."""
        ids = {relation.relation_id for relation in locked(self._state.catalog)}
        with self._locks.held(ids, LockMode.ALONE, cancelled, process_id=process_id):
            notices = self._notices_of(change, cancelled)
        self._feeds.until_forgotten()
        return notices
