"""`risingpy sql`: runs statements over the wire and prints their results as psql does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

import psycopg

from risingpy.sqllogictest.sql_text import split_statements

_RIGHT_ALIGNED_OIDS = frozenset({20, 21, 23, 26, 700, 701, 1700})  # whole numbers, floats, numeric


def run_sql(conninfo: str, text: str, output: TextIO) -> None:
    """Runs each statement of a text on one connection, stopping at the first error. Raises psycopg.Error."""
    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, connect_timeout=30) as connection:
        connection.add_notice_handler(lambda said: print(f"{said.severity}:  {said.message_primary}", file=output))
        for statement in split_statements(text):
            with connection.cursor() as cursor:
                cursor.execute(statement.encode())
                for line in _result_lines(cursor):
                    output.write(line + "\n")


def error_lines(error: psycopg.Error) -> Iterator[str]:
    """An error as psql shows it: severity, message, detail, hint."""
    diagnostic = error.diag
    yield f"{diagnostic.severity or 'ERROR'}:  {diagnostic.message_primary or str(error).strip()}"
    if diagnostic.message_detail:
        yield f"DETAIL:  {diagnostic.message_detail}"
    if diagnostic.message_hint:
        yield f"HINT:  {diagnostic.message_hint}"


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
