"""A connection to the database under test, with results as the text that the server sent."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import psycopg
from psycopg import pq

_NUMERIC = 1700  # pg_type.oid
DEFAULT_STATEMENT_TIMEOUT = 120.0  # seconds; a server that hangs must not block a run


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement's answer: its rows' texts (none for a command), and the number of affected rows if the tag has it.

    `exact` are the columns of type numeric, whose texts must be equal to the last zero.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    count: int | None
    exact: frozenset[int] = frozenset()


class StatementRefused(Exception):
    """The server refused a statement. `fatal`: the connection has ended, too."""

    def __init__(
        self, message: str, sqlstate: str | None, detail: str | None = None, hint: str | None = None, *, fatal: bool
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint
        self.fatal = fatal

    @property
    def text(self) -> str:
        """The message with its detail and hint, a line each, as psql shows them."""
        parts = [self.message]
        parts += [f"DETAIL:  {self.detail}"] if self.detail else []
        parts += [f"HINT:  {self.hint}"] if self.hint else []
        return "\n".join(parts)


class Client(Protocol):
    """What the runner needs of a connection."""

    def run(self, sql: str) -> Answer:
        """Runs one statement. Raises StatementFailed."""
        ...

    def close(self) -> None: ...


Connect = Callable[[], Client]


class PsycopgClient:
    """A client over psycopg 3, in the simple protocol, autocommitting."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]], timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout

    def run(self, sql: str) -> Answer:
        watch = _Watch(self._connection, self._timeout)
        try:
            with watch, self._connection.cursor() as cursor:
                cursor.execute(sql.encode())
                result = cursor.pgresult
                return _answer(result) if result is not None else Answer((), (), None)
        except psycopg.Error as error:
            raise _failure(error, self._connection.closed, watch) from error

    def close(self) -> None:
        self._connection.close()


def connect_with_psycopg(conninfo: str, *, timeout: float = DEFAULT_STATEMENT_TIMEOUT) -> Connect:
    """How to open clients to the server that a libpq connection string names."""

    def connect() -> Client:
        try:
            connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, connect_timeout=30)
        except psycopg.Error as error:
            raise StatementRefused(str(error).strip(), error.sqlstate, fatal=True) from error
        return PsycopgClient(connection, timeout)

    return connect


class _Watch:
    """Cancels a statement that takes too long; if that does not end it, cuts the connection."""

    GRACE_SECONDS = 10.0  # for the server to answer a cancel

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]], timeout: float) -> None:
        self.expired = False
        self.timeout = timeout
        self._connection = connection
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()

    def _wait(self) -> None:
        if self._ended.wait(self.timeout):
            return
        self.expired = True
        # A server that hangs may not answer a cancel either; then the socket is cut.
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=self.GRACE_SECONDS)
        if not self._ended.wait(self.GRACE_SECONDS):
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as copy:
                copy.shutdown(socket.SHUT_RDWR)


def _answer(result: pq.abc.PGresult) -> Answer:
    columns = tuple((result.fname(i) or b"").decode() for i in range(result.nfields))
    rows = tuple(
        tuple(_text(result.get_value(row, column)) for column in range(result.nfields)) for row in range(result.ntuples)
    )
    exact = frozenset(i for i in range(result.nfields) if result.ftype(i) == _NUMERIC)
    return Answer(columns, rows, result.command_tuples, exact)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _failure(error: psycopg.Error, closed: bool, watch: _Watch) -> StatementRefused:
    message = error.diag.message_primary or str(error).strip()
    if watch.expired:
        message = f"no answer within {watch.timeout:g} s: {message}"
    return StatementRefused(
        message, error.sqlstate, error.diag.message_detail, error.diag.message_hint, fatal=closed or watch.expired
    )
