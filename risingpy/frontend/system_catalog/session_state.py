"""Makes the `SystemState` of a session and its database, at the moment of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from risingpy.frontend.definitions import definitions
from risingpy.frontend.portals import CursorOptions, Portals, PreparedEntry
from risingpy.frontend.results import Prepared
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.system_catalog.registry import NAMED_RELATIONS
from risingpy.frontend.system_catalog.system_relation import (
    Row,
    SessionCursor,
    SessionStatement,
    SystemState,
)
from risingpy.meta.reads import CommittedSnapshot


def state_of(session: StatementContext, snapshot: CommittedSnapshot) -> SystemState:
    """The state as of a snapshot, for a session.

    The statistics of tables are read when a relation asks for them.
    """
    database, startup = session.database, session.startup
    schemas = snapshot.catalog.schemas
    path = tuple(schema for schema in session.search_path() if schema in schemas)
    return SystemState(
        catalog=session.scope.schema.shown(snapshot.catalog),
        system_relations=NAMED_RELATIONS,
        user=session.identity.current_user,
        role_id=session.identity.current_id,
        process_id=startup.process_id,
        search_path=path,
        settings=session.settings.all(),
        parameters=database.introspection.parameters(),
        progress=database.introspection.ddl_progress,
        is_awaited=database.ddl.jobs.is_awaited,
        set_aside=database.introspection.set_aside,
        errors=database.introspection.job_errors(),
        source_lags=lambda: tuple(database.introspection.source_lags()),
        graphs=database.vector_indexes.status,
        deliveries=lambda: tuple(database.sinks.status()),
        committed_epoch=snapshot.view.epoch,
        rejected=database.introspection.rejected_messages,
        sessions=database.sessions.activities,
        locks=database.writes.locks.seen,
        jobs=tuple(database.reads.state.jobs.values()),
        work=database.introspection.operator_work,
        epochs=database.introspection.epoch_times.recent,
        epoch_failure=lambda: database.introspection.epoch_times.failing,
        memory=database.introspection.memory,
        statistics=snapshot.view.statistics,
        compactions=snapshot.view.compactions,
        position=database.writes.sequences.position,
        views=tuple(database.introspection.pinned_epochs()),
        view_text=lambda view, pretty: session.view_texts.definition(view, snapshot.catalog, path, pretty=pretty),
        printed=lambda text, relation, wanted, pretty: session.view_texts.expression(
            text, relation, wanted, snapshot.catalog, path, pretty=pretty
        ),
        definitions=lambda: _definitions(session, snapshot),
        statements=_statements(session.statements),
        cursors=_cursors(session.portals),
    )


def _definitions(session: StatementContext, snapshot: CommittedSnapshot) -> Iterator[Row]:
    database = session.database
    found = definitions(snapshot.catalog, database.introspection.parameters(), database.writes.sequences.position)
    for place, each in enumerate(found, 1):
        yield place, each.part.value, each.database, list(each.search_path), each.kind, each.name, each.text, each.rows


def _statements(entries: Mapping[str, PreparedEntry]) -> tuple[SessionStatement, ...]:
    """All prepared statements except the unnamed one, as in PostgreSQL."""
    shown = []
    for name, entry in entries.items():
        prepared = entry.prepared or Prepared()
        results = None if prepared.fields is None else tuple(str(field.type) for field in prepared.fields)
        types = tuple(str(type_) for type_ in prepared.parameter_types)
        if name:
            shown.append(SessionStatement(name, _text(entry), entry.prepared_at, types, results, entry.from_sql))
    return tuple(shown)


def _text(entry: PreparedEntry) -> str:
    """What the client has sent. Options that are secrets are in statements that stand alone: theirs is the own text."""
    statement = None if entry.prepared is None else entry.prepared.statement
    shown = entry.text if statement is None else shown_text(statement)
    return entry.text if statement is None or shown == statement.text else shown


def _cursors(portals: Portals) -> tuple[SessionCursor, ...]:
    shown = []
    for name, portal in portals.named().items():
        options = portal.options or CursorOptions(_text(portal.entry))
        shown.append(SessionCursor(name, options.text, portal.made_at, options.hold, options.binary, options.scroll))
    return tuple(shown)
