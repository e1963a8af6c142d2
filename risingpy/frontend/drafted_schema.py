"""The changes of the schema that a session's open transaction has made: they are seen by the session alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import QueryCanceled
from risingpy.frontend.transaction import Transaction
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.database import Database
from risingpy.meta.schema.drafts.draft import Draft, RelationName
from risingpy.plan.catalog import Catalog, JobRelation, JobStatus

NAMES = 0  # stands for a table's id in locks of names


class DraftedSchema:
    """For the session's own thread. `see` has the session's names and rows be those of a database."""

    def __init__(
        self,
        transaction: Transaction,
        cancelled: CancelFlag,
        see: Callable[[Database], None],
        notice: Callable[[str], None],
    ) -> None:
        self._transaction = transaction
        self._cancelled = cancelled
        self._see = see
        self._notice = notice
        self._connected: Database | None = None  # as everybody sees it, while there is a draft
        self._draft: Draft | None = None

    @property
    def is_there(self) -> bool:
        """Whether the transaction may have changed the schema."""
        return self._draft is not None

    def begin(self, database: Database) -> None:
        """A statement is about to change the schema in a transaction block."""
        if self._draft is None:
            self._draft, self._connected = database.draft(self._hold), database
            self._see(database.drafted(self._draft))

    def mark(self) -> Callable[[], None]:
        """A function that undoes, later in this transaction, the changes after this call."""
        before = 0 if self._draft is None else self._draft.mark()

        def go_back() -> None:
            if self._draft is not None and before:
                self._draft.go_back(before)
            else:
                self.forget()

        return go_back

    def forget(self) -> None:
        """The transaction has ended, or is undone: the session sees what everybody does."""
        connected, self._draft, self._connected = self._connected, None, None
        if connected is not None:
            self._see(connected)

    def shown(self, catalog: Catalog) -> Catalog:
        """A catalog of the session's, in which indexes and views that the transaction has made are there already.

        They have no rows before the commit. Jobs may read them: these begin then, too, and are created no sooner.
        """
        made = () if self._draft is None else self._draft.made()
        new = (each for each in made if isinstance(each, JobRelation) and each.is_being_created)
        created = {each.relation_id: replace(each, status=JobStatus.CREATED) for each in new}
        return replace(catalog, relations={**catalog.relations, **created}) if created else catalog

    def commit(self) -> None:
        """Applies the changes, with the transaction's writes; waits until new jobs have their upstreams' rows.

        The transaction goes on without changes, and ends next. Raises SqlError, and nothing is applied then.
        """
        draft, connected = self._draft, self._connected
        if draft is None or connected is None:
            return
        if draft.is_empty:
            self.forget()
            return
        made = [each for each in draft.made() if each.is_being_created]
        self._transaction.write_with(draft, self._cancelled)
        self.forget()
        try:
            connected.until_created([each.relation_id for each in made], self._cancelled)
        except QueryCanceled:
            names = ", ".join(f'{each.noun} "{each.name}"' for each in made)
            self._notice(f"the transaction is committed, and the creation of {names} goes on in the background")

    def _hold(self, relation_ids: Sequence[int], names: Sequence[RelationName]) -> None:
        if names:
            self._transaction.hold_rows(NAMES, names, self._cancelled)
        for relation_id in relation_ids:
            self._transaction.keep(relation_id, self._cancelled)
