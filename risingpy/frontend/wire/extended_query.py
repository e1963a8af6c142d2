"""The extended protocol: Parse, Bind, Describe, Execute, Close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buenavista.postgres import ClientCommand, ServerResponse

from risingpy.errors import ProtocolViolation, SqlError, UndefinedCursor, UndefinedStatement
from risingpy.frontend.wire import messages
from risingpy.frontend.wire.fields import TEXT
from risingpy.frontend.wire.parameters import decode_parameters, expand_formats, parameter_oids
from risingpy.frontend.wire.payload import Payload
from risingpy.frontend.wire.portal import Portal, PreparedEntry, RowStream
from risingpy.frontend.wire.results import send_rows, send_without_rows, tag_of
from risingpy.frontend.wire.session_protocol import Prepared

if TYPE_CHECKING:
    from risingpy.frontend.wire.connection import Connection, Context

_STATEMENT, _PORTAL = b"S", b"P"


class ExtendedQuery:
    """Handles the five messages. Errors are raised; the connection then skips to the client's Sync."""

    def __init__(self, connection: Connection, ctx: Context) -> None:
        self._connection = connection
        self._ctx = ctx

    def handle(self, kind: bytes, payload: Payload) -> None:
        match kind:
            case ClientCommand.PARSE:
                self._parse(payload)
            case ClientCommand.BIND:
                self._bind(payload)
            case ClientCommand.DESCRIBE:
                self._describe(payload)
            case ClientCommand.EXECUTE:
                self._execute(payload)
            case ClientCommand.CLOSE:
                self._close(payload)
            case _:
                raise AssertionError(kind)

    def _parse(self, payload: Payload) -> None:
        name, text, oids = payload.string(), payload.string(), payload.uint32s()
        payload.end()
        statements = self._ctx.session.statements
        if name and name in statements:
            raise SqlError(f'prepared statement "{name}" already exists', sqlstate="42P05")
        if not name:
            statements.pop("", None)
        parsed = self._ctx.session.split(text)
        if len(parsed) > 1:
            raise SqlError("cannot insert multiple commands into a prepared statement", sqlstate="42601")
        prepared = self._ctx.session.prepare(parsed[0], oids) if parsed else None
        statements[name] = PreparedEntry(prepared, text)
        self._connection.send_parse_complete()

    def _statement(self, name: str) -> PreparedEntry:
        entry = self._ctx.session.statements.get(name)
        if entry is None:
            which = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise UndefinedStatement(f"{which} does not exist")
        return entry

    def _portal(self, name: str) -> Portal:
        portal = self._ctx.session.portals.get(name)
        if portal is None:
            raise UndefinedCursor(f'portal "{name}" does not exist')
        return portal

    def _bind(self, payload: Payload) -> None:
        portal_name, name = payload.string(), payload.string()
        entry = self._statement(name)
        prepared = entry.prepared or Prepared()
        parameters = decode_parameters(payload, name, prepared, self._ctx.session.time_zone())
        formats = payload.int16s()
        payload.end()
        if prepared.fields is not None:
            count = len(prepared.fields)
            formats = expand_formats(formats, count, f"result formats but query has {count} columns")
        self._ctx.session.portals.add(portal_name, Portal(entry, parameters, formats))
        self._connection.send_bind_complete()

    def _describe(self, payload: Payload) -> None:
        kind, name = payload.byte(), payload.string()
        payload.end()
        write = self._connection.wfile.write
        if kind == _STATEMENT:
            prepared = self._statement(name).prepared or Prepared()
            write(messages.parameter_description(parameter_oids(prepared)))
            formats = [TEXT] * len(prepared.fields or ())
        elif kind == _PORTAL:
            portal = self._portal(name)
            prepared, formats = portal.entry.prepared or Prepared(), portal.formats
        else:
            raise ProtocolViolation(f"invalid DESCRIBE message subtype {kind[0]}")
        if prepared.fields is None:
            write(messages.message(ServerResponse.NO_DATA))
        else:
            write(messages.row_description(prepared.fields, formats))

    def _execute(self, payload: Payload) -> None:
        name, limit = payload.string(), payload.int32()
        payload.end()
        portal = self._portal(name)
        prepared = portal.entry.prepared
        if prepared is None:
            self._connection.wfile.write(messages.message(ServerResponse.EMPTY_QUERY_RESPONSE))
            return
        if portal.result is None:
            self._connection.check_cancelled()
            if not self._connection.sync_follows():
                self._ctx.session.begin_implicit()
            result = portal.result = self._ctx.session.execute(prepared, portal.parameters)
            if result.batches is None or result.fields is None:
                portal.done = True
                send_without_rows(self._connection, self._ctx, result)
                return
            portal.rows = RowStream(result.batches)
        elif portal.failed or (portal.rows is None and portal.result.fields is None):
            raise SqlError(f'portal "{name}" cannot be run', sqlstate="55000")
        self._send(portal, limit if limit > 0 else None)

    def _send(self, portal: Portal, limit: int | None) -> None:
        assert portal.result is not None and portal.result.fields is not None
        fields = portal.result.fields
        sent = 0
        if portal.rows is not None and not portal.done:
            if len(portal.formats) != len(fields):
                portal.formats = expand_formats(portal.formats, len(fields), "result formats")
            part = portal.begin_part(portal.rows.take(limit))
            sent = send_rows(self._connection, self._ctx, part, fields, portal.formats)
            if sent == limit:
                self._connection.send_portal_suspend()
                return
            if portal.options is None:
                portal.done = True
                portal.close()
        self._connection.complete(self._ctx, tag_of(portal.result, sent))

    def _close(self, payload: Payload) -> None:
        kind, name = payload.byte(), payload.string()
        payload.end()
        if kind == _STATEMENT:
            self._ctx.session.statements.pop(name, None)
        elif kind == _PORTAL:
            self._ctx.session.portals.close(name)
        else:
            raise ProtocolViolation(f"invalid CLOSE message subtype {kind[0]}")
        self._connection.send_close_complete()
