"""Who may do what with which right: RisingPy and a real PostgreSQL 15 must say the same, by SQLSTATE.

`make test` tries a part of the matrix; with RISINGPY_RIGHTS_MATRIX=all every cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import Protocol

import psycopg
import pytest
from psycopg import sql as literal

from risingpy.errors import SqlError
from risingpy.frontend.results import CopyIn, StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.meta.database import Database
from tests.frontend.session.rights.matrix import GRANTED_TO, KEPT, OBJECTS, SETUP, USERS, Attempt, cells
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

SHARE = 1 if os.environ.get("RISINGPY_RIGHTS_MATRIX") == "all" else 32
DONE = "00000"


class Server(Protocol):
    """A database with a session for each user; `root` is the superuser."""

    name: str

    def run(self, user: str, sql: str) -> str:
        """The SQLSTATE of a text's first error, DONE without one."""


class Ours:
    """RisingPy, in this process."""

    name = "dev"

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sessions: dict[str, ClientSession] = {}

    def session(self, user: str) -> ClientSession:
        if user not in self._sessions:
            startup = StartupParameters(user, "dev", {}, 1000 + len(self._sessions))
            self._sessions[user] = open_session(self._database, startup)
        return self._sessions[user]

    def run(self, user: str, sql: str) -> str:
        session = self.session(user)
        try:
            statements = session.split(sql)
            for statement in statements:
                result = session.execute(session.prepare(statement, ()), ())
                if isinstance(result.copy, CopyIn):
                    result.copy.sink.abort()
                for _ in result.batches or ():
                    pass
            session.sync()
        except SqlError as error:
            session.fail()
            session.sync()
            return error.sqlstate
        return DONE

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


class Theirs:
    """PostgreSQL, in a database of its own."""

    name = "rights_matrix"

    def __init__(self, oracle: PostgresOracle) -> None:
        self._oracle = oracle
        self._sessions: dict[str, psycopg.Connection[tuple[object, ...]]] = {}
        with oracle.connect() as first:
            first.execute(f"DROP DATABASE IF EXISTS {self.name}")
            for user in (*USERS, "team"):
                first.execute(f"DROP ROLE IF EXISTS {user}")
            first.execute(f"CREATE DATABASE {self.name}")

    def session(self, user: str) -> psycopg.Connection[tuple[object, ...]]:
        if user not in self._sessions:
            self._sessions[user] = psycopg.connect(
                host=str(self._oracle.directory),
                port=self._oracle.port,
                user="postgres" if user == "root" else user,
                dbname=self.name,
                autocommit=True,
                options="-c lock_timeout=5s",
                prepare_threshold=None,  # DEALLOCATE ALL takes what is prepared away
            )
        return self._sessions[user]

    def run(self, user: str, sql: str) -> str:
        session = self.session(user)
        try:
            with session.cursor() as cursor:
                for statement in sql.split("; "):
                    if statement.startswith("COPY"):
                        with cursor.copy(literal.SQL(statement)) as copy:
                            if statement.endswith("STDOUT"):
                                list(copy)
                    else:
                        cursor.execute(statement.encode())
        except psycopg.Error as error:
            return error.sqlstate or "?"
        return DONE

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


@pytest.fixture
def servers(database: Database, postgres_oracle: PostgresOracle) -> Iterator[tuple[Server, Server]]:
    ours, theirs = Ours(database), Theirs(postgres_oracle)
    for server in (ours, theirs):
        for sql in SETUP:
            assert server.run("root", sql) == DONE, (server.name, sql)
        for sql in OBJECTS:
            assert server.run("owner", sql) == DONE, (server.name, sql)
    yield ours, theirs
    ours.close()
    theirs.close()


def tried(server: Server, user: str, attempt: Attempt) -> str:
    """The SQLSTATE of what a user tries, without any effect."""
    if attempt.undo is None:
        server.run(user, "BEGIN")
        found = server.run(user, attempt.sql)
        server.run(user, "ROLLBACK")
        server.run(user, "DEALLOCATE ALL")
        return found
    found = server.run(user, attempt.sql)
    if found == DONE:
        assert server.run("root", attempt.undo) == DONE, (server.name, attempt)
    return found


def granted(server: Server, grant: str, *, revoked: bool = False) -> None:
    if grant:
        words = ("REVOKE", "FROM", "CASCADE") if revoked else ("GRANT", "TO", "")
        on = grant.format(db=server.name)
        assert server.run("root", f"{words[0]} {on} {words[1]} {GRANTED_TO} {words[2]}") == DONE, (server.name, grant)


@pytest.mark.timeout(1800)
def test_every_cell_as_in_postgres(servers: tuple[Server, Server]) -> None:
    wrong, count = [], 0
    for grant, of_grant in groupby(cells(SHARE), key=lambda cell: cell[0]):
        for server in servers:
            granted(server, grant)
        for _, user, attempt in of_grant:
            ours, theirs = (tried(server, user, attempt) for server in servers)
            count += 1
            if ours != theirs:
                wrong.append((grant, user, attempt.sql, ours, theirs))
        for server in servers:
            granted(server, grant, revoked=True)
    print(f"{count} cells")
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("user", ["direct", "member"])
def test_what_was_prepared_is_refused_after_a_revoke(servers: tuple[Server, Server], user: str) -> None:
    grant = "ALL ON t, v", "EXECUTE ON FUNCTION f(int)"
    for server in servers:
        for each in grant:
            granted(server, each)
        for number, sql in enumerate(KEPT):
            assert server.run(user, f"PREPARE k{number} AS {sql}") == DONE
            for _ in range(3):
                assert server.run(user, f"EXECUTE k{number}") == DONE
    for each in grant:
        before = [[server.run(user, f"EXECUTE k{number}") for number in range(len(KEPT))] for server in servers]
        assert before[0] == before[1]
        for server in servers:
            granted(server, each, revoked=True)
    after = [[server.run(user, f"EXECUTE k{number}") for number in range(len(KEPT))] for server in servers]
    assert after[0] == after[1] == ["42501"] * len(KEPT)
