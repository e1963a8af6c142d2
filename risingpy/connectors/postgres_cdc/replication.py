"""A connection that receives a slot's stream, in libpq's COPY BOTH."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import pq

from risingpy.connectors.postgres_cdc.options import PostgresCdcOptions
from risingpy.connectors.postgres_cdc.upstream_connection import Connection, connected
from risingpy.errors import SourceUnavailable
from risingpy.sockets import is_readable
from risingpy.sql_quoting import double_quoted, quoted_text

STATUS_SECONDS = 10.0  # PostgreSQL ends a connection that says nothing for a minute
RELEASE_SECONDS = 5.0
_IN_USE = b"55006"
_EPOCH = 946684800  # 2000-01-01 in seconds since 1970, from which PostgreSQL counts microseconds


def lsn_of(text: str) -> int:
    """The number that PostgreSQL writes as 16/B374D848."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def shown_lsn(lsn: int) -> str:
    """PostgreSQL's text of a position."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


class ReplicationStream:
    """The messages of a slot from a position on. For one thread."""

    def __init__(self, connection: Connection, options: PostgresCdcOptions, start: int) -> None:
        """Raises SourceUnavailable if the slot is in use, or gone."""
        self._pg = connection.pgconn
        publications = quoted_text(double_quoted(options.publication))
        command = (
            f"START_REPLICATION SLOT {double_quoted(options.slot)} LOGICAL {shown_lsn(start)}"
            f" (proto_version '1', publication_names {publications})"
        )
        deadline = time.monotonic() + RELEASE_SECONDS
        result = self._pg.exec_(command.encode())
        while result.error_field(pq.DiagnosticField.SQLSTATE) == _IN_USE and time.monotonic() < deadline:
            time.sleep(0.05)  # PostgreSQL may not have noticed yet that the stream before has ended
            result = self._pg.exec_(command.encode())
        if result.status != pq.ExecStatus.COPY_BOTH:
            raise SourceUnavailable(_message(result.error_message or self._pg.error_message))
        self._status_due = time.monotonic() + STATUS_SECONDS

    def next(self) -> bytes | None:
        """The next message with what encloses it; None if none has come yet. Raises SourceUnavailable at the end."""
        size, data = self._pg.get_copy_data(1)
        if size > 0:
            return bytes(data)
        if size == 0:
            self._pg.consume_input()
            size, data = self._pg.get_copy_data(1)
            if size > 0:
                return bytes(data)
            if size == 0:
                return None
        result = self._pg.get_result()
        said = result.error_message if result is not None else self._pg.error_message
        raise SourceUnavailable(_message(said) or "PostgreSQL has ended the stream")

    def wait(self, seconds: float) -> None:
        """Until something comes, or so long."""
        is_readable(self._pg.socket, seconds)

    @property
    def status_is_due(self) -> bool:
        """Whether PostgreSQL has heard nothing for so long that it should."""
        return time.monotonic() >= self._status_due

    def confirm(self, lsn: int, *, wants_answer: bool = False) -> None:
        """Everything before `lsn` is durable here: PostgreSQL need not keep it. It may answer with a keepalive."""
        now = int((time.time() - _EPOCH) * 1e6)
        self._pg.put_copy_data(struct.pack(">cQQQqB", b"r", lsn, lsn, lsn, now, wants_answer))
        self._pg.flush()
        self._status_due = time.monotonic() + STATUS_SECONDS


@contextmanager
def replicating(options: PostgresCdcOptions) -> Iterator[Connection]:
    """A connection that takes replication commands. Raises SourceUnavailable."""
    with connected(options, replication="database") as connection:
        yield connection


def _message(said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return text.strip().removeprefix("ERROR:").strip()
