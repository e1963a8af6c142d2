"""A session of a program: its statements, one after the other, as a client's session runs them over the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from risingpy.client.given_rows import Rows, copy_statement, given_reader, table_columns
from risingpy.client.interface import DatabaseSession
from risingpy.client.python_values import parameter_value
from risingpy.client.statement_result import StatementResult
from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.results import CopyIn, Prepared, Result
from risingpy.frontend.session import ClientSession

_NO_SUCH = "08003"
_IDLE = b"I"


class EmbeddedSession(DatabaseSession):
    """Runs statements in this process."""

    def __init__(self, opened: ClientSession, closed: Callable[[EmbeddedSession], None]) -> None:
        self._session = opened
        self._closed = closed
        self._turn = threading.RLock()
        self._open = True

    def sql(self, text: str, parameters: Sequence[object] = ()) -> StatementResult:
        with self._series() as session:
            statements = session.split(text)
            if not statements:
                return StatementResult(None, pa.table({}), "", session.drain_notices(), session.time_zone())
            if len(statements) > 1:
                if parameters:
                    raise SqlError("several statements cannot have parameters", sqlstate="42601")
                session.begin_implicit()
            for statement in statements[:-1]:
                _rows(session, _executed(session, session.prepare(statement, ()), ()))
            prepared = session.prepare(statements[-1], ())
            answer = _answer(session, _executed(session, prepared, parameters))
            if len(statements) > 1:
                session.end_implicit()
            return answer

    def insert(self, relation: str, rows: Rows) -> int:
        reader = given_reader(rows)
        with self._series() as session:
            statements = session.split(copy_statement(relation, reader.schema.names))
            result = session.execute(session.prepare(statements[0], ()), ()) if len(statements) == 1 else None
            if result is None or not isinstance(result.copy, CopyIn):
                raise SqlError(f'"{relation}" is no name of a table', sqlstate="42602")
            return _copied(result.copy, reader)

    @property
    def in_transaction(self) -> bool:
        return self._session.transaction_status() != _IDLE

    def cancel(self) -> None:
        self._session.cancel()

    def close(self) -> None:
        self._session.cancel()
        with self._turn:
            if self._open:
                self._open = False
                self._session.close()
                self._closed(self)

    @contextmanager
    def _series(self) -> Iterator[ClientSession]:
        """Around what one call runs: what fails is undone, and what was cancelled late harms nothing later."""
        with self._turn:
            if not self._open:
                raise SqlError("the session is closed", sqlstate=_NO_SUCH)
            try:
                yield self._session
            except BaseException:
                self._session.fail()
                self._session.sync()
                raise
            self._session.sync()


def _executed(session: ClientSession, prepared: Prepared, parameters: Sequence[object]) -> Result:
    wanted = prepared.parameter_types
    if len(parameters) != len(wanted):
        message = f"{len(parameters)} parameters are given, but the statement has {len(wanted)}"
        raise SqlError(message, sqlstate="08P01")
    zone = session.time_zone()
    values = [parameter_value(type_, value, zone) for type_, value in zip(wanted, parameters, strict=True)]
    result = session.execute(prepared, values)
    if isinstance(result.copy, CopyIn):
        result.copy.sink.abort()
    if result.copy is not None:
        raise FeatureNotSupported("COPY from or to STDIN has no client here", hint="Use insert(), or sql(SELECT …).")
    return result


def _rows(session: ClientSession, result: Result) -> pa.Table:
    """All rows, in columns that are named by their positions: names of results may be equal."""
    fields = result.fields or ()
    described = pa.schema([pa.field(str(k), field.type.arrow) for k, field in enumerate(fields)])
    if result.batches is None or not fields:
        return described.empty_table()
    batches = []
    for batch in result.batches:
        session.check()
        batches.append(pa.RecordBatch.from_arrays(batch.columns, schema=described))
    return pa.Table.from_batches(batches, described)


def _answer(session: ClientSession, result: Result) -> StatementResult:
    rows = _rows(session, result)
    tag = result.tag.text(rows.num_rows)
    return StatementResult(result.fields, rows, tag, session.drain_notices(), session.time_zone())


def _copied(copy: CopyIn, reader: pa.RecordBatchReader) -> int:
    taken = 0
    with copy.limit:
        try:
            for batch in reader:
                for part in table_columns(batch, copy.fields):
                    copy.sink.write(part)
                    taken += part.num_rows
        except BaseException:
            copy.sink.abort()
            raise
        copy.sink.finish()
    return taken
