"""Statements sent to a session and to a PostgreSQL, whose answers must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

Answer = tuple[object, ...]
"""A tag and rows; of an error its SQLSTATE, message, detail and hint."""


class Beside:
    """A session, and a PostgreSQL's in a database of its own."""

    def __init__(self, client: Client, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self.client = client
        self.connection = connection

    def same(self, *texts: str) -> list[Answer]:
        """The answers to the statements, which are the same on both sides."""
        answers = []
        for sql in texts:
            expected, given = self.theirs(sql), self.ours(sql)
            assert given == expected, f"{sql}: {given}, and not {expected}"
            answers.append(given)
        return answers

    def place(self, sql: str) -> int | None:
        """Where our error is, in characters from 1."""
        try:
            self.client.run(sql)
        except SqlError as error:
            return error.position
        raise AssertionError(f"{sql}: no error")

    def place_there(self, sql: str) -> int | None:
        """Where PostgreSQL's error is."""
        try:
            self.connection.execute(sql.encode())
        except psycopg.Error as error:
            place = error.diag.statement_position
            return None if place is None else int(place)
        raise AssertionError(f"{sql}: no error")

    def ours(self, sql: str) -> Answer:
        try:
            rows = self.client.run(sql)
        except SqlError as error:
            return error.sqlstate, str(error), error.detail, error.hint
        return self.client.tag, rows

    def theirs(self, sql: str) -> Answer:
        try:
            cursor = self.connection.execute(sql.encode())
        except psycopg.Error as error:
            said = error.diag
            return said.sqlstate, said.message_primary, said.message_detail, said.message_hint
        while cursor.nextset():
            pass
        return cursor.statusmessage, [] if cursor.description is None else cursor.fetchall()


@contextmanager
def beside_postgres(client: Client, oracle: PostgresOracle) -> Iterator[Beside]:
    """The session, beside a new database of the server's."""
    with oracle.connect() as owner:
        owner.execute("DROP DATABASE IF EXISTS beside")
        owner.execute("CREATE DATABASE beside")
        with psycopg.connect(
            host=str(oracle.directory), port=oracle.port, user=oracle.superuser, dbname="beside", autocommit=True
        ) as connection:
            yield Beside(client, connection)
