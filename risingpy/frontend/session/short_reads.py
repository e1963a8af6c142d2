"""SELECTs of one row by its key, answered at once: without portals, Arrow, or waiting; searches, too.

A row of a table that the log has, and no epoch yet, is read there: so a strict read waits for no epoch. So is one that
the session's transaction has written. Each read looks first whether anything is not as usual: a failed transaction,
another catalog, a view that has stopped, statements that are logged. Then it raises TakesLonger, and the long way is
taken; or a view whose rows an epoch must compute first, for which it waits without a thread (`short_selects`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from risingpy.batch import Datums, PointRead, nearest_read, point_read, prefix_read
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainQuery
from risingpy.frontend.results import Prepared, ShortRead, TakesLonger
from risingpy.frontend.session.commands import Commands, of_types
from risingpy.frontend.session.short_lists import SessionShortList
from risingpy.frontend.session.short_searches import SessionShortSearch
from risingpy.frontend.session.short_selects import ShortSelect
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.session.waits import look_at_followed
from risingpy.frontend.shown_text import shown_text
from risingpy.meta.writing.row_keys import log_has_newest_rows
from risingpy.plan.catalog import Catalog, MaterializedView, StoredRelation, Table

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

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
        found = None
        is_same = of_types(command.fields) == of_types(prepared.fields)
        if is_same and command.parameter_types == prepared.parameter_types and command.plain:
            found = self._of_plain(command.plain, shown_text(statement))
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = version, found
        return found

    def _of_plain(self, plain: PlainQuery, text: str) -> ShortRead | None:
        point = point_read(plain.query.plan)
        if point is not None:
            return SessionShortRead(self._context, self._clock, point, plain, text)
        near = nearest_read(plain.query.plan)
        if near is not None:
            return SessionShortSearch(self._context, self._clock, near, plain, text)
        listed, relation = prefix_read(plain.query.plan), self._only_relation(plain)
        if listed is None or relation is None:
            return None
        return SessionShortList(self._context, self._clock, listed, relation, plain, text)

    def _only_relation(self, plain: PlainQuery) -> StoredRelation | None:
        """The table or view that a query reads, if it is one."""
        relations = plain.query.relations
        found = None
        if relations is not None and len(relations) == 1:
            found = self._context.database.reads.catalog.get(*relations)
        return found if isinstance(found, Table | MaterializedView) else None


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


class SessionShortRead(ShortSelect):
    """A `ShortRead`."""

    def __init__(
        self, context: SessionContext, clock: StatementClock, point: PointRead, plain: PlainQuery, text: str
    ) -> None:
        super().__init__(context, clock, point.relation, plain, text)
        self.finds_one = True
        self._point = point
        self._row_key, self._table_version = _log_key(context.database.reads.catalog, point.relation)

    def rows(self, parameters: Sequence[object | None]) -> Sequence[Datums]:
        """See `ShortRead`."""
        began = time.perf_counter()
        self._look_at_session()
        key = self._point.key(parameters)
        row = None if key is None else self._read(key)
        self._ran(began)
        return () if row is None else (row,)

    def _read(self, key: Sequence[object]) -> Datums | None:
        reads, point = self._context.database.reads, self._point
        if self._context.transaction.has_changes and self._has_touched():
            own = self._own_row(key)
            if own is not None:
                return own.row
        if self._context.transaction.followed:
            look_at_followed(self._context.transaction)
        found = self._glance()
        if found is None and self._row_key is not None:  # what the log has last of this row is what it has to give
            table_id = point.relation.relation_id
            pending = reads.pending_row(table_id, tuple(key[place] for place in self._row_key))
            found = reads.glance(())
            if isinstance(pending, int):  # the log does not know single rows of a large statement
                found = self._after_epoch()
            elif pending is not None and found is not None:
                self._look_at(found[0])
                if pending.version != self._table_version:
                    raise TakesLonger
                return None if pending.place is None else point.logged_row(pending.chunk, pending.place)
        state, view = found or self._after_epoch()
        self._look_at(state)
        try:
            return point.row(view, key)
        except (SqlError, OverflowError):  # the view has just been released, or cut; a number that the key cannot have
            raise TakesLonger from None

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
