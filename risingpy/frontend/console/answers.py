"""A text's results as lines of JSON, written while they come.

{"fields": [{"name": …, "type": …}, …]}      a result with rows begins
{"columns": [[…], …]}                        rows of it, column by column; values as SQL shows them, null for NULL
{"tag": "SELECT 5", "more": false}           a statement is done; more: it had rows that were not asked for
{"notice": {"severity": …, "message": …}}    at any time
{"error": {"message": …, "sqlstate": …, "position": …, "detail": …, "hint": …}}
{"done": 12.5}                               the last line, after an error too: milliseconds since the first one
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.portals import row_stream
from risingpy.frontend.results import CopyIn, Notice, Result, ResultField
from risingpy.frontend.session import ClientSession
from risingpy.frontend.wire.responder import as_sql_error
from risingpy.types.forms import text_column

LONGEST_VALUE = 10_000  # characters of a value that a page gets: nobody reads more in a cell of a table
ROWS_OF_A_LINE = 1000
Send = Callable[[bytes], None]


class JsonAnswer:
    """Answers one text of a page from one session. `send` takes bytes for the client, and may raise OSError."""

    def __init__(self, session: ClientSession, send: Send, limit: int) -> None:
        """`limit`: the most rows of each result, but of a live one."""
        self._session = session
        self._send = send
        self._limit = limit
        self._began = perf_counter()
        session.speaks_through(self._notice)

    def run(self, text: str, ended_by: Callable[[], SqlError | None]) -> None:
        """Runs the text, as psql's simple protocol would. Raises nothing but OSError: the client has gone."""
        session = self._session
        try:
            self._statements(text)
            session.sync()
        except OSError:
            session.fail()
            session.sync()
            raise
        except Exception as error:
            session.fail()
            session.sync()
            self._line({"error": error_object(ended_by() or as_sql_error(error))})
        self._line({"done": round((perf_counter() - self._began) * 1000, 3)})

    def _statements(self, text: str) -> None:
        session = self._session
        statements = session.split(text)
        several = len(statements) > 1
        if several:
            session.begin_implicit()
        for statement in statements:
            prepared = session.prepare(statement, ())
            if prepared.parameter_types:
                raise SqlError("there is no parameter $1", sqlstate="42P02")
            session.check()
            self._result(session.execute(prepared, ()))
        if several:
            session.end_implicit()

    def _result(self, result: Result) -> None:
        if isinstance(result.copy, CopyIn):
            result.copy.sink.abort()
        if result.copy is not None:
            raise FeatureNotSupported("COPY from or to STDIN has no client here", hint="Use psql, or a SELECT.")
        sent, more = 0, False
        if result.batches is not None and result.fields is not None:
            self._line({"fields": [{"name": each.name, "type": str(each.type)} for each in result.fields]})
            sent, more = self._rows(result, result.fields)
        for notice in self._session.drain_notices():
            self._notice(notice)
        self._line({"tag": result.tag.text(sent), "more": more})

    def _rows(self, result: Result, fields: tuple[ResultField, ...]) -> tuple[int, bool]:
        """Sends the rows; returns how many those were, and whether there are more."""
        rows, left = row_stream(result), self._limit
        try:
            # One more than is wanted says whether there are more. A live result has no end: its reader goes.
            for batch in rows.take(None if result.is_live else left + 1):
                self._session.check()
                shown = batch if result.is_live else batch.slice(0, left)
                left -= shown.num_rows
                for part in _parts(shown):
                    self._line({"columns": _columns(part, fields, self._session.time_zone())})
                if shown.num_rows < batch.num_rows:
                    return self._limit, True
        finally:
            rows.close()
        return self._limit - left, False

    def _notice(self, notice: Notice) -> None:
        told = {"severity": notice.severity, "message": notice.message, "hint": notice.hint, "detail": notice.detail}
        self._line({"notice": told})

    def _line(self, value: dict[str, Any]) -> None:
        self._send(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def error_object(error: SqlError) -> dict[str, Any]:
    """An error as the page shows it."""
    return {
        "message": error.message,
        "sqlstate": error.sqlstate,
        "position": error.position,
        "detail": error.detail,
        "hint": error.hint,
    }


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, ROWS_OF_A_LINE):
        yield batch.slice(start, ROWS_OF_A_LINE)


def _columns(batch: pa.RecordBatch, fields: tuple[ResultField, ...], zone: str) -> list[list[str | None]]:
    return [_texts(field, column, zone) for field, column in zip(fields, batch.columns, strict=True)]


def _texts(field: ResultField, column: pa.Array, zone: str) -> list[str | None]:
    texts = text_column(field.type, column, time_zone=zone)
    longest = pc.max(pc.utf8_length(texts)).as_py()
    if longest is not None and longest > LONGEST_VALUE:
        cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, LONGEST_VALUE), "…", "")
        texts = pc.if_else(pc.greater(pc.utf8_length(texts), LONGEST_VALUE), cut, texts)
    found: list[str | None] = texts.to_pylist()
    return found
