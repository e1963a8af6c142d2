"""What two servers answer to the same statements, and how their answers differ."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from tests.postgres_regress.scripts import Sent

_SETTINGS = ("SET statement_timeout = '60s'", "SET timezone = 'PST8PDT'")
# Settings with one value here, which change how every later value is shown.
_OF_OUTPUT = re.compile(
    r"(set|reset)\s+(local\s+|session\s+)?(datestyle|intervalstyle|bytea_output|extra_float_digits|standard_conforming)",
    re.IGNORECASE,
)
# An internal error, a lost connection, or no end: never an answer, whatever PostgreSQL says.
NO_ANSWERS = ("XX000", "connection", "57014")


@dataclass(frozen=True, slots=True)
class Answer:
    """An error by its SQLSTATE, or rows as text, or the tag of a command."""

    sqlstate: str = ""
    message: str = ""
    rows: tuple[tuple[str | None, ...], ...] | None = None
    tag: str = ""


@dataclass(slots=True)
class Comparison:
    """How often answers were of each kind, and what was no answer.

    `order`: the same rows in another order. `refused`, `accepted`: only here, only there. `state`: another SQLSTATE.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, sent: Sent, theirs: Answer, ours: Answer) -> None:
        """Counts one statement."""
        self.kinds[_kind(theirs, ours)] += 1
        if ours.sqlstate in NO_ANSWERS and theirs.sqlstate != ours.sqlstate:
            self.failures.append(f"{ours.sqlstate} {ours.message[:120]}: {sent.text[:200]}")


class Server:
    """A connection that is made anew where it was lost."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self.connect()

    def connect(self) -> None:
        """Begins a session."""
        self._connection = psycopg.connect(self._conninfo, autocommit=True)
        for statement in _SETTINGS:
            self.answer(Sent(statement))

    def close(self) -> None:
        """Ends the session."""
        self._connection.close()

    def answer(self, sent: Sent) -> Answer:
        """What the server says to one statement, by the simple protocol."""
        try:
            return self._answer(self._connection.pgconn, sent)
        except psycopg.Error as error:
            self.connect()
            return Answer(sqlstate="connection", message=str(error))

    def _answer(self, connection: PGconn, sent: Sent) -> Answer:
        result = connection.exec_(sent.text.encode())
        if result.status == ExecStatus.COPY_IN:
            if sent.data is None:
                connection.put_copy_end(b"no data")
            else:
                connection.put_copy_data(sent.data.encode())
                connection.put_copy_end()
            result = _last_result(connection)
        elif result.status == ExecStatus.COPY_OUT:
            lines = []
            while (taken := connection.get_copy_data(0))[0] > 0:
                lines.append((bytes(taken[1]).decode(errors="replace"),))
            result = _last_result(connection)
            if result.status == ExecStatus.COMMAND_OK:
                return Answer(rows=tuple(lines))
        if result.status == ExecStatus.TUPLES_OK:
            return Answer(rows=tuple(_row(result, number) for number in range(result.ntuples)))
        if result.status in (ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY):
            return Answer(tag=(result.command_status or b"").decode())
        sqlstate = result.error_field(DiagnosticField.SQLSTATE)
        if sqlstate is None:
            raise psycopg.OperationalError(result.error_message.decode(errors="replace"))
        message = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b""
        return Answer(sqlstate=sqlstate.decode(), message=message.decode(errors="replace"))


def is_of_output(sent: Sent) -> bool:
    """Whether the statement sets how values are shown."""
    return _OF_OUTPUT.match(sent.text) is not None


def _last_result(connection: PGconn) -> PGresult:
    last = connection.get_result()
    assert last is not None
    while (result := connection.get_result()) is not None:
        last = result
    return last


def _row(result: PGresult, number: int) -> tuple[str | None, ...]:
    values = (result.get_value(number, column) for column in range(result.nfields))
    return tuple(None if value is None else value.decode(errors="replace") for value in values)


def _kind(theirs: Answer, ours: Answer) -> str:
    if theirs.sqlstate and ours.sqlstate:
        return "same" if theirs.sqlstate == ours.sqlstate else "state"
    if ours.sqlstate:
        return "refused"
    if theirs.sqlstate:
        return "accepted"
    if theirs.rows is None or ours.rows is None:
        return "same" if theirs == ours else "shape"
    if theirs.rows == ours.rows:
        return "same"
    return "order" if Counter(theirs.rows) == Counter(ours.rows) else "rows"
