"""Changes of the schema on behalf of a role and a database: whose the new objects are, and where names are found."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.graph_changes import GraphChange, NoticedChange, TakesChanges
from risingpy.meta.epochs.published_state import ReadableState
from risingpy.meta.schema.demands import Demand, allowed
from risingpy.meta.schema.objects.user_types import with_newest_enums
from risingpy.meta.schema.owners import owning, seen_by
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID, DEFAULT_DATABASE_ID


class NamedChanges:
    """What the commands of the schema share. New objects belong to `owner`, and to the database `database_id`."""

    def __init__(self, published: ReadableState, changes: TakesChanges) -> None:
        self._published = published
        self._changes = changes
        self.owner = BOOTSTRAP_ROLE_ID
        self.database_id = DEFAULT_DATABASE_ID
        self.demands: Sequence[Demand] = ()

    def owned_by(self, role_id: int, demands: Sequence[Demand] = ()) -> Self:
        """The same commands. New objects belong to the role; each begins in a state in which `demands` hold."""
        commands = copy.copy(self)
        commands.owner, commands.demands = role_id, demands
        return commands

    def seen_from(self, database_id: int) -> Self:
        """The same commands, which find and make objects in another database."""
        commands = copy.copy(self)
        commands.database_id = database_id
        return commands

    @property
    def _state(self) -> MetaState:
        """The newest state, as the database sees it."""
        state = self._published.state
        return replace(state, catalog=state.catalog.seen_from(self.database_id))

    def _apply(self, change: GraphChange, cancelled: Cancelled = None) -> None:
        """Applies a change between two epochs, which finds the names of the database."""

        def renewed(state: MetaState) -> MetaState:
            after = change(state)
            return after if after is state else with_newest_enums(state, after)

        self._changes.apply(seen_by(renewed, self.database_id), cancelled)

    def _apply_allowed(self, change: GraphChange, cancelled: Cancelled = None) -> None:
        self._apply(allowed(change, self.demands), cancelled)

    def _notices_of(self, change: NoticedChange, cancelled: Cancelled = None) -> tuple[str, ...]:
        """Has `change` applied between two epochs, and returns its notices."""
        notices: Sequence[str] = ()

        def apply(state: MetaState) -> MetaState:
            nonlocal notices
            after, notices = change(state)
            return after

        self._apply_allowed(apply, cancelled)
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

        self._apply_allowed(owning(add, self.owner), cancelled)
        return created
