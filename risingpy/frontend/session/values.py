"""What binding a statement of a session needs to know of it."""

from __future__ import annotations

from risingpy.frontend.binder import SessionValues
from risingpy.frontend.parameters.definitions import VERSION_TEXT
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import OWN_TEMPORARY_SCHEMA


def values_of(session: StatementContext) -> SessionValues:
    """The values of current_user and similar functions, and the arguments of the procedure that runs."""
    catalog = session.database.reads.catalog
    path = [schema for schema in session.search_path() if schema in catalog.schemas]
    own, named = session.temporaries.schema, session.settings.search_path()
    if path and path[0] == own and named[:1] not in ((own,), (OWN_TEMPORARY_SCHEMA,)):
        del path[0]  # it is searched before the others, and not named
    procedure = session.procedures[-1] if session.procedures else None
    return SessionValues(
        user=session.identity.current_user,
        session_user=session.identity.session_user,
        is_superuser=session.identity.is_superuser,
        database=catalog.database,
        schema=path[0] if path else None,
        temporary_schema=own,
        only_reads=session.database.followed is not None,
        version=VERSION_TEXT,
        time_zone=session.settings.get("timezone"),
        process_id=session.startup.process_id,
        role_id=session.identity.current_id,
        data_directory=str(session.database.data_dir),
        setting=session.settings.find,
        channels=session.notifications.channels,
        procedure="" if procedure is None else procedure.name,
        arguments=() if procedure is None else procedure.arguments,
        check=session.check,
    )
