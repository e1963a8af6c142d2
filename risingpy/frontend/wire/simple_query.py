"""The simple protocol: a text of statements, each answered as it runs. All rows go as text."""

from __future__ import annotations

from collections.abc import Sequence

from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError
from risingpy.frontend.portals import row_stream
from risingpy.frontend.results import BINARY, TEXT, Prepared, Statement
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import QueryMessage
from risingpy.frontend.wire.parameters import result_formats
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.send_rows import send_rows, send_without_rows


def run_simple_query(responder: Responder, query: QueryMessage) -> None:
    """Runs a Query message's statements up to the first that fails. The caller sends ReadyForQuery."""
    responder.guarded(lambda: _run(responder, query.text))


def _run(responder: Responder, text: str) -> None:
    session = responder.session
    # As in PostgreSQL, a simple query ends the unnamed statement and portal.
    session.statements.pop("", None)
    session.portals.close("")
    recurring = session.recurring(text)
    if recurring is not None:
        _execute(responder, *recurring)
        return
    written = session.insert_rows(text)
    if written is not None:
        send_without_rows(responder, written)
        return
    statements = session.split(text)
    if not statements:
        responder.write(server_messages.message(ServerResponse.EMPTY_QUERY_RESPONSE))
        return
    several = len(statements) > 1
    if several:
        session.begin_implicit()
    for statement in statements:
        _run_statement(responder, statement)
    if several:
        session.end_implicit()


def _run_statement(responder: Responder, statement: Statement) -> None:
    prepared = responder.session.prepare(statement, ())
    if prepared.parameter_types:
        raise SqlError("there is no parameter $1", sqlstate="42P02")
    _execute(responder, prepared, ())


def _execute(responder: Responder, prepared: Prepared, values: Sequence[object | None]) -> None:
    responder.check_cancelled()
    result = responder.session.execute(prepared, values)
    if result.batches is None or result.fields is None:
        send_without_rows(responder, result)
        return
    rows = row_stream(result)
    try:
        formats = result_formats(result.fields, [BINARY if result.binary else TEXT], "result formats")
        responder.write(server_messages.row_description(result.fields, formats))
        sent = send_rows(responder, rows.take(None), result.fields, formats, live=result.is_live)
    finally:
        rows.close()
    responder.complete(result.tag, sent)
