"""Statements as clients sent them, and what a server answers: names, types and texts of columns, or an error.

Each file of `statements/` has one client's messages in the order in which they were captured. `--@ simple` before a
message says that it was a Query, `--@ extended [parameters]` that it was bound; `{oid:kv}` stands for the oid of a
relation of `SCHEMA`, `{oid:f1()}` for that of a function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import pq

from risingpy.sockets import is_readable

STATEMENTS = Path(__file__).with_name("statements")
SCHEMA = (
    "CREATE TABLE kv (k int PRIMARY KEY, v text, n numeric(10,2) DEFAULT 0)",
    "CREATE INDEX kvi ON kv (v)",
    "CREATE TABLE fk (id int PRIMARY KEY, b int REFERENCES kv (k))",
    "CREATE MATERIALIZED VIEW mv AS SELECT v, count(*) AS c FROM kv GROUP BY v",
    "CREATE VIEW vw AS SELECT k, v FROM kv WHERE k > 1",
    "CREATE TABLE pdt (a int, d date NOT NULL)",
    "CREATE FUNCTION f1(a int) RETURNS int LANGUAGE sql AS 'select a + 1'",
    "COMMENT ON TABLE kv IS 'keys and values'",
    "COMMENT ON COLUMN kv.v IS 'a value'",
    "INSERT INTO kv SELECT x, 'v' || x, x FROM generate_series(1, 5) AS x",
    "INSERT INTO fk VALUES (1, 2)",
)
_MARK = re.compile(r"^--@ (simple|extended)(?: (\[.*\]))? \|.*\n", re.MULTILINE)
_PLACE = re.compile(r"\{oid:(\w+)(\(\))?\}")
_USERS_FIRST = 16384  # oids from here on are of what users make
_LOOKS_EVERY_SECONDS = 1.0
_OID_TYPES = frozenset({20, 23, 26, 30, 1028, 1016})  # of columns that may have them
_OID = re.compile(r"\d{5,}")
_OID_IN_NAME = re.compile(r"(?<=\w_)\d{5,}$")  # specific_name of information_schema: f_16402
_NAMES_OF_OIDS = (
    "SELECT oid::bigint, 'class ' || relname FROM pg_class",
    "SELECT oid::bigint, 'type ' || typname FROM pg_type",
    "SELECT oid::bigint, 'schema ' || nspname FROM pg_namespace",
    "SELECT oid::bigint, 'constraint ' || conname FROM pg_constraint",
    "SELECT oid::bigint, 'function ' || proname FROM pg_proc",
    "SELECT oid::bigint, 'database ' || datname FROM pg_database",
    "SELECT oid::bigint, 'role ' || rolname FROM pg_roles",
    "SELECT oid::bigint, 'default ' || adrelid::regclass::text || adnum FROM pg_attrdef",
    "SELECT oid::bigint, 'rule ' || ev_class::regclass::text FROM pg_rewrite",
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a client; `key` is its file's name and its number there."""

    key: str
    text: str
    is_extended: bool
    parameters: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement's result. Values are texts; oids of what users made are called by name."""

    names: tuple[str, ...] = ()
    types: tuple[int, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    tag: str = ""


@dataclass(slots=True)
class Answer:
    """What a message led to: the results of its statements, and the SQLSTATE and text of the error that ended them."""

    results: list[Rows] = field(default_factory=list)
    sqlstate: str | None = None
    error: str = ""


def messages() -> Iterator[Message]:
    """All of them, a client after the other."""
    for path in sorted(STATEMENTS.glob("*.sql")):
        parts = _MARK.split(path.read_text())[1:]
        for number, (kind, parameters, text) in enumerate(zip(parts[::3], parts[1::3], parts[2::3], strict=True), 1):
            given = tuple(json.loads(parameters)) if parameters else ()
            yield Message(f"{path.stem}/{number:03}", text.strip(), kind == "extended", given)


class Server:
    """A connection to a server that has `SCHEMA`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._names: dict[int, str] = {}
        self._sources = list(_NAMES_OF_OIDS)

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def answer(self, message: Message) -> Answer:
        """Sends a message. A transaction that has failed is rolled back."""
        text = _PLACE.sub(lambda found: str(self._oid(found[1], found[2] is not None)), message.text)
        raw = self._connection.pgconn
        if message.is_extended:
            given: Sequence[bytes | None] = [None if p is None else p.encode() for p in message.parameters]
            raw.send_query_params(text.encode(), given)
        else:
            raw.send_query(text.encode())
        _flush(raw)
        answer = self._received(raw)
        if raw.transaction_status == pq.TransactionStatus.INERROR:
            raw.exec_(b"ROLLBACK")
        return answer

    def _received(self, raw: pq.abc.PGconn) -> Answer:
        answer = Answer()
        while (result := _next_result(raw)) is not None:
            match result.status:
                case pq.ExecStatus.FATAL_ERROR:
                    state = result.error_field(pq.DiagnosticField.SQLSTATE)
                    message = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
                    answer.sqlstate, answer.error = None if state is None else state.decode(), message.decode()
                case pq.ExecStatus.COPY_IN:
                    raw.put_copy_end()
                    _flush(raw)
                case pq.ExecStatus.COPY_OUT:
                    answer.results.append(Rows(rows=tuple((line,) for line in _copied(raw))))
                case _:
                    answer.results.append(self._rows(result))
        for place, each in enumerate(answer.results):
            answer.results[place] = self._named(each)
        return answer

    @staticmethod
    def _rows(result: pq.abc.PGresult) -> Rows:
        width = result.nfields
        names = tuple((result.fname(i) or b"").decode() for i in range(width))
        types = tuple(result.ftype(i) for i in range(width))
        values = ([result.get_value(row, i) for i in range(width)] for row in range(result.ntuples))
        rows = tuple(tuple(None if v is None else v.decode() for v in row) for row in values)
        return Rows(names, types, rows, (result.command_status or b"").decode())

    def _named(self, result: Rows) -> Rows:
        if not result.types:  # the lines of COPY
            return result
        patterns = [_OID if type_ in _OID_TYPES else _OID_IN_NAME for type_ in result.types]
        rows = [
            [None if v is None else p.sub(self._name, v) for p, v in zip(patterns, row, strict=True)]
            for row in result.rows
        ]
        return Rows(result.names, result.types, tuple(map(tuple, rows)), result.tag)

    def _name(self, number: re.Match[str]) -> str:
        value = int(number[0])
        if value < _USERS_FIRST:
            return number[0]
        if value not in self._names and self._connection.pgconn.transaction_status != pq.TransactionStatus.INERROR:
            for source in self._sources:
                result = self._connection.pgconn.exec_(source.encode())
                for row in self._rows(result).rows:
                    self._names[int(str(row[0]))] = f"<{row[1]}>"
        return self._names.get(value, "<unknown>")

    def _oid(self, name: str, is_function: bool) -> int:
        kind = "regproc" if is_function else "regclass"
        result = self._connection.pgconn.exec_(f"SELECT '{name}'::{kind}::oid::bigint".encode())
        value = result.get_value(0, 0)
        assert value is not None, f"{name}: {result.error_message!r}"
        return int(value)


# libpq may wait with the interpreter's lock held, and our server may run in this very process: Python waits instead.


def _flush(raw: pq.abc.PGconn) -> None:
    while raw.flush():
        is_readable(raw.socket, 0.01)
        raw.consume_input()


def _next_result(raw: pq.abc.PGconn) -> pq.abc.PGresult | None:
    while raw.is_busy():
        is_readable(raw.socket, _LOOKS_EVERY_SECONDS)
        raw.consume_input()
    return raw.get_result()


def _copied(raw: pq.abc.PGconn) -> Iterator[str]:
    """The lines of COPY TO STDOUT."""
    while (got := raw.get_copy_data(1))[0] >= 0:
        if got[0] == 0:
            is_readable(raw.socket, _LOOKS_EVERY_SECONDS)
            raw.consume_input()
        else:
            yield bytes(got[1]).decode()
