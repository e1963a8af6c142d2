"""A connection to the other database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from risingpy.connectors.postgres_cdc.options import PostgresCdcOptions
from risingpy.errors import SourceUnavailable

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def connected(options: PostgresCdcOptions, **more: Any) -> Iterator[Connection]:
    """A connection in autocommit. What goes wrong on it becomes SourceUnavailable, with the other side's words."""
    try:
        connection = psycopg.connect(**{**options.connection(), **more}, autocommit=True)
        try:
            yield connection
        finally:
            connection.close()  # and nothing else: a stream takes no ROLLBACK
    except (psycopg.Error, OSError) as error:
        where = f"PostgreSQL at {options.host}:{options.port}"
        raise SourceUnavailable(f"{where}: {str(error).strip()}") from error
