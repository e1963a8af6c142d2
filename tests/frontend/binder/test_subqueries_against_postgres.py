"""Subqueries, lateral joins and set operations: our answer, with the rules, is PostgreSQL's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.frontend.binder.bench import ROWS, SCHEMA, bind, run
from tests.postgres_oracle import PostgresOracle

CASES = Path(__file__).parent / "cases"
FILES = (CASES / "subqueries.sql", CASES / "set_operations.sql")
LINES = [line for file in FILES for line in file.read_text().splitlines()]
QUERIES = [line for line in LINES if line and not line.startswith("--")]


@pytest.fixture(scope="module")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The bench's tables, in PostgreSQL."""
    with postgres_oracle.connect() as connection:
        connection.execute("create schema subqueries; set search_path = subqueries")
        connection.execute(SCHEMA.encode())
        for table, rows in ROWS.items():
            for row in rows:
                marks = ", ".join(["%s"] * len(row))
                connection.execute(f"insert into {table} values ({marks})".encode(), row)
        yield connection
        connection.execute("drop schema subqueries cascade")


def theirs(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> list[tuple[str | None, ...]]:
    cursor = psycopg.ClientCursor(connection)
    with connection.transaction():
        cursor.execute("set local bytea_output = hex")
        answer = connection.pgconn.exec_(sql.encode())
        if answer.status not in (psycopg.pq.ExecStatus.TUPLES_OK,):
            sqlstate = answer.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
            message = answer.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY)
            assert sqlstate is not None
            assert message is not None
            raise psycopg.errors.lookup(sqlstate.decode())(message.decode())
        return [
            tuple(None if (v := answer.get_value(r, c)) is None else v.decode() for c in range(answer.nfields))
            for r in range(answer.ntuples)
        ]


def sortable(rows: list[tuple[str | None, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple("NULL" if v is None else f"={v}" for v in row) for row in rows)


@pytest.mark.parametrize("sql", QUERIES)
def test_answers_as_postgresql_does(postgres: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    try:
        expected = theirs(postgres, sql)
    except psycopg.Error as error:
        with pytest.raises(SqlError) as raised:
            run(bind(sql).plan)
        assert (raised.value.sqlstate, raised.value.message) == (error.sqlstate, str(error))
        return
    rows = run(bind(sql).plan)
    if "order by" in sql.rsplit(")", 1)[-1]:
        assert rows == expected
    else:
        assert sortable(rows) == sortable(expected)
