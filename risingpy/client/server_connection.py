"""A connection to a server, for a session or a stream of changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.types.none import NoneDumper
from psycopg.types.string import StrDumperUnknown, TextLoader

from risingpy.client.libpq_errors import sql_error, unreachable
from risingpy.errors import SqlError

Connection = psycopg.Connection[tuple[str | None, ...]]
_CONNECT_SECONDS = 30
_UNNAMED = b""


def open_connection(url: str) -> Connection:
    """A connection in autocommit, which takes and gives values as texts. Raises SqlError."""
    texts = AdaptersMap(types=psycopg.adapters.types)
    texts.register_dumper(str, StrDumperUnknown)
    texts.register_dumper(type(None), NoneDumper)
    texts.register_loader(psycopg.adapters.types["text"].oid, TextLoader)
    texts.register_loader(0, TextLoader)  # psycopg takes the loader of OID 0 for every type that has none
    try:
        return psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
            context=texts,
            connect_timeout=_CONNECT_SECONDS,
            fallback_application_name="risingpy",
            client_encoding="UTF8",
        )
    except psycopg.Error as error:
        raise unreachable(error) from None


@contextmanager
def translated() -> Iterator[None]:
    """Raises SqlError in the place of psycopg's errors."""
    try:
        yield
    except psycopg.Error as error:
        raise sql_error(error) from None


def encoded(text: str) -> bytes:
    """A statement as it is sent. Raises SqlError for one with a character 0, at which libpq would end it."""
    if "\0" in text:
        raise SqlError('invalid byte sequence for encoding "UTF8": 0x00', sqlstate="22021")
    return text.encode()


def description(connection: Connection, text: str) -> PGresult:
    """What the server says of one statement before it runs: its parameters' types and its fields. Raises SqlError."""
    checked(connection.pgconn.prepare(_UNNAMED, encoded(text)))
    return checked(connection.pgconn.describe_prepared(_UNNAMED))


def checked(result: PGresult) -> PGresult:
    """The result, unless it is an error, which is raised as SqlError."""
    if result.status is ExecStatus.FATAL_ERROR or result.status == ExecStatus.FATAL_ERROR:
        raise sql_error(error_from_result(result, "utf-8"))
    return result
