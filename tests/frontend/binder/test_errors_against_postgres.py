"""Bad queries: SQLSTATE, message, hint and position as PostgreSQL has them (`cases/errors.sql`, one a line)."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.frontend.binder.bench import bind, run

CASES = (Path(__file__).parent / "cases" / "errors.sql").read_text().splitlines()


def ours(sql: str) -> tuple[str, str, str | None, int | None]:
    try:
        run(bind(sql).plan)
    except SqlError as error:
        return error.sqlstate, error.message, error.hint, error.position
    pytest.fail(f"no error: {sql}")


def theirs(postgres: psycopg.Connection[tuple[object, ...]], sql: str) -> tuple[str, str, str | None, int | None]:
    result = postgres.pgconn.exec_(sql.encode())
    field = psycopg.pq.DiagnosticField

    def text(which: psycopg.pq.DiagnosticField) -> str | None:
        value = result.error_field(which)
        return None if value is None else value.decode()

    position = text(field.STATEMENT_POSITION)
    state, message = text(field.SQLSTATE), text(field.MESSAGE_PRIMARY)
    assert state is not None and message is not None, sql
    return state, message, text(field.MESSAGE_HINT), None if position is None else int(position)


@pytest.mark.parametrize("sql", CASES)
def test_error(postgres: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    state, message, hint, position = ours(sql)
    # Our only character type is varchar; PostgreSQL's literals and functions give text.
    expected_state, expected_message, expected_hint, expected_position = theirs(postgres, sql)
    assert message.replace("character varying", "text") == expected_message.replace("character varying", "text")
    assert (state, hint, position) == (expected_state, expected_hint, expected_position)
