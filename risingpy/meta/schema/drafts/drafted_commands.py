"""CREATE, ALTER and DROP within a transaction: they change its draft, and wait for no epoch.

What would have to wait begins at the commit: jobs read their upstreams' rows then. What must have its rows before
anybody sees it, and gets them from elsewhere, cannot be made so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from risingpy.errors import FeatureNotSupported
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.graph_changes import NoticedChange
from risingpy.meta.schema import primary_key, relations, tables
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.meta.schema.jobs.created_jobs import FOREGROUND, Creation
from risingpy.meta.schema.primary_key import NewKey
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, FollowedRelation, Relation, Subscription, Table


class DraftedCommands(SchemaCommands):
    """For one transaction's session. Its `published` and its `changes` are the draft, which locks what is changed."""

    def create_filled_table(
        self,
        table: tables.NewTable,
        fill: Callable[[Table], int],
        *,
        if_not_exists: bool = False,
        cancelled: Cancelled = None,
    ) -> bool:
        raise refused("a table that is filled while it is created")

    def create_materialized_view(
        self,
        view: relations.NewMaterializedView,
        *,
        if_not_exists: bool = False,
        creation: Creation = FOREGROUND,
        replaced: int | None = None,
        cancelled: Cancelled = None,
    ) -> tuple[bool, tuple[str, ...]]:
        if view.is_temporary:
            raise refused("SUBSCRIBE to a query after a change of the schema")
        if replaced is not None:
            raise refused("CREATE OR REPLACE of a materialized view that is there")
        return super().create_materialized_view(
            view, if_not_exists=if_not_exists, creation=creation, cancelled=cancelled
        )

    def create_temporary_subscription(self, relation: FollowedRelation, cancelled: Cancelled = None) -> Subscription:
        raise refused("SUBSCRIBE after a change of the schema")

    def add_primary_key(self, change: NewKey, fill: Callable[[Table], int], cancelled: Cancelled = None) -> None:
        """The caller writes the table's rows to the copy, which is in its place then: they are the transaction's."""

        def replace(state: MetaState) -> MetaState:
            after, copies = primary_key.add_copies(state, change, self._table_rows)
            return primary_key.put_in_place(after, change, copies)

        self._apply_allowed(replace, cancelled)

    def drop_all(
        self,
        locked: Callable[[Catalog], Iterable[Relation]],
        change: NoticedChange,
        *,
        cancelled: Cancelled = None,
        process_id: int = 0,
    ) -> tuple[str, ...]:
        return self._notices_of(change, cancelled)

    def _take_in(self, table_id: int, cancelled: Cancelled) -> None:
        if tables.pushing_source(self._state, table_id) is not None:
            raise refused("a table that another system's changes fill")

    def _until_created(
        self, relation_id: int, creation: Creation, cancelled: Cancelled, then: Callable[[], None] | None = None
    ) -> None:
        """It begins at the commit."""

    def _until_keyed(self, table_id: int, cancelled: Cancelled) -> None:
        """Until the commit, the index has no rows, and keys are looked up in the table."""

    def _until_indexed(self, table_id: int) -> None:
        """As above."""


def refused(what: str) -> FeatureNotSupported:
    """The error of what cannot be undone by a rollback, or seen before a commit."""
    return FeatureNotSupported(
        f"{what} is not supported inside a transaction block", hint="Run the statement on its own, outside of BEGIN."
    )
