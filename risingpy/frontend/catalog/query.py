"""Queries of system relations and functions as statements of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from risingpy.errors import Check, SqlError, unchecked
from risingpy.frontend.catalog.own_database import without_database
from risingpy.frontend.catalog.recognize import SystemText, divide
from risingpy.frontend.catalog.system_query import ResultColumn, SystemQueries
from risingpy.frontend.catalog.system_relation import (
    ActiveSession,
    Progress,
    SessionCursor,
    SessionStatement,
    SystemState,
)
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.portals import CursorOptions, Portals, PreparedEntry
from risingpy.frontend.results import CommandTag, Field, Prepared, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.storage.engine.compaction import CompactionProgress
from risingpy.storage.engine.table_statistics import TableStatistics


@dataclass(frozen=True, slots=True)
class SystemStatement:
    """A query of system relations, which begins after `offset` characters of the whole text."""

    text: str
    offset: int


def split_statements(sql: str, check: Check = unchecked) -> list[ParsedStatement | SystemStatement]:
    """The statements of a text. Raises as `parse` does; positions count characters of the whole text."""
    statements: list[ParsedStatement | SystemStatement] = []
    for piece in divide(sql, check):
        check()
        if isinstance(piece, SystemText):
            statements.append(SystemStatement(piece.text, piece.offset))
        else:
            # Blanks in front keep the positions.
            statements += parse(" " * piece.offset + piece.text, check)
    return statements


class SystemCatalog:
    """A session's access to the system relations; gives its functions (`current_setting`) what they ask for."""

    def __init__(self, session: StatementContext) -> None:
        self._session = session
        self._queries = SystemQueries(self, self._state, session.limits)
        self._running = ""
        self.user = session.startup.user
        self.process_id = session.startup.process_id

    def bind(self, statement: SystemStatement, parameter_oids: Sequence[int]) -> Command:
        """Binds a query of system relations."""
        try:
            text = without_database(statement.text, self._session.database_names())
            query = self._queries.prepare(text, parameter_oids)
        except SqlError as error:
            if error.position is not None:
                error.position += statement.offset
            raise
        fields = tuple(_field(column) for column in query.columns)

        def run(parameters: Parameters) -> Result:
            self._running = statement.text
            answer = self._queries.execute(query, parameters)
            return Result(CommandTag("SELECT", counts_rows=True), fields, iter(answer.to_batches()))

        return Command(
            run,
            fields,
            parameter_types=tuple(parameter.type for parameter in query.parameters),
            parameter_oids=tuple(parameter.oid for parameter in query.parameters),
        )

    def interrupt(self) -> None:
        """Ends a running query. From any thread."""
        self._queries.interrupt()

    def close(self) -> None:
        self._queries.close()

    # What functions ask (SessionFacts)

    @property
    def search_path(self) -> tuple[str, ...]:
        schemas = self._session.database.reads.catalog.schemas
        return tuple(schema for schema in self._session.search_path() if schema in schemas)

    @property
    def database_name(self) -> str:
        return self._session.database.reads.catalog.database

    def setting(self, name: str) -> str | None:
        return self._session.settings.find(name)

    def change_setting(self, name: str, value: str) -> None:
        self._session.settings.set(name, (value,))

    def _state(self) -> SystemState:
        session, database = self._session, self._session.database
        startup = session.startup
        this = ActiveSession(
            process_id=startup.process_id,
            user=startup.user,
            application_name=session.settings.get("application_name"),
            client_address=startup.client_address,
            query=self._running,
            running=True,
        )
        return SystemState(
            catalog=database.reads.catalog,
            user=startup.user,
            process_id=startup.process_id,
            search_path=self.search_path,
            settings=session.settings.all(),
            parameters=database.introspection.parameters(),
            progress=tuple(Progress(relation, rows) for relation, rows in database.introspection.ddl_progress()),
            errors=database.introspection.job_errors(),
            sessions=(this,),
            statistics=self._statistics,
            compactions=self._compactions,
            views=tuple(database.introspection.pinned_epochs()),
            statements=_statements(session.statements),
            cursors=_cursors(session.portals),
        )

    def _compactions(self) -> Mapping[int, CompactionProgress]:
        """Of the tables that have lost columns, as of the newest epoch."""
        view = self._session.database.reads.snapshot().view
        try:
            return view.compactions()
        finally:
            view.release()

    def _statistics(self) -> Mapping[int, TableStatistics]:
        """Of the epoch that the session's next query would read."""
        view = self._session.snapshot().view
        try:
            return view.statistics()
        finally:
            view.release()


def _statements(entries: Mapping[str, PreparedEntry]) -> tuple[SessionStatement, ...]:
    """All but the unnamed one, as PostgreSQL shows them."""
    shown = []
    for name, entry in entries.items():
        prepared = entry.prepared or Prepared()
        results = None if prepared.fields is None else tuple(str(field.type) for field in prepared.fields)
        types = tuple(str(type_) for type_ in prepared.parameter_types)
        if name:
            shown.append(SessionStatement(name, entry.text, entry.prepared_at, types, results, entry.from_sql))
    return tuple(shown)


def _cursors(portals: Portals) -> tuple[SessionCursor, ...]:
    shown = []
    for name, portal in portals.named().items():
        options = portal.options or CursorOptions(portal.entry.text)
        shown.append(SessionCursor(name, options.text, portal.made_at, options.hold, options.binary, options.scroll))
    return tuple(shown)


def _field(column: ResultColumn) -> Field:
    return Field(column.name, column.type, oid=column.oid)
