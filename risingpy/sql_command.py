"""`risingpy sql`: runs statements over the wire and prints their results as psql does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import psycopg

from risingpy.sqllogictest.sql_text import split_statements

_RIGHT_ALIGNED_OIDS = frozenset({20, 21, 23, 26, 700, 701, 1700})  # whole numbers, floats, numeric


class StatementFailed(Exception):
    """The server answered a statement with an error; its author must act. `lines` show it as psql does."""

    def __init__(self, statement: str, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.lines = list(error_lines(error, statement))


def run_sql(conninfo: str, texts: Iterable[str], output: TextIO) -> None:
    """Runs each statement of the texts, all on one connection: each reads what those before it have written.

    Stops at the first error. Raises StatementFailed, or psycopg.Error where there is no connection.
    """
    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, connect_timeout=30) as connection:
        connection.add_notice_handler(lambda said: print(f"{said.severity}:  {said.message_primary}", file=output))
        for statement in (statement for text in texts for statement in split_statements(text)):
            with connection.cursor() as cursor:
                try:
                    cursor.execute(statement.encode())
                except psycopg.Error as error:
                    raise StatementFailed(statement, error) from error
                for line in _result_lines(cursor):
                    output.write(line + "\n")


def error_lines(error: psycopg.Error, statement: str = "") -> Iterator[str]:
    """An error as psql shows it: severity, message, the statement's line with a caret, detail, hint."""
    diagnostic = error.diag
    yield f"{diagnostic.severity or 'ERROR'}:  {diagnostic.message_primary or str(error).strip()}"
    if statement and diagnostic.statement_position:
        yield from _caret_lines(statement, int(diagnostic.statement_position) - 1)
    if diagnostic.message_detail:
        yield f"DETAIL:  {diagnostic.message_detail}"
    if diagnostic.message_hint:
        yield f"HINT:  {diagnostic.message_hint}"


def _caret_lines(statement: str, offset: int) -> Iterator[str]:
    """`LINE 2: …` and a caret below the character at this offset."""
    before = statement[:offset]
    start = before.rfind("\n") + 1
    line = statement[start:].partition("\n")[0].replace("\t", " ")
    label = f"LINE {before.count(chr(10)) + 1}: "
    yield label + line
    yield " " * (len(label) + offset - start) + "^"


def _result_lines(cursor: psycopg.Cursor[tuple[object, ...]]) -> Iterator[str]:
    result = cursor.pgresult
    if result is None or not result.nfields:
        yield cursor.statusmessage or ""
        return
    headers = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
    right = [result.ftype(i) in _RIGHT_ALIGNED_OIDS for i in range(result.nfields)]
    rows = [
        [(result.get_value(row, i) or b"").decode() for i in range(result.nfields)] for row in range(result.ntuples)
    ]
    yield from table_lines(headers, rows, right)


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """A table in psql's aligned format, with its row count."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    yield "|".join(f" {header:^{width}} " for header, width in zip(headers, widths, strict=True)).rstrip()
    yield "+".join("-" * (width + 2) for width in widths)
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        yield "|".join(f" {cell:>{width}} " if r else f" {cell:<{width}} " for cell, width, r in cells).rstrip()
    yield f"({len(rows)} row{'' if len(rows) == 1 else 's'})"
    yield ""
