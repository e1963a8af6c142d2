"""The simple protocol: a text of statements, each answered as it runs. All rows go as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError
from risingpy.frontend.wire import messages
from risingpy.frontend.wire.fields import BINARY, TEXT
from risingpy.frontend.wire.payload import Payload
from risingpy.frontend.wire.portal import RowStream
from risingpy.frontend.wire.results import send_rows, send_without_rows, tag_of
from risingpy.frontend.wire.session_protocol import Statement

if TYPE_CHECKING:
    from risingpy.frontend.wire.connection import Connection, Context


def run_simple_query(connection: Connection, ctx: Context, body: bytes) -> None:
    """Runs a Query message's statements up to the first that fails. The caller sends ReadyForQuery."""
    connection.guarded(ctx, lambda: _run(connection, ctx, body))


def _run(connection: Connection, ctx: Context, body: bytes) -> None:
    payload = Payload(body)
    text = payload.string()
    payload.end()
    # As in PostgreSQL, a simple query ends the unnamed statement and portal.
    ctx.session.statements.pop("", None)
    ctx.session.portals.close("")
    statements = ctx.session.split(text)
    if not statements:
        connection.wfile.write(messages.message(ServerResponse.EMPTY_QUERY_RESPONSE))
        return
    several = len(statements) > 1
    if several:
        ctx.session.begin_implicit()
    for statement in statements:
        _run_statement(connection, ctx, statement)
    if several:
        ctx.session.end_implicit()


def _run_statement(connection: Connection, ctx: Context, statement: Statement) -> None:
    prepared = ctx.session.prepare(statement, ())
    if prepared.parameter_types:
        raise SqlError("there is no parameter $1", sqlstate="42P02")
    connection.check_cancelled()
    result = ctx.session.execute(prepared, ())
    if result.batches is None or result.fields is None:
        send_without_rows(connection, ctx, result)
        return
    rows = RowStream(result.batches)
    try:
        formats = [BINARY if result.binary else TEXT] * len(result.fields)
        connection.wfile.write(messages.row_description(result.fields, formats))
        sent = send_rows(connection, ctx, rows.take(None), result.fields, formats)
    finally:
        rows.close()
    connection.complete(ctx, tag_of(result, sent))
