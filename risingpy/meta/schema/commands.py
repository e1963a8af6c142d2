"""The schema commands of statements: each is applied between two epochs, waited for, and undone if it is cancelled.

`relations.py`, `alter.py` and `indexes.py` compute the changed states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.connectors.registry import connector_of
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.epochs.graph_changes import GraphChange, GraphChanges
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.schema import alter, relations, sources
from risingpy.meta.schema.alter import NewName, TableReplacement
from risingpy.meta.schema.indexes import NewIndex, add_index
from risingpy.meta.schema.new_jobs import gone_if_cancelled
from risingpy.meta.schema.planned_ahead import PlannedAhead
from risingpy.meta.state import MetaState
from risingpy.meta.writing.table_locks import LockMode, TableLocks


class SchemaCommands:
    """Any thread may call these. Methods that block take a `cancelled` event and raise QueryCanceled."""

    def __init__(
        self,
        *,
        published: PublishedState,
        waiters: Waiters,
        changes: GraphChanges,
        locks: TableLocks,
        source_offsets: SourceOffsets,
        table_rows: Callable[[int], int],
    ) -> None:
        self._published = published
        self._waiters = waiters
        self._changes = changes
        self._locks = locks
        self._source_offsets = source_offsets
        self._table_rows = table_rows  # how many rows a relation has now

    def create_table(
        self, table: relations.NewTable, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> bool:
        """Creates a table; False if it exists and `if_not_exists`."""
        return self._create(
            table.schema_name, table.name, if_not_exists, lambda state: relations.add_table(state, table), cancelled
        )

    def create_view(
        self,
        view: relations.NewView,
        *,
        if_not_exists: bool = False,
        or_replace: bool = False,
        cancelled: Cancelled = None,
    ) -> bool:
        """Creates a plain view; False if it exists and `if_not_exists`."""

        def add(state: MetaState) -> MetaState:
            return relations.add_view(state, view, or_replace=or_replace)

        return self._create(view.schema_name, view.name, if_not_exists, add, cancelled)

    def create_source(
        self, source: sources.NewSource, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> bool:
        """Creates an external source, if the other side answers; False if it exists and `if_not_exists`."""
        if not (if_not_exists and self._published.state.catalog.find(source.name, source.schema_name, ())):
            connector_of(dict(source.options)).check()
        return self._create(
            source.schema_name, source.name, if_not_exists, lambda state: sources.add_source(state, source), cancelled
        )

    def create_materialized_view(
        self, view: relations.NewMaterializedView, *, if_not_exists: bool = False, cancelled: Cancelled = None
    ) -> tuple[bool, tuple[str, ...]]:
        """Creates a view and returns when it has its upstreams' rows: (created, notices).

        If it is cancelled or fails, nothing of the view remains.
        """
        made: list[tuple[int, tuple[str, ...]]] = []
        planned = PlannedAhead(
            lambda state: relations.add_materialized_view(state, view, self._table_rows, check_of(cancelled)),
            self._published.state,
        )

        def add(state: MetaState) -> MetaState:
            after, told = planned.on(state)
            made.append(told)
            return after

        if not self._create(view.schema_name, view.name, if_not_exists, add, cancelled):
            return False, ()
        relation_id, notices = made[0]
        with gone_if_cancelled(self._changes, relation_id):
            self._waiters.until_created(relation_id, cancelled)
            # A source has no snapshot: the view's first epochs read its existing rows.
            target = self._source_offsets.newest(self._published.state, relation_id)
            self._waiters.until_read(0, target, cancelled)
        return True, notices

    def create_index(self, index: NewIndex, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates an index and returns when it has all rows; False if it exists and `if_not_exists`."""
        made: list[int] = []

        def add(state: MetaState) -> MetaState:
            after, index_id = add_index(state, index)
            made.append(index_id)
            return after

        created = self._create(index.relation.schema_name, index.name, if_not_exists, add, cancelled)
        if created:
            with gone_if_cancelled(self._changes, made[0]):
                self._waiters.until_created(made[0], cancelled)
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
        tables = {relation.relation_id for relation in relations.drop_targets(self._published.state, names)}
        with self._locks.held(tables, LockMode.ALONE, cancelled, process_id=process_id):
            return self._notices_of(
                lambda state: relations.drop_relations(state, names, if_exists=if_exists, cascade=cascade), cancelled
            )

    def replace_table(self, change: TableReplacement, cancelled: Cancelled = None) -> tuple[str, ...]:
        """ALTER TABLE: replaces the table by its new form; returns notices.

        The caller holds `table_lock`, and has waited until epochs have all of the table's logged rows.

        Raises SerializationFailure if the table was altered since the change was planned.
        """
        return self._notices_of(lambda state: alter.replace_table(state, change), cancelled)

    def rename(self, change: NewName, cancelled: Cancelled = None) -> None:
        """Gives a relation another name or schema."""
        self._changes.apply(lambda state: alter.rename(state, change), cancelled)

    def change(self, change: GraphChange, cancelled: Cancelled = None) -> None:
        """Applies a change of another module (`functions`, `system_parameters`) between two epochs."""
        self._changes.apply(change, cancelled)

    def create_schema(self, name: str, *, if_not_exists: bool = False, cancelled: Cancelled = None) -> bool:
        """Creates a schema; False if it exists and `if_not_exists`."""
        created = True

        def add(state: MetaState) -> MetaState:
            nonlocal created
            created = not (if_not_exists and name in state.catalog.schemas)
            return relations.add_schema(state, name) if created else state

        self._changes.apply(add, cancelled)
        return created

    def drop_schema(
        self,
        name: str,
        *,
        if_exists: bool,
        cascade: bool,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        """Drops a schema; returns notices."""
        known = self._published.state.catalog.relations.values()
        tables = {each.relation_id for each in known if cascade and each.schema_name == name}
        with self._locks.held(tables, LockMode.ALONE, cancelled, process_id=process_id):
            return self._notices_of(
                lambda state: relations.drop_schema(state, name, if_exists=if_exists, cascade=cascade), cancelled
            )

    def _notices_of(
        self,
        change: Callable[[MetaState], tuple[MetaState, Sequence[str]]],
        cancelled: Cancelled = None,
    ) -> tuple[str, ...]:
        """Has `change` applied between two epochs, and returns its notices."""
        notices: Sequence[str] = ()

        def apply(state: MetaState) -> MetaState:
            nonlocal notices
            after, notices = change(state)
            return after

        self._changes.apply(apply, cancelled)
        return tuple(notices)

    def _create(
        self,
        schema_name: str,
        name: str,
        if_not_exists: bool,
        change: GraphChange,
        cancelled: Cancelled = None,
    ) -> bool:
        created = True

        def add(state: MetaState) -> MetaState:
            nonlocal created
            created = not (if_not_exists and state.catalog.find(name, schema_name, ()) is not None)
            return change(state) if created else state

        self._changes.apply(add, cancelled)
        return created
