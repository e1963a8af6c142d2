"""The extended protocol: Parse, Bind, Describe, Execute, Close."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError, UndefinedCursor, UndefinedStatement
from risingpy.frontend.portals import Portal, PreparedEntry, row_stream
from risingpy.frontend.results import TEXT, Prepared
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import (
    Arguments,
    Bind,
    Close,
    DescribeMessage,
    ExecuteMessage,
    ExtendedMessage,
    Parse,
    Target,
)
from risingpy.frontend.wire.parameters import declared_by_values, decode_parameters, result_formats
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.send_rows import send_rows, send_without_rows
from risingpy.frontend.wire.short_path.repeated import RepeatedStatements
from risingpy.types.array import OtherDepth


class ExtendedQuery:
    """Handles the five messages. It raises errors; the rest is then dropped up to the client's Sync."""

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._session = responder.session
        self._repeated = RepeatedStatements(responder)

    def handle(self, message: ExtendedMessage) -> None:
        match message:
            case Parse():
                self._parse(message)
            case Bind():
                self._bind(message)
            case DescribeMessage():
                self._describe(message)
            case ExecuteMessage():
                self._execute(message)
            case Close():
                self._close(message)
            case _:
                assert_never(message)

    def _parse(self, message: Parse) -> None:
        name = message.name
        statements = self._session.statements
        if name and name in statements:
            raise SqlError(f'prepared statement "{name}" already exists', sqlstate="42P05")
        if not name:
            statements.pop("", None)
        prepared = self._session.parsed_before(message.text, message.parameter_oids)
        if prepared is None:
            prepared = self._prepared(message)
        statements[name] = PreparedEntry(prepared, message.text)
        self._say(ServerResponse.PARSE_COMPLETE)

    def _prepared(self, message: Parse) -> Prepared | None:
        parsed = self._session.split(message.text)
        if len(parsed) > 1:
            raise SqlError("cannot insert multiple commands into a prepared statement", sqlstate="42601")
        if not parsed:
            return None
        prepared = self._session.prepare(parsed[0], message.parameter_oids)
        self._session.keep_parsed(message.text, message.parameter_oids, prepared)
        return prepared

    def _say(self, kind: bytes) -> None:
        """Sends a message without a body."""
        self._responder.write(server_messages.message(kind))

    def _statement(self, name: str) -> PreparedEntry:
        entry = self._session.statements.get(name)
        if entry is None:
            which = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise UndefinedStatement(f"{which} does not exist")
        return entry

    def _portal(self, name: str) -> Portal:
        portal = self._session.portals.get(name)
        if portal is None:
            raise UndefinedCursor(f'portal "{name}" does not exist')
        return portal

    def _bind(self, message: Bind) -> None:
        entry = self._statement(message.statement)
        if entry.prepared is not None and entry.prepared.of_cursor and entry.prepared.statement is not None:
            entry = replace(entry, prepared=self._session.prepare(entry.prepared.statement, entry.prepared.declared))
        prepared, arguments = entry.prepared or Prepared(), message.arguments
        if isinstance(arguments, SqlError):
            raise arguments
        try:
            parameters = decode_parameters(arguments, message.statement, prepared, self._session)
        except OtherDepth:
            entry = self._of_other_depth(entry, arguments)
            prepared = entry.prepared or prepared
            parameters = decode_parameters(arguments, message.statement, prepared, self._session)
        formats = arguments.result_formats
        if prepared.fields is not None:
            count = len(prepared.fields)
            formats = result_formats(prepared.fields, formats, f"result formats but query has {count} columns")
        self._session.portals.add(message.portal, Portal(entry, parameters, formats))
        self._say(ServerResponse.BIND_COMPLETE)

    def _of_other_depth(self, entry: PreparedEntry, arguments: Arguments) -> PreparedEntry:
        """The statement for arrays of as many dimensions as these values have, which no type's OID says."""
        assert entry.prepared is not None and entry.prepared.statement is not None
        declared = declared_by_values(arguments, entry.prepared)
        return replace(entry, prepared=self._session.prepare(entry.prepared.statement, declared))

    def _describe(self, message: DescribeMessage) -> None:
        write = self._responder.write
        match message.target:
            case Target.STATEMENT:
                prepared = self._statement(message.name).prepared or Prepared()
                write(server_messages.parameter_description([type_.oid for type_ in prepared.parameter_types]))
                formats = [TEXT] * len(prepared.fields or ())
            case Target.PORTAL:
                portal = self._portal(message.name)
                prepared, formats = portal.entry.prepared or Prepared(), portal.formats
        if prepared.fields is None:
            self._say(ServerResponse.NO_DATA)
        else:
            write(server_messages.row_description(prepared.fields, formats))

    def _execute(self, message: ExecuteMessage) -> None:
        portal = self._portal(message.portal)
        prepared = portal.entry.prepared
        if prepared is None:
            self._say(ServerResponse.EMPTY_QUERY_RESPONSE)
            return
        if portal.result is None:
            self._responder.check_cancelled()
            if not self._responder.channel.sync_follows():
                self._session.begin_implicit()
            result = portal.result = self._session.execute(prepared, portal.parameters)
            if result.batches is None or result.fields is None:
                portal.done = True
                send_without_rows(self._responder, result)
                self._repeated.answer(portal)
                return
            portal.rows = row_stream(result)
        elif portal.failed or (portal.rows is None and portal.result.fields is None):
            raise SqlError(f'portal "{message.portal}" cannot be run', sqlstate="55000")
        self._send(portal, message.limit if message.limit > 0 else None)

    def _send(self, portal: Portal, limit: int | None) -> None:
        assert portal.result is not None and portal.result.fields is not None
        fields = portal.result.fields
        sent = 0
        if portal.rows is not None and not portal.done:
            if len(portal.formats) != len(fields):
                portal.formats = result_formats(fields, portal.formats, "result formats")
            part = portal.begin_part(portal.rows.take(limit))
            sent = send_rows(self._responder, part, fields, portal.formats, live=portal.result.is_live)
            if limit is not None and (sent == limit or not portal.rows.at_end):
                self._say(ServerResponse.PORTAL_SUSPENDED)
                return
            if portal.options is None:
                portal.done = True
                portal.close()
        self._responder.complete(portal.result.tag, sent)

    def _close(self, message: Close) -> None:
        match message.target:
            case Target.STATEMENT:
                self._session.statements.pop(message.name, None)
            case Target.PORTAL:
                self._session.portals.close(message.name)
        self._say(ServerResponse.CLOSE_COMPLETE)
