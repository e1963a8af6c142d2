"""DECLARE, FETCH, MOVE, CLOSE. A cursor reads one committed epoch, with its transaction's writes up to DECLARE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, NoActiveTransaction, SqlError, UndefinedCursor
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CloseCursor, DeclareCursor, Fetch, FetchKind, ParsedStatement
from risingpy.frontend.portals import CursorOptions, Portal, PreparedEntry, RowStream
from risingpy.frontend.results import BINARY, TEXT, CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.prepare import inner_statements
from risingpy.frontend.statements.subscriptions import cursor as subscription_cursor
from risingpy.frontend.statements.writes.current_of import cursor_scan
from risingpy.frontend.statements.writes.with_writes import has_writes
from risingpy.frontend.suspended.scrolled_rows import ScrolledRows
from risingpy.types import SqlType


def bind_declare(
    session: StatementContext, parsed: ParsedStatement, statement: DeclareCursor, parameter_types: Sequence[SqlType]
) -> Command:
    """Starts the query at once, so the cursor reads the epoch of its DECLARE, not that of the first FETCH.

    Raises 25P01 outside a transaction, unless WITH HOLD, and 42P03 for a name in use.
    """
    [query] = inner_statements(session, statement.query)
    if isinstance(query, ParsedStatement) and has_writes(query.statement):
        raise FeatureNotSupported("DECLARE CURSOR must not contain data-modifying statements in WITH")
    oids = [type_.oid for type_ in parameter_types]
    bound = session.prepare(query, oids)
    scan = cursor_scan(session, query, bound, oids)
    options = CursorOptions(parsed.text, bool(statement.scroll), statement.hold, statement.binary)

    def run(parameters: Parameters) -> Result:
        if not (statement.hold or session.transaction.is_open):
            raise NoActiveTransaction("DECLARE CURSOR can only be used in transaction blocks")
        if (
            session.portals.get(statement.name) is not None
            or session.subscription_cursors.get(statement.name) is not None
        ):
            raise SqlError(f'cursor "{statement.name}" already exists', sqlstate="42P03")
        formats = [BINARY if statement.binary else TEXT] * len(bound.fields or ())
        portal = Portal(PreparedEntry(bound, parsed.text), list(parameters), formats, options, scan)
        _start(session, portal)
        session.portals.add(statement.name, portal)
        return Result(CommandTag("DECLARE CURSOR"))

    return Command(run, parameter_types=bound.parameter_types)


def _start(session: StatementContext, portal: Portal) -> None:
    """Runs a portal's query, up to its first rows."""
    prepared = portal.entry.prepared
    if prepared is None or prepared.fields is None:
        raise SqlError("portal cannot be run", sqlstate="55000")
    asked = prepared if portal.scan is None else portal.scan.prepared
    portal.result = replace(session.run_prepared(asked, portal.parameters), fields=prepared.fields)
    batches = portal.result.batches
    assert batches is not None
    scrolls = portal.options is not None and portal.options.scroll
    portal.rows = (ScrolledRows if scrolls else RowStream)(batches, portal.result.spills)


def bind_fetch(
    session: StatementContext, parsed: ParsedStatement, statement: Fetch, parameter_types: Sequence[SqlType]
) -> Command:
    """The rows of the cursor in one direction; MOVE only counts them.

    The command does not last, because its columns are the cursor's. Raises 34000 if there is no such cursor, 55000 if
    it failed before.
    """
    subscribed = session.subscription_cursors.get(statement.name)
    if subscribed is not None:
        return subscription_cursor.bind_fetch(session, statement, subscribed)
    if statement.timeout is not None:
        raise FeatureNotSupported("only FETCH from a subscription cursor takes a timeout")
    known = session.portals.get(statement.name)  # a Describe must not fail; running it does
    prepared = None if known is None else known.entry.prepared
    fields = None if prepared is None or statement.move else prepared.fields

    def run(parameters: Parameters) -> Result:
        portal = session.portals.get(statement.name)
        if portal is None:
            raise UndefinedCursor(f'cursor "{statement.name}" does not exist')
        if portal.failed:
            raise SqlError(f'portal "{statement.name}" cannot be run', sqlstate="55000")
        if portal.result is None:
            _start(session, portal)
        rows = RowStream(iter(())) if portal.rows is None else portal.rows
        part = portal.begin_part(_fetched(rows, statement))
        if statement.move:
            return Result(CommandTag("MOVE", _moved(rows, statement, part)))
        binary = portal.options is not None and portal.options.binary
        return Result(CommandTag("FETCH", counts_rows=True), fields, part, binary=binary)

    return Command(run, fields, lasts=False)


def _moved(rows: RowStream, statement: Fetch, part: Iterator[pa.RecordBatch]) -> int:
    if statement.count == 0 and statement.kind is not FetchKind.ABSOLUTE:
        return int(rows.is_on_row)
    return sum(batch.num_rows for batch in part)


def _fetched(rows: RowStream, statement: Fetch) -> Iterator[pa.RecordBatch]:
    """The rows of a FETCH; its directions are those of PostgreSQL's pquery.c."""
    count = statement.count
    match statement.kind:
        case FetchKind.FORWARD if count is None:
            yield from rows.back(None) if statement.backward else rows.take(None)
        case FetchKind.FORWARD if count:
            yield from rows.take(count) if count > 0 else rows.back(-count)
        case FetchKind.ABSOLUTE if count is not None:
            yield from _absolute(rows, count)
        case FetchKind.RELATIVE if count:
            _pass(rows.take(count - 1) if count > 0 else rows.back(-count - 1))
            yield from rows.take(1) if count > 0 else rows.back(1)
        case _ if rows.is_on_row:
            _pass(rows.back(1))
            yield from rows.take(1)


def _absolute(rows: RowStream, count: int) -> Iterator[pa.RecordBatch]:
    if count < 0:
        _pass(rows.take(None))
        _pass(rows.back(-count - 1))
        yield from rows.back(1)
        return
    before = max(count - 1, 0)  # the position from which the wanted row is the next one
    if rows.place > before:
        _pass(rows.back(rows.place - before if count else None))
    _pass(rows.take(before - rows.place))
    if count:
        yield from rows.take(1)


def _pass(batches: Iterator[pa.RecordBatch]) -> None:
    for _ in batches:
        pass


def bind_close(
    session: StatementContext, parsed: ParsedStatement, statement: CloseCursor, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises 34000 if there is no such cursor; CLOSE ALL never fails."""

    def run(parameters: Parameters) -> Result:
        if statement.name is None:
            session.portals.close_all()
            session.subscription_cursors.close_all()
            return Result(CommandTag("CLOSE CURSOR ALL"))
        if not (session.portals.close(statement.name) or session.subscription_cursors.close(statement.name)):
            raise UndefinedCursor(f'cursor "{statement.name}" does not exist')
        return Result(CommandTag("CLOSE CURSOR"))

    return Command(run)
