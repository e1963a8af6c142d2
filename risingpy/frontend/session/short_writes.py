"""INSERTs of few rows that a group takes along: without a thread of their own, Arrow, or a transaction.

What has constraints about other rows takes the long way, and so does whatever is unusual: a transaction, another
catalog, statements that are logged, values that only the evaluator computes, a NULL where none may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from risingpy.batch import ConstantRows, NotPlain, PlainRows, plain_rows
from risingpy.frontend.command import Command
from risingpy.frontend.constraints.guarded import is_guarded
from risingpy.frontend.parser.ast import Insert
from risingpy.frontend.results import CommandTag, Prepared, ShortWrite, TakesLonger
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.settings import is_on
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.written_rows import ROW_ID
from risingpy.meta.writing.group_commit import Row, SmallWrite
from risingpy.plan.catalog import Catalog, Table, is_of_session

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_KIND = Insert.__name__  # as the statistics of statements call it
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
        found = _rows_to_add(command)
        if found is None or prepared.fields is not None:
            return None
        table, rows, count = found
        if not _takes_rows_alone(self._context.database.reads.catalog, table):
            return None
        return SessionShortInsert(self._context, self._clock, table, rows, count, shown_text(statement))


def _rows_to_add(command: Command) -> tuple[Table, PlainRows, int] | None:
    """The table, the rows of all its columns but the row's number, and how many these are."""
    inserts = command.inserts
    if inserts is None or command.demands or not isinstance(inserts.query.plan.answer, ConstantRows):
        return None
    answer = inserts.query.plan.answer
    count = len(answer.columns[0]) if answer.columns else 0
    if not 0 < count <= _MOST_ROWS:
        return None
    return inserts.relation, plain_rows(answer), count


def _takes_rows_alone(catalog: Catalog, table: Table) -> bool:
    """Whether new rows go into the table as they are, whatever other rows there are."""
    if table.upstream is not None or table.constraints or is_of_session(table) or is_guarded(catalog, table):
        return False
    hidden = [column.name for column in table.columns if column.hidden]
    return hidden in ([], [ROW_ID]) and not any(column.generated is not None for column in table.columns)


class SessionShortInsert:
    """A `ShortWrite`."""

    def __init__(
        self,
        context: SessionContext,
        clock: StatementClock,
        table: Table,
        rows: PlainRows,
        count: int,
        text: str,
    ) -> None:
        self.is_stale = False
        self.tag = CommandTag("INSERT 0", counts_rows=True).text(count)
        self._context = context
        self._clock = clock
        self._table = table
        self._plain = rows
        self._text = text
        self._filled = tuple(
            index
            for index, column in enumerate(table.columns)
            if (column.not_null or index in table.primary_key) and not (column.hidden or rows.is_numbered(index))
        )
        self._version = context.database.reads.catalog.version, context.settings.version
        self._changes = -1  # of the settings, when they were looked at last

    def begin(
        self, parameters: Sequence[object | None], done: Callable[[bool], Callable[[], None]]
    ) -> Callable[[], None]:
        """See `ShortWrite`."""
        context, began = self._context, time.perf_counter()
        self._look()
        try:
            rows = self._plain.values(parameters)
        except NotPlain:
            raise TakesLonger from None
        if any(row[index] is None for index in self._filled for row in rows):
            raise TakesLonger
        context.record.work(self._text)

        def numbered() -> Sequence[Row]:
            self._plain.take_numbers(rows, context.sequences)
            return rows

        def ended(lsn: int | None) -> Callable[[], None]:
            if lsn is not None:
                context.transaction.last_lsn = lsn
                self._clock.ran(_KIND, time.perf_counter() - began)
            return done(lsn is not None)

        commit = context.database.writes.group_commit
        commit.add(SmallWrite(self._table, numbered, ended))
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
