"""Statements one after the other, here and on a PostgreSQL: what answers differ."""

from __future__ import annotations

import psycopg

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

Answer = object
Difference = tuple[str, Answer, Answer]


def differences(client: Client, oracle: PostgresOracle, history: str) -> list[Difference]:
    """(Statement, answer here, answer of PostgreSQL), each line alone, in an empty schema.

    A line that begins with `=` has rows that count, in any order; of the others, only errors do.
    """
    found: list[Difference] = []
    with oracle.connect() as connection:
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
        for line in history.strip().splitlines():
            sql, counts = line.removeprefix("="), line.startswith("=")
            expected, given = _on_postgres(connection, sql, counts=counts), _here(client, sql, counts=counts)
            if given != expected:
                found.append((sql, given, expected))
    return found


def _on_postgres(connection: psycopg.Connection[tuple[object, ...]], sql: str, *, counts: bool) -> Answer:
    try:
        cursor = connection.execute(sql.encode())
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail
    return sorted(map(repr, cursor.fetchall())) if counts else None


def _here(client: Client, sql: str, *, counts: bool) -> Answer:
    try:
        rows = client.run(sql)
    except SqlError as error:
        return error.sqlstate, str(error), error.detail
    return sorted(map(repr, rows)) if counts else None
