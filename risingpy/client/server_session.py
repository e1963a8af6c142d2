"""A session of a server: a connection, whose statements a program runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import psycopg
import pyarrow as pa
from psycopg.errors import Diagnostic
from psycopg.pq import ExecStatus, TransactionStatus

from risingpy.client.given_rows import Rows, copy_statement, given_reader
from risingpy.client.interface import DatabaseSession
from risingpy.client.libpq_errors import notice
from risingpy.client.python_values import parameter_value
from risingpy.client.received_rows import read_columns, result_fields, text_batch
from risingpy.client.sent_rows import asks_types, copied_rows
from risingpy.client.server_connection import description, encoded, open_connection, translated
from risingpy.client.statement_result import StatementResult
from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.results import Notice
from risingpy.sql_quoting import double_quoted
from risingpy.types import VARCHAR, SqlType
from risingpy.types.forms import format_text
from risingpy.types.oids import type_by_oid

_FETCHED_ROWS = 1 << 16
_COPYING = (ExecStatus.COPY_IN, ExecStatus.COPY_OUT)
_Cursor = psycopg.Cursor[tuple[str | None, ...]]


class ServerSession(DatabaseSession):
    """Runs statements in a connection."""

    def __init__(self, url: str, closed: Callable[[ServerSession], None]) -> None:
        self._connection = open_connection(url)
        self._connection.add_notice_handler(self._hear)
        self._closed = closed
        self._turn = threading.RLock()
        self._open = True
        self._notices: list[Notice] = []

    def sql(self, text: str, parameters: Sequence[object] = ()) -> StatementResult:
        with self._series() as cursor:
            values = self._parameter_texts(text, parameters) if parameters else None
            self._execute(cursor, text, values)
            while cursor.nextset():
                pass
            return self._answer(cursor)

    def insert(self, relation: str, rows: Rows) -> int:
        reader = given_reader(rows)
        text = copy_statement(relation, reader.schema.names)
        with self._series() as cursor:
            description(self._connection, text)  # refuses a name that makes several statements of it
            wanted = self._wanted(relation, reader.schema.names) if asks_types(reader.schema) else {}
            with cursor.copy(encoded(text)) as copy:
                for batch in reader:
                    for piece in copied_rows(batch, wanted):
                        copy.write(piece)
            return cursor.rowcount

    @property
    def in_transaction(self) -> bool:
        return self._connection.pgconn.transaction_status != TransactionStatus.IDLE

    def cancel(self) -> None:
        with suppress(psycopg.Error):  # nothing runs where there is no server
            self._connection.cancel_safe()

    def close(self) -> None:
        self.cancel()
        with self._turn:
            if self._open:
                self._open = False
                self._connection.close()
                self._closed(self)

    @contextmanager
    def _series(self) -> Iterator[_Cursor]:
        """Around what one call runs."""
        with self._turn:
            if not self._open:
                raise SqlError("the session is closed", sqlstate="08003")
            self._notices.clear()
            with translated(), self._connection.cursor() as cursor:
                yield cursor

    def _execute(self, cursor: _Cursor, text: str, values: Sequence[str | None] | None) -> None:
        try:
            cursor.execute(encoded(text), values)
        except psycopg.ProgrammingError as error:
            if error.sqlstate is not None or not self._leave_copy():
                raise
            hint = "Use insert(), or sql(SELECT …)."
            raise FeatureNotSupported("COPY from or to STDIN has no client here", hint=hint) from None

    def _leave_copy(self) -> bool:
        """Whether the connection copied: it does so no more."""
        pgconn = self._connection.pgconn
        if pgconn.transaction_status != TransactionStatus.ACTIVE:
            return False
        with suppress(psycopg.Error):  # it is the server that copies
            pgconn.put_copy_end(b"the client has no rows")
        with suppress(psycopg.Error):
            while pgconn.get_copy_data(0)[0] > 0:
                pass
        while pgconn.get_result() is not None:
            pass
        return True

    def _parameter_texts(self, text: str, parameters: Sequence[object]) -> list[str | None]:
        """The values as the texts of what the statement takes. They are sent without a type, as literals are."""
        said = description(self._connection, text)
        types = [type_by_oid(said.param_type(k)) or VARCHAR for k in range(said.nparams)]
        if len(parameters) != len(types):
            message = f"{len(parameters)} parameters are given, but the statement has {len(types)}"
            raise SqlError(message, sqlstate="08P01")
        zone = self._time_zone()
        return [_parameter_text(type_, value, zone) for type_, value in zip(types, parameters, strict=True)]

    def _wanted(self, relation: str, names: Sequence[str]) -> Mapping[str, SqlType]:
        said = description(self._connection, f"SELECT {', '.join(map(double_quoted, names))} FROM {relation}")
        return {field.name: field.type for field in result_fields(said)}

    def _answer(self, cursor: _Cursor) -> StatementResult:
        result, zone = cursor.pgresult, self._time_zone()
        tag = cursor.statusmessage or ""
        if result is None or result.status != ExecStatus.TUPLES_OK:
            return StatementResult(None, pa.table({}), tag, self._notices, zone)
        fields = result_fields(result)
        batches = []
        while fields and (rows := cursor.fetchmany(_FETCHED_ROWS)):
            batches.append(text_batch(rows))
        described = pa.schema([(str(k), pa.string()) for k in range(len(fields))])
        fields, table = read_columns(fields, pa.Table.from_batches(batches, described), zone)
        return StatementResult(fields, table, tag, self._notices, zone)

    def _time_zone(self) -> str:
        return self._connection.info.parameter_status("TimeZone") or "UTC"

    def _hear(self, said: Diagnostic) -> None:
        self._notices.append(notice(said))


def _parameter_text(type_: SqlType, value: object, zone: str) -> str | None:
    known = parameter_value(type_, value, zone)
    return None if known is None else format_text(type_, known, time_zone=zone)
