"""What short SELECTs of one relation look at first: whether anything is not as usual. Then they raise TakesLonger.

A failed transaction, another catalog, a view that has stopped, statements that are logged: the long way knows what to
do then. For rows that an epoch must compute first, they wait without a thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from risingpy.frontend.command import PlainQuery
from risingpy.frontend.parameters.kinds import Visibility
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.results import TakesLonger
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.session.waits import EpochWait, look_at_followed
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.epochs.published_state import is_partial
from risingpy.meta.reads import Glance
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import StoredRelation

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_KIND = Select.__name__  # as the statistics of statements call it


class ShortSelect:
    """A SELECT of one session, from one relation. `is_stale`: it will raise TakesLonger for ever."""

    def __init__(
        self, context: SessionContext, clock: StatementClock, relation: StoredRelation, plain: PlainQuery, text: str
    ) -> None:
        self.is_stale = False
        self._context = context
        self._clock = clock
        self._text = text
        self._relation_id = relation.relation_id
        self._relations = (relation.relation_id, *plain.dependencies)
        catalog = context.database.reads.catalog
        self._below = catalog.relations_below((relation.relation_id,))
        self._tables = catalog.tables_below((relation.relation_id,))
        self._version = catalog.version, context.settings.version
        self._catalog: object = None  # the state's, when its relations were looked at last
        self._changes = -1  # of the settings, likewise
        self._visibility = ""
        self._epoch_wait: EpochWait | None = None
        self._waited: EpochWait | None = None  # that this run of it has behind it
        self._may_wait = False

    def _look_at_session(self) -> None:
        """What each run begins with."""
        wait, self._epoch_wait = self._epoch_wait, None
        self._waited = wait if wait is not None and wait.is_over else None
        transaction = self._context.transaction
        if transaction.is_open and (transaction.implicit or transaction.status is not TransactionStatus.ACTIVE):
            raise TakesLonger
        if self._context.settings.changes != self._changes:
            self._look_at_settings()

    def _newest(self) -> Glance:
        """The newest state and view, if they have all that the statement may see. Raises Awaits if an epoch will."""
        transaction = self._context.transaction
        if transaction.has_changes and self._has_touched():
            raise TakesLonger
        if transaction.followed:
            look_at_followed(transaction)
        found = self._glance() or self._after_epoch()
        self._look_at(found[0])
        return found

    def _glance(self) -> Glance | None:
        """The newest state and view; None if they lack rows that were acknowledged when the statement began."""
        reads = self._context.database.reads
        if self._waited is not None:
            found = reads.glance(())
            if found is not None and found[0].committed.lsn >= self._waited.lsn:
                return found  # whatever others have written since
        return reads.glance(self._tables if self._visibility == Visibility.STRICT else ())

    def _after_epoch(self) -> Glance:
        """Raises Awaits until the epoch is there that the statement needs, and TakesLonger if it may not wait for it.

        Returns what there is now, if that is enough after all.
        """
        reads = self._context.database.reads
        lsn, found = reads.last_lsn_of(self._tables), reads.glance(())
        if found is None or self._visibility != Visibility.STRICT:
            raise TakesLonger
        if found[0].committed.lsn >= lsn:
            return found
        if not self._may_wait:
            raise TakesLonger
        self._epoch_wait = EpochWait(self._context, self._text, lsn)
        raise self._epoch_wait.awaited()

    def _ran(self, began: float) -> None:
        """It has run; `began` is of `time.perf_counter`."""
        self._context.record.ran(self._text)
        self._context.scope.note_query()
        self._clock.ran(_KIND, time.perf_counter() - (began if self._waited is None else self._waited.began))

    def _has_touched(self) -> bool:
        """Whether the transaction has written to what is read, or to what that is made of."""
        transaction = self._context.transaction
        is_kept = not transaction.kept.table_ids.isdisjoint(self._relations)
        return is_kept or (transaction.has_chunks and not transaction.chunk_tables.isdisjoint(self._relations))

    def _look_at(self, state: MetaState) -> None:
        if self._must_wait(state):
            raise TakesLonger
        if state.catalog is not self._catalog:
            self._look_at_catalog(state)

    def _must_wait(self, state: MetaState) -> bool:
        if state.partial is not None and is_partial(state, (self._relation_id,)):
            return True
        if self._visibility == Visibility.CHECKPOINT:
            return False
        if state.set_aside and not self._below.isdisjoint(state.behind):
            return True
        return self._visibility != Visibility.STRICT and state.committed.lsn < self._context.transaction.last_lsn

    def _look_at_settings(self) -> None:
        settings = self._context.settings
        self._look_at_version()
        if settings.get("log_statement") == "all" or int(settings.get("log_min_duration_statement")) >= 0:
            raise TakesLonger
        self._may_wait = not int(settings.get("statement_timeout"))
        self._visibility, self._changes = settings.get("visibility_mode"), settings.changes

    def _look_at_catalog(self, state: MetaState) -> None:
        self._look_at_version()
        for relation in map(state.catalog.get, self._relations):
            if relation is not None and (relation.has_stopped or relation.has_no_answer):
                raise TakesLonger
        self._catalog = state.catalog

    def _look_at_version(self) -> None:
        context = self._context
        if self._version != (context.database.reads.catalog.version, context.settings.version):
            self.is_stale = True
            raise TakesLonger
