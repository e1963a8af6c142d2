"""COPY FROM … WHERE and options that name columns: tags, rows and errors are those of a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_TABLE = """
    CREATE TABLE copied (
        id int PRIMARY KEY, a int, b varchar, c int DEFAULT 7, d timestamptz, g int GENERATED ALWAYS AS (a * 2) STORED)
"""
_DATA = "".join(f"{i},{'' if i % 5 == 0 else i % 7},{'x' * (i % 4)},2024-01-0{i % 9 + 1} 12:00\n" for i in range(40))


@pytest.fixture
def both(server: WireServer, postgres_oracle: PostgresOracle) -> Iterator[list[psycopg.Connection[Any]]]:
    dsn = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(dsn, autocommit=True) as ours, postgres_oracle.connect() as theirs:
        for each in (ours, theirs):
            each.execute("DROP TABLE IF EXISTS copied")
            each.execute(_TABLE)
            each.execute("SET TIME ZONE 'Europe/Rome'")
        yield [ours, theirs]


def _answer(connection: psycopg.Connection[Any], statement: str, data: str) -> object:
    try:
        with connection.cursor() as cursor:
            with cursor.copy(statement) as copy:
                copy.write(data)
            rows = connection.execute("SELECT * FROM copied ORDER BY id").fetchall()
            return cursor.statusmessage, rows
    except psycopg.Error as error:
        diag = error.diag
        # WHERE looks at many rows at once: its errors name none.
        context = None if error.sqlstate == "22012" else diag.context
        return error.sqlstate, diag.message_primary, diag.message_detail, context, diag.statement_position


@pytest.mark.parametrize(
    "where",
    [
        "a > 3",
        "a IS NULL OR b = ''",
        "copied.id % 2 = 0 AND c = 7",
        "d < '2024-01-04 12:30'::timestamptz",
        "NULL",
        "false",
        "c IN (6, 8) OR length(b) BETWEEN 1 AND 2",
        "100 / (id - 7) > 0",
        "g > 3",
        "nothing > 3",
        "a",
        "a > (SELECT 1)",
        "count(*) > 1",
        "row_number() OVER () > 1",
        "generate_series(1, a) > 1",
    ],
)
def test_rows_are_chosen(both: list[psycopg.Connection[Any]], where: str) -> None:
    statement = f"COPY copied (id, a, b, d) FROM STDIN (FORMAT csv) WHERE {where}"
    ours, theirs = (_answer(each, statement, _DATA) for each in both)
    assert ours == theirs


@pytest.mark.parametrize(
    ("statement", "data"),
    [
        ("COPY copied (id, b) FROM STDIN CSV FORCE NOT NULL b WHERE b = ''", '1,\n2,""\n3,x\n'),
        ("COPY copied (id, b) FROM STDIN CSV FORCE NULL b", '1,\n2,""\n3,x\n'),
        ("COPY copied (id, b) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (b, a))", "1,x\n"),
        ("COPY copied (id, b) FROM STDIN (FORMAT csv, FORCE_NULL (none))", "1,x\n"),
        ("COPY copied (id, b) FROM STDIN (FORCE_NULL (b))", "1\tx\n"),
        ("COPY copied (id, b) FROM STDIN (FORMAT binary, FORCE_NOT_NULL (b))", ""),
        ("COPY copied (id, b) FROM STDIN (FORMAT csv, HEADER match)", "id,b\n1,x\n"),
        ("COPY copied (b, id) FROM STDIN (FORMAT csv, HEADER MATCH)", "id,b\n1,x\n"),
        ("COPY copied (id, b) FROM STDIN (HEADER maybe)", "id\tb\n1\tx\n"),
        ("COPY copied TO STDOUT (FORMAT csv, HEADER match)", ""),
        ("COPY copied TO STDOUT (FORMAT csv, FORCE_NULL (b))", ""),
        ("COPY copied TO STDOUT (FORMAT csv, FORCE_NOT_NULL (b))", ""),
        ("COPY copied TO STDOUT WHERE a = 1", ""),
    ],
)
def test_options_of_columns(both: list[psycopg.Connection[Any]], statement: str, data: str) -> None:
    ours, theirs = (_answer(each, statement, data) for each in both)
    assert ours == theirs


def test_many_rows_of_which_few_are_kept(both: list[psycopg.Connection[Any]]) -> None:
    """More than a COPY keeps in memory comes, and what a default takes from a sequence is taken once."""
    ours = both[0]
    ours.execute("CREATE TABLE numbered (n serial PRIMARY KEY, a int, filling varchar)")
    with ours.cursor() as cursor:
        with cursor.copy("COPY numbered (a, filling) FROM STDIN WHERE a % 1000 = 1") as copy:
            for first in range(0, 100_000, 1000):
                copy.write("".join(f"{i}\t{'x' * 1000}\n" for i in range(first, first + 1000)))
        assert cursor.statusmessage == "COPY 100"
    found = ours.execute("SELECT n, a FROM numbered ORDER BY n").fetchall()
    assert found == [(1000 * k + 2, 1000 * k + 1) for k in range(100)]
