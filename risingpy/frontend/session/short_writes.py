"""INSERTs of few rows, and UPDATEs and DELETEs of one row by its key, that a group takes along.

They have no thread of their own, and no Arrow. In a transaction its commit takes them along (`short_in_transaction`).

What breaks a constraint takes the long way, and so does whatever is unusual: another catalog, statements that are
logged, values that only the evaluator computes, a NULL where none may be, a wait that is limited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from risingpy.batch import (
    ConstantRows,
    NotPlain,
    PlainRewrite,
    PlainRows,
    PlainValue,
    plain_new,
    plain_rewrite,
    plain_rows,
)
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainChange, PlainInsert, PlainUpsert
from risingpy.frontend.constraints.group_guards import change_is_free, has_guards, passes_of, row_guard
from risingpy.frontend.parser.ast import Insert
from risingpy.frontend.results import Awaits, CommandTag, Prepared, ShortWrite, TakesLonger
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.short_guarded import kept_guard
from risingpy.frontend.session.short_in_transaction import (
    KeptChange,
    KeptInsert,
    has_plain_key,
    kept_change,
    kept_insert,
)
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.settings import is_on
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.transaction import TransactionStatus
from risingpy.frontend.written_rows import check_written
from risingpy.meta.writing.coming_rows import Done, Written
from risingpy.meta.writing.group_commit import NewRows, Row, RowChange, SmallWrite
from risingpy.meta.writing.row_changes import Change
from risingpy.meta.writing.row_guard import Passes, RowGuard
from risingpy.meta.writing.row_keys import MOST_KEYS, log_has_newest_rows
from risingpy.plan.catalog import Catalog, Table, is_of_session
from risingpy.plan.catalog.columns import ROW_ID

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_MOST_ROWS = 64  # of a statement: the thread of the commits serves others, too
_MOST_KEPT = MOST_KEYS // 2  # rows of a transaction in plain Python: their chunk, old rows included, is a small one
_LOGGED = ("mod", "all")
_CHANGING_WRITES = ("rw_implicit_flush", "default_transaction_read_only")  # settings


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
        plan: _Plan | None = None
        if command.inserts is not None:
            plan = _insert(self._context, catalog, command.inserts)
        elif command.changes is not None:
            plan = _change(catalog, command.changes)
        elif command.upserts is not None:
            plan = _upsert(catalog, command.upserts)
        return None if plan is None else SessionShortWrite(self._context, self._clock, plan, shown_text(statement))


@dataclass(frozen=True, slots=True)
class _Insert:
    """New rows, as `rows` gives them. None of them may have a NULL in the columns `filled`."""

    kind: ClassVar[str] = Insert.__name__
    table: Table
    rows: PlainRows
    counts: tuple[int, ...]
    filled: tuple[int, ...]
    kept: KeptInsert | None
    wanted: tuple[tuple[int, int], ...]  # numbers of sequences
    guard: RowGuard | None

    def tag(self, rows: int) -> str:
        return CommandTag("INSERT 0", rows).text(0)

    def write(self, context: SessionContext, parameters: Sequence[object | None], done: Done) -> SmallWrite:
        """Raises NotPlain."""
        rows = self.rows.values(parameters, context.scope.now)
        if any(row[index] is None for index in self.filled for row in rows):
            raise NotPlain

        def numbered() -> Sequence[Row]:
            self.rows.take_numbers(rows, context.sequences)
            return rows

        return NewRows(self.table, numbered, done, self.guard)

    def run(self, context: SessionContext, parameters: Sequence[object | None]) -> int:
        """Raises NotPlain, SqlError, and what Arrow raises for values that no column has."""
        if self.kept is None or not all(context.sequences.can_give(*each) for each in self.wanted):
            raise NotPlain
        rows = self.rows.values(parameters, context.scope.now)
        if any(row[index] is None for index in self.filled for row in rows):
            raise NotPlain
        self.rows.take_numbers(rows, context.sequences)
        self.kept.run(context, rows)
        return len(rows)


@dataclass(frozen=True, slots=True)
class _Change:
    """UPDATE or DELETE, as `verb` says."""

    verb: str
    table: Table
    rewrite: PlainRewrite
    filled: tuple[int, ...]
    kept: KeptChange | None
    passes: Passes | None
    counts: ClassVar[tuple[int, ...]] = (0, 1)

    @property
    def kind(self) -> str:
        return self.verb.capitalize()

    def tag(self, rows: int) -> str:
        return CommandTag(self.verb, rows).text(0)

    def write(self, context: SessionContext, parameters: Sequence[object | None], done: Done) -> SmallWrite:
        """Raises NotPlain."""
        change = self._change(parameters)
        key = self.rewrite.key(parameters)
        return RowChange(self.table, key, change, context.committed_rows, done, self.passes)

    def run(self, context: SessionContext, parameters: Sequence[object | None]) -> int:
        """Raises NotPlain, Awaits, and SqlError."""
        if self.kept is None:
            raise NotPlain
        return self.kept.run(context, parameters)

    def _change(self, parameters: Sequence[object | None]) -> Change:
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

        return change


@dataclass(frozen=True, slots=True)
class _Upsert:
    """INSERT … ON CONFLICT by the primary key, of one row. `new` are the columns that DO UPDATE changes."""

    kind: ClassVar[str] = Insert.__name__
    table: Table
    rows: PlainRows
    new: tuple[tuple[int, PlainValue], ...] | None
    filled: tuple[int, ...]
    counts: ClassVar[tuple[int, ...]] = (0, 1)

    def tag(self, rows: int) -> str:
        return CommandTag("INSERT 0", rows).text(0)

    def write(self, context: SessionContext, parameters: Sequence[object | None], done: Done) -> SmallWrite:
        """Raises NotPlain."""
        rows = self.rows.values(parameters, context.scope.now)
        key = tuple(rows[0][place] for place in self.table.primary_key)
        if any(rows[0][index] is None for index in self.filled):
            raise NotPlain

        def numbered() -> Row:
            self.rows.take_numbers(rows, context.sequences)
            return rows[0]

        change = None if self.new is None else self._change(self.new, rows[0], parameters)
        return RowChange(self.table, key, change, context.committed_rows, done, row=numbered)

    def run(self, context: SessionContext, parameters: Sequence[object | None]) -> int:
        """Raises NotPlain: a transaction does it by the long way."""
        raise NotPlain

    def _change(
        self, new: tuple[tuple[int, PlainValue], ...], row: list[object], parameters: Sequence[object | None]
    ) -> Change:
        width = len(self.table.columns)

        def change(old: Callable[[int], object]) -> Mapping[int, object]:
            def value(column: int) -> object:
                return old(column) if column < width else row[column - width]

            try:
                found = {column: compute(value, parameters) for column, compute in new}
            except NotPlain:
                raise _left() from None
            if any(found.get(index, "") is None for index in self.filled):
                raise _left()
            return found

        return change


_Plan = _Insert | _Change | _Upsert


def _left() -> SqlError:
    return SqlError("only the long way can compute the row, or raise its error")


def _insert(context: SessionContext, catalog: Catalog, inserts: PlainInsert) -> _Insert | None:
    answer, table = inserts.query.plan.answer, inserts.relation
    count = len(answer.columns[0]) if isinstance(answer, ConstantRows) and answer.columns else 0
    if not isinstance(answer, ConstantRows) or not 0 < count <= _MOST_ROWS or not _is_ordinary(table):
        return None
    rows, guard, kept = plain_rows(answer), None, None
    if has_guards(catalog, table):
        guard = row_guard(context, catalog, table)
        if guard is None:
            return None
    own_guard = None if guard is None else kept_guard(guard)
    if guard is None or own_guard is not None:
        newest = log_has_newest_rows(catalog, table)
        kept = kept_insert(table, log_has_newest_rows=newest, guard=own_guard)
    filled = tuple(index for index in _filled(table) if not rows.is_numbered(index))
    return _Insert(table, rows, (count,), filled, kept, tuple(rows.wanted_numbers), guard)


def _change(catalog: Catalog, changes: PlainChange) -> _Change | None:
    table, rewrite = changes.rewrite.table, plain_rewrite(changes.rewrite)
    if rewrite is None or not _is_ordinary(table) or not log_has_newest_rows(catalog, table):
        return None
    if changes.verb == "UPDATE" and not rewrite.columns:
        return None
    if has_guards(catalog, table) and not change_is_free(catalog, table, rewrite.columns):
        return None
    filled = tuple(index for index in _filled(table) if index in rewrite.columns)
    passes = passes_of(table, rewrite.columns) if rewrite.columns else None
    kept = kept_change(table, rewrite, filled) if passes is None else None
    return _Change(changes.verb, table, rewrite, filled, kept, passes)


def _upsert(catalog: Catalog, upserts: PlainUpsert) -> _Upsert | None:
    answer, table = upserts.query.plan.answer, upserts.relation
    if not isinstance(answer, ConstantRows) or not answer.columns or len(answer.columns[0]) != 1:
        return None
    if not _is_ordinary(table) or has_guards(catalog, table) or not has_plain_key(table):
        return None
    rows, new = plain_rows(answer), None if upserts.new is None else plain_new(table, upserts.new)
    if any(rows.is_numbered(place) for place in table.primary_key) or (new is None) is not (upserts.new is None):
        return None
    changed = () if new is None else {place for place, _ in new}
    if not {*table.primary_key}.isdisjoint(changed):
        return None
    filled = tuple(index for index in _filled(table) if not rows.is_numbered(index))
    return _Upsert(table, rows, new, filled)


def _is_ordinary(table: Table) -> bool:
    """Whether new rows go into the table as they are, but for what guards it."""
    if table.upstream is not None or is_of_session(table):
        return False
    if any(column.domain is not None for column in table.columns):
        return False
    hidden = [column.name for column in table.columns if column.hidden]
    return hidden in ([], [ROW_ID]) and not any(column.generated is not None for column in table.columns)


def _filled(table: Table) -> tuple[int, ...]:
    """The columns in which no row has a NULL that goes the short way: keys are looked up by their values there."""
    columns = enumerate(table.columns)
    return tuple(i for i, each in columns if (each.not_null or i in table.primary_key) and not each.hidden)


class SessionShortWrite:
    """A `ShortWrite`."""

    def __init__(self, context: SessionContext, clock: StatementClock, plan: _Plan, text: str) -> None:
        self.is_stale = False
        self.tags = {rows: plan.tag(rows) for rows in plan.counts}
        self._context = context
        self._clock = clock
        self._plan = plan
        self._kind = plan.kind
        self._text = text
        self._version = context.database.reads.catalog.version, context.settings.version
        self._changes = -1  # of the settings, when they were looked at last
        self._waits_are_limited = False

    def begin(
        self, parameters: Sequence[object | None], done: Callable[[int | None], Callable[[], None]]
    ) -> Callable[[], None]:
        """See `ShortWrite`."""
        context, began = self._context, time.perf_counter()
        self._look()
        if context.transaction.is_open:
            raise TakesLonger

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

    def run(self, parameters: Sequence[object | None]) -> int:
        """See `ShortWrite`."""
        context, began = self._context, time.perf_counter()
        transaction = context.transaction
        self._look()
        if self._waits_are_limited or transaction.read_only or transaction.status is not TransactionStatus.ACTIVE:
            raise TakesLonger
        try:
            if transaction.kept.count and transaction.kept.count + max(self._plan.counts) > _MOST_KEPT:
                check_written(transaction.written_rows + MOST_KEYS, transaction.written_bytes)
                transaction.settle()
            rows = self._plan.run(context, parameters)
        except (NotPlain, SqlError, pa.ArrowException, ValueError, TypeError, OverflowError):
            raise TakesLonger from None  # that has the error again
        except Awaits:
            context.record.work(self._text)
            raise
        context.record.ran(self._text)
        self._clock.ran(self._kind, time.perf_counter() - began)
        return rows

    def _look(self) -> None:
        """Raises TakesLonger if anything is not as usual."""
        context, settings = self._context, self._context.settings
        if self._version != (context.database.reads.catalog.version, settings.version):
            self.is_stale = True
            raise TakesLonger
        if settings.changes != self._changes:
            is_logged = settings.get("log_statement") in _LOGGED or int(settings.get("log_min_duration_statement")) >= 0
            if is_logged or any(is_on(settings.get(each)) for each in _CHANGING_WRITES):
                raise TakesLonger
            limits = (settings.get("lock_timeout"), settings.get("statement_timeout"))
            self._waits_are_limited = any(int(each) for each in limits)
            self._changes = settings.changes
