"""INSERTs of few rows, and UPDATEs and DELETEs of one row by its key, that a group takes along.

They have no thread of their own, no Arrow, and no transaction.

What has constraints about other rows takes the long way, and so does whatever is unusual: a transaction, another
catalog, statements that are logged, values that only the evaluator computes, a NULL where none may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from risingpy.batch import ConstantRows, NotPlain, PlainRewrite, PlainRows, plain_rewrite, plain_rows
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainChange, PlainInsert
from risingpy.frontend.constraints.guarded import is_guarded
from risingpy.frontend.parser.ast import Insert
from risingpy.frontend.results import CommandTag, Prepared, ShortWrite, TakesLonger
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.settings import is_on
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statements.writes.rows_by_key import log_has_newest_rows
from risingpy.frontend.written_rows import ROW_ID
from risingpy.meta.writing.group_commit import Done, NewRows, Row, RowChange, SmallWrite, Written
from risingpy.plan.catalog import Catalog, Table, is_of_session

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_MOST_ROWS = 64  # of a statement: the thread of the commits serves others, too
_LOGGED = ("mod", "all")


class ShortWrites:
    """The short writes of one session, by statement."""

    def __init__(self, context: SessionContext, commands: Commands, clock: StatementClock) -> None:
        self._context = context
        self._commands = commands
        self._clock = clock

    def of(self, prepared: Prepared) -> ShortWrite | None:
        """The short write of a statement; None if it has none, or must be bound first."""
        statement = prepared.statement
        command = None if statement is None else self._commands.known(statement, prepared.declared)
        if statement is None or command is None or command.parameter_types != prepared.parameter_types:
            return None
        if command.fields is not None or command.demands:
            return None
        catalog = self._context.database.reads.catalog
        plan: _Insert | _Change | None = None
        if command.inserts is not None:
            plan = _insert(catalog, command.inserts)
        elif command.changes is not None:
            plan = _change(catalog, command.changes)
        return None if plan is None else SessionShortWrite(self._context, self._clock, plan, shown_text(statement))


@dataclass(frozen=True, slots=True)
class _Insert:
    """New rows, as `rows` gives them. None of them may have a NULL in the columns `filled`."""

    kind: ClassVar[str] = Insert.__name__
    table: Table
    rows: PlainRows
    counts: tuple[int, ...]
    filled: tuple[int, ...]

    def tag(self, rows: int) -> str:
        return CommandTag("INSERT 0", rows).text(0)

    def write(self, context: SessionContext, parameters: Sequence[object | None], done: Done) -> SmallWrite:
        """Raises NotPlain."""
        rows = self.rows.values(parameters)
        if any(row[index] is None for index in self.filled for row in rows):
            raise NotPlain

        def numbered() -> Sequence[Row]:
            self.rows.take_numbers(rows, context.sequences)
            return rows

        return NewRows(self.table, numbered, done)


@dataclass(frozen=True, slots=True)
class _Change:
    """UPDATE or DELETE, as `verb` says."""

    verb: str
    table: Table
    rewrite: PlainRewrite
    filled: tuple[int, ...]
    counts: ClassVar[tuple[int, ...]] = (0, 1)

    @property
    def kind(self) -> str:
        return self.verb.capitalize()

    def tag(self, rows: int) -> str:
        return CommandTag(self.verb, rows).text(0)

    def write(self, context: SessionContext, parameters: Sequence[object | None], done: Done) -> SmallWrite:
        """Raises NotPlain."""
        key = self.rewrite.key(parameters)

        def change(old: Callable[[int], object]) -> Mapping[int, object] | None:
            if not self.rewrite.columns:
                return None
            try:
                new = self.rewrite.new(old, parameters)
            except NotPlain:
                raise _left() from None
            if any(new[index] is None for index in self.filled):
                raise _left()
            return new

        return RowChange(self.table, key, change, context.committed_rows, done)


def _left() -> SqlError:
    return SqlError("only the long way can compute the row, or raise its error")


def _insert(catalog: Catalog, inserts: PlainInsert) -> _Insert | None:
    answer, table = inserts.query.plan.answer, inserts.relation
    count = len(answer.columns[0]) if isinstance(answer, ConstantRows) and answer.columns else 0
    if not isinstance(answer, ConstantRows) or not 0 < count <= _MOST_ROWS or not _takes_rows_alone(catalog, table):
        return None
    rows = plain_rows(answer)
    filled = tuple(index for index in _filled(table) if not rows.is_numbered(index))
    return _Insert(table, rows, (count,), filled)


def _change(catalog: Catalog, changes: PlainChange) -> _Change | None:
    table, rewrite = changes.rewrite.table, plain_rewrite(changes.rewrite)
    if rewrite is None or not _takes_rows_alone(catalog, table) or not log_has_newest_rows(catalog, table):
        return None
    if changes.verb == "UPDATE" and not rewrite.columns:
        return None
    return _Change(changes.verb, table, rewrite, tuple(i for i in _filled(table) if i in rewrite.columns))


def _takes_rows_alone(catalog: Catalog, table: Table) -> bool:
    """Whether new rows go into the table as they are, whatever other rows there are."""
    if table.upstream is not None or table.constraints or is_of_session(table) or is_guarded(catalog, table):
        return False
    hidden = [column.name for column in table.columns if column.hidden]
    return hidden in ([], [ROW_ID]) and not any(column.generated is not None for column in table.columns)


def _filled(table: Table) -> tuple[int, ...]:
    """The columns in which no row may have a NULL."""
    columns = enumerate(table.columns)
    return tuple(i for i, each in columns if (each.not_null or i in table.primary_key) and not each.hidden)


class SessionShortWrite:
    """A `ShortWrite`."""

    def __init__(self, context: SessionContext, clock: StatementClock, plan: _Insert | _Change, text: str) -> None:
        self.is_stale = False
        self.tags = {rows: plan.tag(rows) for rows in plan.counts}
        self._context = context
        self._clock = clock
        self._plan = plan
        self._kind = plan.kind
        self._text = text
        self._version = context.database.reads.catalog.version, context.settings.version
        self._changes = -1  # of the settings, when they were looked at last

    def begin(
        self, parameters: Sequence[object | None], done: Callable[[int | None], Callable[[], None]]
    ) -> Callable[[], None]:
        """See `ShortWrite`."""
        context, began = self._context, time.perf_counter()
        self._look()

        def ended(written: Written | None) -> Callable[[], None]:
            if written is None:
                return done(None)
            context.transaction.last_lsn = max(context.transaction.last_lsn, written.lsn)
            self._clock.ran(self._kind, time.perf_counter() - began)
            return done(written.rows)

        try:
            write = self._plan.write(context, parameters, ended)
        except NotPlain:
            raise TakesLonger from None
        context.record.work(self._text)
        commit = context.database.writes.group_commit
        commit.add(write)
        return commit.begin

    def _look(self) -> None:
        """Raises TakesLonger if anything is not as usual."""
        context, settings = self._context, self._context.settings
        if self._version != (context.database.reads.catalog.version, settings.version):
            self.is_stale = True
            raise TakesLonger
        if context.transaction.is_open:
            raise TakesLonger
        if settings.changes != self._changes:
            is_logged = settings.get("log_statement") in _LOGGED or int(settings.get("log_min_duration_statement")) >= 0
            if is_logged or is_on(settings.get("rw_implicit_flush")):
                raise TakesLonger
            self._changes = settings.changes
