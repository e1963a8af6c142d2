"""SELECTs of one row by its key, answered at once: without portals, Arrow, or waiting.

A row of a table that the log has, and no epoch yet, is read there: so a strict read waits for no epoch. So is one that
the session's transaction has written. Each read looks first whether anything is not as usual: a failed transaction,
another catalog, a view whose rows an epoch must compute first, or that has stopped, statements that are logged. Then it
raises TakesLonger, and the long way is taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from risingpy.batch import Datums, PointRead, point_read
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainQuery
from risingpy.frontend.parameters.kinds import Visibility
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.results import Prepared, ShortRead, TakesLonger
from risingpy.frontend.session.commands import Commands, of_types
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.session.waits import look_at_followed
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statements.writes.rows_by_key import log_has_newest_rows
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.epochs.published_state import is_partial
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, StoredRelation, Table

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_KIND = Select.__name__  # as the statistics of statements call it
_MOST = 256  # statements whose short reads are kept, or that they have none


class ShortReads:
    """The short reads of one session, by statement."""

    def __init__(self, context: SessionContext, commands: Commands, clock: StatementClock) -> None:
        self._context = context
        self._commands = commands
        self._clock = clock
        self._known: dict[tuple[str, tuple[int, ...]], tuple[object, ShortRead | None]] = {}

    def of(self, prepared: Prepared) -> ShortRead | None:
        """The short read of a statement; None if it has none, or must be bound first."""
        statement = prepared.statement
        if statement is None:
            return None
        key, version = (statement.text, prepared.declared), self._commands.version()
        known = self._known.get(key)
        if known is not None and known[0] == version:
            return known[1]
        command = self._commands.known(statement, prepared.declared)
        if command is None:
            return None
        point = None
        is_same = of_types(command.fields) == of_types(prepared.fields)
        if is_same and command.parameter_types == prepared.parameter_types and command.plain:
            point = point_read(command.plain.query.plan)
        if len(self._known) >= _MOST:
            self._known.clear()
        found = None
        if point is not None and command.plain is not None:
            found = SessionShortRead(self._context, self._clock, point, command.plain, shown_text(statement))
        self._known[key] = version, found
        return found


def _log_key(catalog: Catalog, relation: StoredRelation) -> tuple[tuple[int, ...] | None, int]:
    """Where in the storage key the columns of the log's keys are, if it has newest rows; and the table's version."""
    if not isinstance(relation, Table) or not log_has_newest_rows(catalog, relation):
        return None, 0
    places = [part.index for part in relation.table.key]
    return tuple(places.index(index) for index in relation.primary_key), relation.version


@dataclass(frozen=True, slots=True)
class _OwnRow:
    """What a transaction has made of a row; None: it has deleted it."""

    row: Datums | None


class SessionShortRead:
    """A `ShortRead`."""

    def __init__(
        self, context: SessionContext, clock: StatementClock, point: PointRead, plain: PlainQuery, text: str
    ) -> None:
        self.is_stale = False
        self._context = context
        self._clock = clock
        self._point = point
        self._text = text
        self._relations = (point.relation.relation_id, *plain.dependencies)
        catalog = context.database.reads.catalog
        self._below = catalog.relations_below((point.relation.relation_id,))
        self._tables = catalog.tables_below((point.relation.relation_id,))
        self._row_key, self._table_version = _log_key(catalog, point.relation)
        self._version = catalog.version, context.settings.version
        self._catalog: object = None  # the state's, when its relations were looked at last
        self._changes = -1  # of the settings, likewise
        self._visibility = ""

    def row(self, parameters: Sequence[object | None]) -> Datums | None:
        """See `ShortRead`."""
        began = time.perf_counter()
        context = self._context
        transaction = context.transaction
        if transaction.is_open and (transaction.implicit or transaction.status is not TransactionStatus.ACTIVE):
            raise TakesLonger
        if context.settings.changes != self._changes:
            self._look_at_settings()
        key = self._point.key(parameters)
        row = None if key is None else self._read(key)
        context.record.ran(self._text)
        self._clock.ran(_KIND, time.perf_counter() - began)
        return row

    def _read(self, key: Sequence[object]) -> Datums | None:
        reads, point = self._context.database.reads, self._point
        if self._context.transaction.has_changes and self._has_touched():
            own = self._own_row(key)
            if own is not None:
                return own.row
        if self._context.transaction.followed:
            look_at_followed(self._context.transaction)
        found = reads.glance(self._tables if self._visibility == Visibility.STRICT else ())
        if found is None and self._row_key is not None:  # what the log has last of this row is what it has to give
            table_id = point.relation.relation_id
            pending = reads.pending_row(table_id, tuple(key[place] for place in self._row_key))
            found = reads.glance(())
            if isinstance(pending, int):  # the log does not know single rows of a large statement
                raise TakesLonger
            if pending is not None and found is not None:
                self._look_at(found[0])
                if pending.version != self._table_version:
                    raise TakesLonger
                return None if pending.place is None else point.logged_row(pending.chunk, pending.place)
        if found is None:
            raise TakesLonger
        state, view = found
        self._look_at(state)
        try:
            return point.row(view, key)
        except (SqlError, OverflowError):  # the view has just been released, or cut; a number that the key cannot have
            raise TakesLonger from None

    def _has_touched(self) -> bool:
        """Whether the transaction has written to what is read, or to what that is made of."""
        transaction = self._context.transaction
        is_kept = not transaction.kept.table_ids.isdisjoint(self._relations)
        return is_kept or (transaction.has_chunks and not transaction.chunk_tables.isdisjoint(self._relations))

    def _own_row(self, key: Sequence[object]) -> _OwnRow | None:
        """What the transaction has written last for the key, if it has."""
        transaction, relation = self._context.transaction, self._point.relation
        found = self._context.database.reads.glance(())
        is_known = self._row_key is not None and not transaction.has_large_change(relation.relation_id)
        if not is_known or found is None or not isinstance(relation, Table):
            raise TakesLonger
        self._look_at(found[0])
        assert self._row_key is not None
        row_key = tuple(key[place] for place in self._row_key)
        kept = transaction.kept.find(relation.relation_id, row_key)
        if kept is not None:
            return _OwnRow(None if kept.last is None else [kept.last[column] for column in self._point.columns])
        own = transaction.own_chunk_row(relation, row_key) if transaction.has_chunks else None
        if own is None:
            return None
        return _OwnRow(None if own.place is None else self._point.logged_row(own.chunk, own.place))

    def _look_at(self, state: MetaState) -> None:
        if self._must_wait(state):
            raise TakesLonger
        if state.catalog is not self._catalog:
            self._look_at_catalog(state)

    def _must_wait(self, state: MetaState) -> bool:
        if state.partial is not None and is_partial(state, (self._point.relation.relation_id,)):
            return True
        if self._visibility == Visibility.CHECKPOINT:
            return False
        if state.set_aside and not self._below.isdisjoint(state.set_aside):
            return True
        return self._visibility != Visibility.STRICT and state.committed.lsn < self._context.transaction.last_lsn

    def _look_at_settings(self) -> None:
        settings = self._context.settings
        self._look_at_version()
        if settings.get("log_statement") == "all" or int(settings.get("log_min_duration_statement")) >= 0:
            raise TakesLonger
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
