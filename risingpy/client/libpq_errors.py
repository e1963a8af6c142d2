"""psycopg's errors and notices as those of this database."""

from __future__ import annotations

import psycopg
from psycopg.errors import Diagnostic

from risingpy.errors import QueryCanceled, SqlError
from risingpy.frontend.results import Notice

_CONNECTION_FAILURE = "08006"
_NO_CONNECTION = "08001"
_UNTRANSLATABLE = "22021"  # psycopg's own: a character 0 in a text
_LOST = "The session is over: its settings and its open transaction are gone. Connect again."


def sql_error(error: psycopg.Error) -> SqlError:
    """The server's error, with all that it says; what libpq says of a connection has SQLSTATE 08006."""
    said = error.diag
    state = said.sqlstate or error.sqlstate
    if state is None and isinstance(error, psycopg.DataError):
        return SqlError(str(error), sqlstate=_UNTRANSLATABLE)
    if state is None:
        return SqlError(str(error).strip(), sqlstate=_CONNECTION_FAILURE, hint=_LOST)
    kind = QueryCanceled if state == QueryCanceled.sqlstate else SqlError
    return kind(
        said.message_primary or str(error).strip(),
        sqlstate=state,
        position=int(said.statement_position) if said.statement_position else None,
        detail=said.message_detail,
        hint=said.message_hint,
        where=said.context,
    )


def unreachable(error: psycopg.Error) -> SqlError:
    """Why no connection was made. libpq gives the server's words, but not its SQLSTATE: it is 08001 for all."""
    return SqlError(str(error).strip(), sqlstate=_NO_CONNECTION)


def notice(said: Diagnostic) -> Notice:
    """A notice of the server."""
    return Notice(
        said.message_primary or "",
        said.severity_nonlocalized or said.severity or "NOTICE",
        said.sqlstate or "00000",
        said.message_detail,
        said.message_hint,
    )
